"""What all tables have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    ColumnElement,
    Index,
    MetaData,
    Table,
    Text,
    TextClause,
    literal_column,
    text,
)

from jobrunner.lifecycle import Status
from jobrunner.store.sql.dialect.ddl import readable
from jobrunner.store.sql.dialect.values import UtcTime
from jobrunner.store.sql.traits import TRAITS

metadata = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)


def written(value: str) -> ColumnElement[str]:
    """A text that stands in the statement itself, where the planner must know that it can use a partial index."""
    return literal_column(f"'{value}'", Text())


def is_one_of(statuses: tuple[Status, ...]) -> TextClause:
    """The condition that a run has one of these statuses."""
    # Literals, as in ``written``.
    listed = ", ".join(f"'{status}'" for status in statuses)
    return text(f"status IN ({listed})")


def partial(name: str, *columns: ColumnElement[Any], where: TextClause, unique: bool = False) -> None:
    """An index over the rows for which a condition holds."""
    Index(name, *columns, unique=unique, postgresql_where=where, sqlite_where=where)


def add_checks(table: Table) -> None:
    """Add what each table has: its rows can be read, and on SQLite their types are checked.

    A column that a later migration has added has a check of its own, because SQLite cannot change the one of the table.
    """
    added = [column for column in table.columns if column.info.get("is_added")]
    _add_check(table, "readable", [column for column in table.columns if column not in added])
    for column in added:
        _add_check(table, f"{column.name}_readable", [column])
    table.kwargs["sqlite_strict"] = True


def _add_check(table: Table, name: str, columns: Sequence[Column[Any]]) -> None:
    # Not a turn, which may lie before all other instants. Python does not read it.
    instants = [each.name for each in columns if isinstance(each.type, UtcTime) and each.name != "turn_at"]
    json_columns = [each.name for each in columns if isinstance(each.type, JSON)]
    for database in TRAITS:
        condition = readable(database, instants, json_columns)
        if condition:
            check = CheckConstraint(condition, name=name)
            table.append_constraint(check.ddl_if(dialect=database))
