"""Deletes rows that are older than their retention."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from jobrunner import failpoints
from jobrunner.lifecycle import Status
from jobrunner.store import tallies
from jobrunner.store.connection import Connection, DriverError
from jobrunner.store.statement import Prepared

_BATCH = 500
"""How many rows of each kind one ``prune`` deletes at most."""


class Pruned(NamedTuple):
    """The number of deleted rows, the old runs that could not be deleted, and the reason for one of them."""

    deleted: int
    kept: Collection[int] = ()
    reason: str | None = None


def prune(
    connection: Connection, keep: Mapping[str, timedelta], limit: int = _BATCH, besides: Collection[int] = ()
) -> Pruned:
    """Delete one batch of old rows: at most ``limit`` of each kind.

    ``keep`` maps the statuses succeeded, cancelled and dead, and ``ticks`` and ``events``, to how long they are kept.
    Unfinished runs and idempotency keys are never deleted. The database may refuse to delete a run, because a row of
    the application refers to it: give such runs as ``besides`` in the next call.
    """
    deleted, kept, reason = 0, list[int](), None
    for status in (Status.SUCCEEDED, Status.CANCELLED, Status.DEAD):
        ids = _old_runs(connection, status, keep[status], limit, besides)
        stayed, why = _delete_runs(connection, ids)
        deleted += len(ids) - len(stayed)
        kept += stayed
        reason = reason or why
    for name, like in (("ticks", "ticks"), ("events", "events"), ("notices", "events")):
        values = {"before": -keep[like].total_seconds(), "limit": limit}
        ids = connection.execute(Prepared("retention.old", (name,)), values).scalars()
        if ids:
            deleted += connection.execute(Prepared("retention.delete", (name,)), _given(ids)).rowcount
    old = connection.execute(Prepared("limits.old_gates"), {"limit": limit}).mappings()
    if old:
        # The number of deleted rows is how many runs and the like are gone; a gate is none of these.
        connection.execute(Prepared("limits.delete_gates"), {"given": old})
    failpoints.hit("prune.before_commit", cut=connection.sever)
    return Pruned(deleted, kept, reason)


def _old_runs(
    connection: Connection, status: Status, keep: timedelta, limit: int, besides: Collection[int]
) -> list[int]:
    values = {"its_status": status.value, "before": -keep.total_seconds(), "limit": limit, **_given(besides)}
    return connection.execute(Prepared("retention.old_runs"), values).scalars()


def _delete_runs(connection: Connection, ids: list[int]) -> tuple[list[int], str | None]:
    """Delete these runs. Returns those that could not be deleted, and why. After a failure each half is tried alone."""
    if not ids:
        return [], None
    try:
        with connection.savepoint():
            tallies.count_attempts_of(connection, ids)
            connection.execute(Prepared("retention.delete_attempts"), _given(ids))
            connection.execute(Prepared("retention.delete", ("runs",)), _given(ids))
    except DriverError as error:
        if not error.is_a("IntegrityError", "InternalError"):
            raise
        # A foreign key or a trigger of the application refuses it.
        if len(ids) == 1:
            return ids, str(error.orig).splitlines()[0]
        half = len(ids) // 2
        first, why = _delete_runs(connection, ids[:half])
        second, why_too = _delete_runs(connection, ids[half:])
        return first + second, why or why_too
    return [], None


def _given(ids: Collection[int]) -> dict[str, Any]:
    return {"given": [{"id": each} for each in ids]}
