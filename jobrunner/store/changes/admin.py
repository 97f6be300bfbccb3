"""What people do to one run: cancel, retry, discard, reschedule, change its priority.

Every function expects to be the body of one write transaction (``Database.write``), one for each run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Select, case, literal, literal_column, null, select, update

from jobrunner.jobs.payload import encode_payload
from jobrunner.lifecycle import CLAIMABLE, Event, Status, allowed, target
from jobrunner.masking.secrets import Secrets
from jobrunner.masking.values import Names
from jobrunner.model import Actor
from jobrunner.store.changes import told_secrets
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import audit, tallies
from jobrunner.store.schema import job_runs
from jobrunner.store.sql.dialect.values import now, stored_json
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.store.statements.queue.dependants import IS_BEHIND_PARENTS
from jobrunner.store.statements.queue.holding import NO_LOCK
from jobrunner.text import one_line

_LONGEST_DETAIL = 4000
"""Characters. Of longer payloads the audit trail has the names of what was changed."""
NO_GATE: dict[str, Any] = {"gate": case((IS_BEHIND_PARENTS, job_runs.c.gate), else_=literal_column("''"))}
"""A run with another time or priority is put behind its gate anew by the next claim. Parents are still waited for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The status in which the run was found, or None for no such run, and whether it was changed.

    ``requested``: the run is running, and its cancellation was requested. ``key_holder``: it was refused, because this
    run has taken its key meanwhile.
    """

    run_id: int
    status: Status | None
    applied: bool
    requested: bool = False
    key_holder: int | None = None


def type_and_status(connection: Connection, run_id: int) -> Row | None:
    """The type and the status of a run, and None if there is no such run. Expects any transaction."""
    columns = job_runs.c
    return connection.execute(select(columns.job_type, columns.status).where(columns.id == run_id)).one_or_none()


def cancel(connection: Connection, run_id: int, actor: Actor) -> Answer:
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


class NewPayload(NamedTuple):
    """Another payload for a run: its value, its JSON text, and the names by which secrets of both are known."""

    value: Mapping[str, Any]
    text: str
    names: Names


def retry(
    connection: Connection, run_id: int, actor: Actor, *, force: bool = False, payload: NewPayload | None = None
) -> Answer:
    """Queue a run again, due now, with at least one more attempt. A succeeded run needs ``force``.

    With another ``payload`` also a run that waits: it gets this payload, and goes on waiting. The secrets of the old
    one are taken out of what the run has written: nothing would know them any more.
    """
    row = _lock(connection, run_id, *(() if payload is None else ("payload",)))
    if payload is not None and row is not None and row.status == Status.QUEUED:
        return _replace_payload(connection, row, actor, payload)
    event = Event.FORCE_RETRY if row is not None and row.status == Status.SUCCEEDED else Event.RETRY
    if row is None or not allowed(event, row.status) or (event is Event.FORCE_RETRY and not force):
        return _refused(run_id, row)
    if row.idempotency_key is not None and (holder := _take_key(connection, row)) is not None:
        return Answer(run_id, row.status, applied=False, key_holder=holder)
    max_attempts = None if row.max_attempts is None else max(row.max_attempts, row.attempts + 1)
    changes = {
        "status": target(event, row.status).value,
        "run_at": row.now,
        # Somebody wants the run now, even after its deadline.
        "start_deadline_at": null(),
        "finished_at": null(),
        "cancel_requested_at": null(),
        "releases": 0,
        "incompatible_at": null(),
        "max_attempts": max_attempts,
        **NO_LOCK,
        **_payload_column(payload),
    }
    _change(connection, row, event, actor, changes, **_changed_payload(row, payload))
    if payload is not None:
        _hide_old_secrets(connection, row, payload)
    return Answer(run_id, row.status, applied=True)


def _replace_payload(connection: Connection, row: Row, actor: Actor, payload: NewPayload) -> Answer:
    # Another payload may be for another gate, and a run that waits for code that can take the old one waits no longer.
    due = {} if row.incompatible_at is None else {"run_at": row.now, "incompatible_at": null()}
    columns = {**_payload_column(payload), **due, **NO_GATE}
    _change(connection, row, Event.RETRY, actor, columns, **_changed_payload(row, payload))
    _hide_old_secrets(connection, row, payload)
    return Answer(row.id, Status(row.status), applied=True)


def _payload_column(payload: NewPayload | None) -> dict[str, Any]:
    return {} if payload is None else {"payload": stored_json(literal(payload.text))}


def _changed_payload(row: Row, payload: NewPayload | None) -> dict[str, Any]:
    """What the audit trail says of another payload: the arguments that differ, each with its old and its new value."""
    if payload is None:
        return {}
    old = _old_payload(row)
    differ = [name for name in {**old, **payload.value} if old.get(name) != payload.value.get(name)]
    # Each as a whole first: whether a value is a secret may stand beside it, in an argument that does not differ.
    before, after = payload.names.masked([old, payload.value])
    values = payload.names.masked({name: [before.get(name), after.get(name)] for name in differ})
    return {"payload": values if len(encode_payload(values)) <= _LONGEST_DETAIL else dict.fromkeys(differ, "changed")}


def _hide_old_secrets(connection: Connection, row: Row, payload: NewPayload) -> None:
    secrets = Secrets()
    payload.names.learn(_old_payload(row), secrets)
    if secrets:
        told_secrets.hide(connection, row.id, secrets)


def _old_payload(row: Row) -> dict[str, Any]:
    return row.payload if isinstance(row.payload, dict) else {}


def discard(connection: Connection, run_id: int, actor: Actor) -> Answer:
    """End a waiting or cancelled run as dead. The actor's reason is its last error."""
    row = _lock(connection, run_id)
    if row is None or not allowed(Event.DISCARD, row.status):
        return _refused(run_id, row)
    changes = {
        "status": target(Event.DISCARD, row.status).value,
        "finished_at": row.now,
        "error_type": "discarded",
        "last_error": one_line(actor.reason or ""),
    }
    _change(connection, row, Event.DISCARD, actor, changes)
    tallies.add_ends(connection, [(row.job_type, changes["status"])])
    return Answer(run_id, row.status, applied=True)


def reschedule(connection: Connection, run_id: int, actor: Actor, run_at: datetime | timedelta) -> Answer:
    """Give a waiting run another time. Its start deadline holds no longer."""
    row = _lock(connection, run_id)
    if row is None or row.status not in CLAIMABLE:
        return _refused(run_id, row)
    at = row.now + run_at if isinstance(run_at, timedelta) else run_at
    _change(connection, row, "reschedule", actor, {"run_at": at, "start_deadline_at": null(), **NO_GATE}, to=at)
    return Answer(run_id, row.status, applied=True)


def set_priority(connection: Connection, run_id: int, actor: Actor, priority: int) -> Answer:
    """Give a waiting run another priority."""
    row = _lock(connection, run_id)
    if row is None or row.status not in CLAIMABLE:
        return _refused(run_id, row)
    _change(connection, row, "priority", actor, {"priority": priority, **NO_GATE}, to=priority)
    return Answer(run_id, row.status, applied=True)


def _take_key(connection: Connection, row: Row) -> int | None:
    """Give a run its key again, if the key is free for each new run. Returns the other run that holds the key."""
    values = {"of_type": row.job_type, "key": row.idempotency_key}
    locked: int | None = connection.execute(Prepared("keys.lock_key"), values).scalar_one_or_none()
    # Read after the lock, so that the run of a transaction that has just ended is seen.
    holder = connection.execute(Prepared("keys.holder"), values).one_or_none()
    if locked in (None, row.id) or holder is None or holder.key_scope != "active":
        return None
    if holder.is_held:
        return locked
    connection.execute(Prepared("keys.set_run_of_key"), {**values, "run_id_of_key": row.id})
    return None


_READ = (
    *("id", "job_type", "idempotency_key", "status", "attempts", "max_attempts", "cancel_requested_at"),
    "incompatible_at",
)


def _lock(connection: Connection, run_id: int, *also: str) -> Row | None:
    columns = job_runs.c
    statement: Select[Any] = (
        select(*(columns[name] for name in (*_READ, *also)), now().label("now"))
        .where(columns.id == run_id)
        .with_for_update(key_share=True)
    )
    return connection.execute(statement).one_or_none()


def _refused(run_id: int, row: Row | None) -> Answer:
    return Answer(run_id, None if row is None else Status(row.status), applied=False)


def _change(
    connection: Connection,
    row: Row,
    action: str,
    actor: Actor,
    columns: dict[str, Any],
    **detail: Any,
) -> None:
    connection.execute(update(job_runs).where(job_runs.c.id == row.id).values(**columns, updated_at=row.now))
    audit.write(connection, [audit.event(actor, action, None, {"from": row.status, **detail}, row.now, row.id)])
