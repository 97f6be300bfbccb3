"""What people do to one run: cancel, retry, discard.

Every function expects to be the body of one write transaction (``Database.write``), one for each run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, null, select, update

from jobrunner.lifecycle import Event, Status, allowed, target
from jobrunner.store import audit, tallies
from jobrunner.store.connection import Connection
from jobrunner.store.dialect.values import now
from jobrunner.store.schema import job_runs
from jobrunner.store.statement import Row
from jobrunner.store.statements.holding import NO_LOCK
from jobrunner.text import one_line


@dataclass(frozen=True, slots=True)
class Answer:
    """The status in which the run was found, or None for no such run, and whether it was changed.

    ``requested``: the run is running, and its cancellation was requested.
    """

    run_id: int
    status: Status | None
    applied: bool
    requested: bool = False


def cancel(connection: Connection, run_id: int, actor: str) -> Answer:
    """Cancel a waiting run, or request the cancellation of a running one from its owner."""
    row = _lock(connection, run_id)
    if row is None or not allowed(Event.CANCEL, row.status):
        return _refused(run_id, row)
    if row.status == Status.RUNNING:
        if row.cancel_requested_at is None:
            # Its owner changes the status when the attempt ends.
            _change(connection, row, Event.CANCEL, actor, {"cancel_requested_at": row.now})
        return Answer(run_id, Status.RUNNING, applied=True, requested=True)
    changes = {
        "status": target(Event.CANCEL, row.status).value,
        "finished_at": row.now,
        "cancel_requested_at": row.now,
    }
    _change(connection, row, Event.CANCEL, actor, changes)
    tallies.add_ends(connection, [(row.job_type, changes["status"])])
    return Answer(run_id, row.status, applied=True)


def retry(connection: Connection, run_id: int, actor: str, *, force: bool = False) -> Answer:
    """Queue a run again, due now, with at least one more attempt. A succeeded run needs ``force``."""
    row = _lock(connection, run_id)
    event = Event.FORCE_RETRY if row is not None and row.status == Status.SUCCEEDED else Event.RETRY
    if row is None or not allowed(event, row.status) or (event is Event.FORCE_RETRY and not force):
        return _refused(run_id, row)
    max_attempts = None if row.max_attempts is None else max(row.max_attempts, row.attempts + 1)
    changes = {
        "status": target(event, row.status).value,
        "run_at": row.now,
        # A person wants the run now, even after its deadline.
        "start_deadline_at": null(),
        "finished_at": null(),
        "cancel_requested_at": null(),
        "releases": 0,
        "incompatible_at": null(),
        "max_attempts": max_attempts,
        **NO_LOCK,
    }
    _change(connection, row, event, actor, changes)
    return Answer(run_id, row.status, applied=True)


def discard(connection: Connection, run_id: int, actor: str, reason: str) -> Answer:
    """End a waiting or cancelled run as dead. The audit trail keeps who did it and why."""
    row = _lock(connection, run_id)
    if row is None or not allowed(Event.DISCARD, row.status):
        return _refused(run_id, row)
    reason = one_line(reason)
    changes = {
        "status": target(Event.DISCARD, row.status).value,
        "finished_at": row.now,
        "error_type": "discarded",
        "last_error": reason,
    }
    _change(connection, row, Event.DISCARD, actor, changes, detail={"reason": reason})
    tallies.add_ends(connection, [(row.job_type, changes["status"])])
    return Answer(run_id, row.status, applied=True)


_READ = ("id", "job_type", "status", "attempts", "max_attempts", "cancel_requested_at")


def _lock(connection: Connection, run_id: int) -> Row | None:
    columns = job_runs.c
    statement: Select[Any] = (
        select(*(columns[name] for name in _READ), now().label("now"))
        .where(columns.id == run_id)
        .with_for_update(key_share=True)
    )
    return connection.execute(statement).one_or_none()


def _refused(run_id: int, row: Row | None) -> Answer:
    return Answer(run_id, None if row is None else Status(row.status), applied=False)


def _change(
    connection: Connection,
    row: Row,
    event: Event,
    actor: str,
    columns: dict[str, Any],
    *,
    detail: dict[str, Any] | None = None,
) -> None:
    connection.execute(update(job_runs).where(job_runs.c.id == row.id).values(**columns, updated_at=row.now))
    detail = {"from": row.status, **(detail or {})}
    audit.write(connection, [audit.event(actor, event.value, None, detail, row.now, row.id)])
