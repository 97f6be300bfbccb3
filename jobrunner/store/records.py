"""Rows that leave the store, as records with the names and the types of their columns.

No tick needs them, so their import costs it no time. ``vars`` makes the dictionary of a record, in the order of its
fields; a JSON output has this order.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from jobrunner.store.connection import Connection
from jobrunner.store.statement import Statement

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


@dataclass(frozen=True)
class DefinitionRow:
    """A row of ``job_definitions``. A person may have written it by hand, so it need not be a valid definition."""

    id: int
    name: str
    job_type: str
    payload: Any
    schedule: str | None
    timezone: str
    source: str
    application: str
    description: str | None
    misfire: str
    misfire_window: float | None
    misfire_most: int
    overlap: str
    start_deadline: float | None
    jitter: float | None
    ends_at: datetime | None
    max_runs: int | None
    runs_made: int
    last_slot_at: datetime
    next_run_at: datetime | None
    paused_at: datetime | None
    removed_at: datetime | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class ReadDefinition(DefinitionRow):
    """The same with the database's ``now`` at the start of the statement, so before a wait for the lock of the row."""

    now: datetime
