"""What all tables have."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
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
    """Add what each table has: its rows can be read, and on SQLite their types are checked."""
    instants = [
        # Not a turn, which may lie before all other instants. Python does not read it.
        column.name
        for column in table.columns
        if isinstance(column.type, UtcTime) and column.name != "turn_at"
    ]
    json_columns = [column.name for column in table.columns if isinstance(column.type, JSON)]
    table.kwargs["sqlite_strict"] = True
    if not instants:
        return
    for name in TRAITS:
        check = CheckConstraint(readable(name, instants, json_columns), name="readable")
        table.append_constraint(check.ddl_if(dialect=name))
