"""Rows of a statement as records, with the names and the types of their columns.

No tick needs them, so their import costs it no time. ``vars`` makes the dictionary of a record, in the order of its
fields; a JSON output has this order.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Statement

if TYPE_CHECKING:
    from sqlalchemy import Column, Table

T = TypeVar("T")


def columns_of(kind: type[Any], table: Table) -> list[Column[Any]]:
    """The columns of a table that this kind of record has."""
    return [table.c[each.name] for each in fields(kind) if each.name in table.c]


def read(
    connection: Connection, kind: type[T], statement: Statement, parameters: dict[str, Any] | None = None
) -> list[T]:
    """The rows of a statement whose columns are the fields of this kind of record."""
    return [kind(**row._asdict()) for row in connection.execute(statement, parameters or {})]
