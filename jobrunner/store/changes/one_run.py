"""What people do to one run: cancel, retry, discard, reschedule, change its priority.

Every function expects to be the body of one write transaction (``Database.write``), one for each run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, literal, null, select, update

from jobrunner.jobs.payload import encode_payload
from jobrunner.lifecycle import Event, Status
from jobrunner.masking.secrets import Secrets
from jobrunner.masking.values import Names
from jobrunner.model import Actor
from jobrunner.store.changes import run_changes, written_secrets
from jobrunner.store.changes.run_changes import NO_GATE, Change
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import audit, tallies
from jobrunner.store.schema import job_runs
from jobrunner.store.sql.dialect.values import now, stored_json
from jobrunner.store.sql.statement import Row

_LONGEST_DETAIL = 4000
"""Characters. Of longer payloads the audit trail has the names of what was changed."""
_NONE: ColumnElement[Any] = null()
_NOTHING: Mapping[str, Any] = {}


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
    row, change = _lock(connection, run_id), run_changes.cancel()
    if row is None or row.status not in change.statuses:
        return _refused(run_id, row)
    is_running = row.status == Status.RUNNING
    # Its owner changes the status when the attempt ends.
    if not is_running or row.cancel_requested_at is None:
        _change(connection, row, change, actor)
    return Answer(run_id, Status(row.status), applied=True, requested=is_running)


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
    one, and of the checkpoint, which goes with it, are taken out of what the run has written: nothing would know them.
    """
    row = _lock(connection, run_id, *(() if payload is None else ("payload", "checkpoint")))
    if payload is not None and row is not None and row.status == Status.QUEUED:
        return _replace_payload(connection, row, actor, payload)
    change = run_changes.retry(force=force)
    if row is None or row.status not in change.statuses:
        return _refused(run_id, row)
    if (holder := run_changes.take_keys(connection, [row]).get(row.id)) is not None:
        return Answer(run_id, row.status, applied=False, key_holder=holder)
    if row.status == Status.SUCCEEDED:
        change = replace(change, name=Event.FORCE_RETRY.value)
    _change(connection, row, change, actor, also=_payload_column(payload), **_changed_payload(row, payload))
    if payload is not None:
        _hide_old_secrets(connection, row, payload)
    return Answer(run_id, row.status, applied=True)


def _replace_payload(connection: Connection, row: Row, actor: Actor, payload: NewPayload) -> Answer:
    # Another payload may be for another gate, and a run that waits for code that can take the old one waits no longer.
    due = {} if row.incompatible_at is None else {"run_at": row.now, "incompatible_at": null()}
    columns = {**_payload_column(payload), **due, **NO_GATE}
    _write(connection, row, Event.RETRY, actor, columns, **_changed_payload(row, payload))
    _hide_old_secrets(connection, row, payload)
    return Answer(row.id, Status(row.status), applied=True)


def _payload_column(payload: NewPayload | None) -> dict[str, Any]:
    # A checkpoint is a place in the work for the old one.
    return {} if payload is None else {"payload": stored_json(literal(payload.text)), "checkpoint": null()}


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
    payload.names.learn([_old_payload(row), row.checkpoint], secrets)
    if secrets:
        written_secrets.hide(connection, row.id, secrets)


def _old_payload(row: Row) -> dict[str, Any]:
    return row.payload if isinstance(row.payload, dict) else {}


def discard(connection: Connection, run_id: int, actor: Actor) -> Answer:
    """End a waiting or cancelled run as dead. The actor's reason is its last error."""
    return _change_one(connection, run_id, _lock(connection, run_id), run_changes.discard(actor.reason or ""), actor)


def reschedule(connection: Connection, run_id: int, actor: Actor, run_at: datetime | timedelta) -> Answer:
    """Give a waiting run another time. Its start deadline holds no longer."""
    row = _lock(connection, run_id)
    if row is None:
        return _refused(run_id, row)
    at = row.now + run_at if isinstance(run_at, timedelta) else run_at
    return _change_one(
        connection, run_id, row, run_changes.reschedule(at), actor, literal(at, job_runs.c.run_at.type), to=at
    )


def set_priority(connection: Connection, run_id: int, actor: Actor, priority: int) -> Answer:
    """Give a waiting run another priority."""
    return _change_one(
        connection, run_id, _lock(connection, run_id), run_changes.set_priority(priority), actor, to=priority
    )


def _change_one(
    connection: Connection,
    run_id: int,
    row: Row | None,
    change: Change,
    actor: Actor,
    run_at: ColumnElement[Any] = _NONE,
    **detail: Any,
) -> Answer:
    if row is None or row.status not in change.statuses:
        return _refused(run_id, row)
    _change(connection, row, change, actor, run_at, **detail)
    return Answer(run_id, Status(row.status), applied=True)


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
    change: Change,
    actor: Actor,
    run_at: ColumnElement[Any] = _NONE,
    also: Mapping[str, Any] = _NOTHING,
    **detail: Any,
) -> None:
    _write(connection, row, change.name, actor, {**change.values(run_at), **also}, **detail)
    if change.ends_as is not None and row.status != Status.RUNNING:
        tallies.add_ends(connection, [(row.job_type, change.ends_as)])


def _write(
    connection: Connection, row: Row, action: str, actor: Actor, columns: Mapping[str, Any], **detail: Any
) -> None:
    connection.execute(update(job_runs).where(job_runs.c.id == row.id).values(**columns, updated_at=now()))
    audit.write(connection, [audit.event(actor, action, None, {"from": row.status, **detail}, row.now, row.id)])
