"""The values of runs that a list does not show, such as their payloads. Expects a read transaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import Text, cast, func, literal, select

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.schema import job_runs

_MOST_CHARACTERS = 20_000
"""Of the values of one run. A list of 100 runs reads at most two megabytes of them."""


class Values(NamedTuple):
    """What a run was given, and what its code said."""

    payload: Any
    result: Any
    progress: Any
    checkpoint: Any


def of_runs(connection: Connection, ids: Collection[int]) -> dict[int, Values]:
    """The values of these runs by id, without those of runs whose values are long. Sends one statement, or none."""
    if not ids:
        return {}
    columns = [job_runs.c[name] for name in Values._fields]
    size = sum((func.coalesce(func.length(cast(each, Text)), 0) for each in columns), literal(0))
    statement = select(job_runs.c.id, *columns).where(job_runs.c.id.in_(ids), size <= _MOST_CHARACTERS)
    return {row.id: Values(*(getattr(row, name) for name in Values._fields)) for row in connection.execute(statement)}
