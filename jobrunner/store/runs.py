"""What people and applications do to runs: enqueue, cancel, retry, discard.

``enqueue`` writes in the caller's own transaction. The others expect to be the body of one write
transaction (``Database.write``) each, so that one refused id leaves the others done.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Float, RowMapping, insert, literal, null, select, update
from sqlalchemy.sql.dml import ReturningInsert

from jobrunner.errors import JobrunnerError
from jobrunner.lifecycle import Event, Status, allowed, target
from jobrunner.model import Policy
from jobrunner.store import limits
from jobrunner.store.claims import NO_LOCK
from jobrunner.store.dialect import insert_or_skip, later, now, row_unless
from jobrunner.store.limits import Full
from jobrunner.store.schema import job_events, job_keys, job_runs
from jobrunner.text import one_line


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be. ``run_at`` None: now; a timedelta: that long after now, by the database's clock.

    ``max_attempts`` and ``timeout`` None: the policy of the type when it is claimed; a timeout of zero: none.
    """

    job_type: str
    payload: dict[str, Any]
    run_at: datetime | timedelta | None = None
    priority: int = 0
    idempotency_key: str | None = None
    max_attempts: int | None = None
    timeout: timedelta | None = None
    definition_id: int | None = None
    scheduled_for: datetime | None = None


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The run's id. ``created`` False: the key was taken, and this is the id it was taken for.

    ``id`` None: the type was full and its ``when_full`` is "drop"; nothing was inserted.
    """

    id: int | None
    created: bool

    @property
    def dropped(self) -> bool:
        """Whether nothing was inserted because the type was full."""
        return self.id is None


def enqueue(connection: Connection, new: NewRun, policy: Policy | None = None) -> Enqueued:
    """Insert a run in the caller's transaction, or find the one that its idempotency key stands for.

    ``policy`` is what the caller's own code says of the type; None: what the database knows of it counts. Raises
    QueueFull, with nothing written, where the type is full and is to refuse.
    """
    answer = insert_if_room(connection, new, policy)
    if isinstance(answer, Enqueued):
        return answer
    if answer.when_full == "refuse":
        raise answer.refusal()
    limits.note_dropped(connection, new.job_type)
    return Enqueued(None, created=False)


def insert_if_room(connection: Connection, new: NewRun, policy: Policy | None = None) -> Enqueued | Full:
    """As ``enqueue``, but a full type is an answer.

    A type without a limit costs nothing more than a condition in the first statement. Enqueues of one with a limit wait
    for each other until the transaction of each ends.
    """
    if policy is None or policy.max_waiting is None:
        limited = limits.is_limited(new.job_type)
        if new.idempotency_key is None:
            run_id = connection.execute(_insertion(new, unless=limited)).scalar_one_or_none()
            if run_id is not None:
                return Enqueued(run_id, created=True)
        elif _take_key(connection, new, unless=limited):
            return _insert_under_key(connection, new)
    existing = _holder_of_key(connection, new)
    if existing is not None:
        return Enqueued(existing, created=False)
    return _insert_in_turn(connection, new, policy)


def _insert_in_turn(connection: Connection, new: NewRun, policy: Policy | None) -> Enqueued | Full:
    # The limit before the key, and by all in this order: two callers with a key each would wait for each other.
    full = limits.find_full(connection, new.job_type, policy)
    if new.idempotency_key is None:
        return full or Enqueued(_insert(connection, new), created=True)
    if full is None and _take_key(connection, new):
        return _insert_under_key(connection, new)
    # Whoever took the key while this one waited for the limit has committed by now.
    existing = _holder_of_key(connection, new)
    if existing is not None:
        return Enqueued(existing, created=False)
    if full is None:
        raise JobrunnerError(
            "another transaction took this idempotency key after yours began; enqueue again in a new one"
        )
    return full


def _key(new: NewRun) -> dict[str, Any]:
    return {"job_type": new.job_type, "idempotency_key": new.idempotency_key}


def _take_key(connection: Connection, new: NewRun, unless: ColumnElement[bool] | None = None) -> bool:
    # The key before the run: two callers at once meet at its row, and the second waits for the first one's outcome.
    return insert_or_skip(connection, job_keys, {**_key(new), "created_at": now()}, unless=unless)


def _holder_of_key(connection: Connection, new: NewRun) -> int | None:
    if new.idempotency_key is None:
        return None
    row = [job_keys.c[name] == value for name, value in _key(new).items()]
    return connection.execute(select(job_keys.c.run_id).where(*row)).scalar_one_or_none()


def _insert_under_key(connection: Connection, new: NewRun) -> Enqueued:
    run_id = _insert(connection, new)
    row = [job_keys.c[name] == value for name, value in _key(new).items()]
    connection.execute(update(job_keys).where(*row).values(run_id=run_id))
    return Enqueued(run_id, created=True)


def _insert(connection: Connection, new: NewRun) -> int:
    return int(connection.execute(_insertion(new)).scalar_one())


def _insertion(new: NewRun, unless: ColumnElement[bool] | None = None) -> ReturningInsert[Any]:
    run_at: Any = now() if new.run_at is None else new.run_at
    if isinstance(run_at, timedelta):
        run_at = later(literal(run_at.total_seconds(), Float))
    values = {
        "definition_id": new.definition_id,
        "job_type": new.job_type,
        "payload": new.payload,
        "status": Status.QUEUED.value,
        "priority": new.priority,
        "run_at": run_at,
        "scheduled_for": new.scheduled_for,
        "idempotency_key": new.idempotency_key,
        "max_attempts": new.max_attempts,
        "timeout": None if new.timeout is None else new.timeout.total_seconds(),
        "created_at": now(),
        "updated_at": now(),
    }
    statement = insert(job_runs)
    if unless is None:
        statement = statement.values(**values)
    else:
        statement = statement.from_select(list(values), row_unless(job_runs, values, unless))
    return statement.returning(job_runs.c.id)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found and whether it was changed. ``status`` None: there is no such run.

    ``requested`` tells that a running run was asked to stop and is not cancelled yet.
    """

    run_id: int
    status: Status | None
    applied: bool
    requested: bool = False


def cancel(connection: Connection, run_id: int, actor: str) -> Answer:
    """Cancel a waiting run, or ask the owner of a running one to stop it."""
    row = _lock(connection, run_id)
    if row is None or not allowed(Event.CANCEL, row["status"]):
        return _refused(run_id, row)
    if row["status"] == Status.RUNNING:
        if row["cancel_requested_at"] is None:
            # Its owner moves it, at the end of the attempt; until then it is running.
            _change(connection, row, Event.CANCEL, actor, {"cancel_requested_at": row["now"]})
        return Answer(run_id, Status.RUNNING, applied=True, requested=True)
    changes = {
        "status": target(Event.CANCEL, row["status"]).value,
        "finished_at": row["now"],
        "cancel_requested_at": row["now"],
    }
    _change(connection, row, Event.CANCEL, actor, changes)
    return Answer(run_id, row["status"], applied=True)


def retry(connection: Connection, run_id: int, actor: str, *, force: bool = False) -> Answer:
    """Queue a run again, due now, with at least one more attempt. ``force`` also takes a succeeded one."""
    row = _lock(connection, run_id)
    event = Event.FORCE_RETRY if row is not None and row["status"] == Status.SUCCEEDED else Event.RETRY
    if row is None or not allowed(event, row["status"]) or (event is Event.FORCE_RETRY and not force):
        return _refused(run_id, row)
    enough = None if row["max_attempts"] is None else max(row["max_attempts"], row["attempts"] + 1)
    changes = {
        "status": target(event, row["status"]).value,
        "run_at": row["now"],
        "finished_at": null(),
        "cancel_requested_at": null(),
        "releases": 0,
        "max_attempts": enough,
        **NO_LOCK,
    }
    _change(connection, row, event, actor, changes)
    return Answer(run_id, row["status"], applied=True)


def discard(connection: Connection, run_id: int, actor: str, reason: str) -> Answer:
    """Give a waiting or cancelled run up: dead, with who and why in the audit trail."""
    row = _lock(connection, run_id)
    if row is None or not allowed(Event.DISCARD, row["status"]):
        return _refused(run_id, row)
    reason = one_line(reason)
    changes = {
        "status": target(Event.DISCARD, row["status"]).value,
        "finished_at": row["now"],
        "error_type": "discarded",
        "last_error": reason,
    }
    _change(connection, row, Event.DISCARD, actor, changes, detail={"reason": reason})
    return Answer(run_id, row["status"], applied=True)


def _lock(connection: Connection, run_id: int) -> RowMapping | None:
    columns = job_runs.c
    statement = (
        select(
            columns.id,
            columns.status,
            columns.attempts,
            columns.max_attempts,
            columns.cancel_requested_at,
            now().label("now"),
        )
        .where(columns.id == run_id)
        .with_for_update()
    )
    return connection.execute(statement).mappings().one_or_none()


def _refused(run_id: int, row: RowMapping | None) -> Answer:
    return Answer(run_id, None if row is None else Status(row["status"]), applied=False)


def _change(
    connection: Connection,
    row: RowMapping,
    event: Event,
    actor: str,
    columns: dict[str, Any],
    *,
    detail: dict[str, Any] | None = None,
) -> None:
    connection.execute(update(job_runs).where(job_runs.c.id == row["id"]).values(**columns, updated_at=row["now"]))
    connection.execute(
        insert(job_events).values(
            at=row["now"],
            actor=actor,
            action=event.value,
            run_id=row["id"],
            detail={"from": row["status"], **(detail or {})},
        )
    )
