"""Runs that wait for the end of other runs, their parents, and what the end of a parent means for them.

A trigger notes the end of a parent in ``job_parents``, in the transaction that ends it. ``follow`` acts on that in a
transaction of its own, so that a locked dependant is in nobody's way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jobrunner.errors import NotFoundError
from jobrunner.lifecycle import Event, Status
from jobrunner.model import TICK
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.steps import Steps
from jobrunner.store.queue.ticks import audit
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.store.sql.traits import TRAITS

_BATCH = 500


def attach_steps(database: str, run_id: int, parent_ids: Sequence[int], if_parent_fails: str) -> Steps[None]:
    """Let a run that the caller's transaction has just inserted wait for the end of these runs.

    Locks them until that transaction ends, so that none of them ends meanwhile. Raises NotFoundError if one of them
    does not exist.
    """
    found = (yield Prepared("dependants.lock_parents"), _given(sorted(set(parent_ids)))).all()
    # SQLite gives the id of a run that was rolled back to the next run. Who waits for that id must not wait for itself.
    parents = [parent for parent in found if parent.id != run_id]
    if missing := sorted(set(parent_ids) - {parent.id for parent in parents}):
        raise NotFoundError(f"there is no run {missing[0]} to wait for; a run that ended long ago is deleted")
    at_large = [parent.id for parent in parents if parent.finished_at is None]
    failed = [parent for parent in parents if parent.finished_at is not None and parent.status != Status.SUCCEEDED]
    if not at_large and (if_parent_fails == "run" or not failed):
        return
    rows = [
        {
            "parent_id": parent.id,
            "run_id": run_id,
            "if_parent_fails": if_parent_fails,
            "parent_status": None if parent.finished_at is None else parent.status,
        }
        for parent in parents
    ]
    if TRAITS[database].has_functions:
        yield Prepared("dependants.hold_in_sql"), {"run_id": run_id, "given": rows}
        return
    if at_large:
        yield Prepared("dependants.mark_parents"), _given(at_large)
    yield Prepared("dependants.attach"), {"given": rows}
    yield Prepared("dependants.hold"), {"run_id": run_id}


def is_any_ended(connection: Connection) -> bool:
    """Whether a parent has ended whose dependants do not know it. Expects any transaction."""
    return bool(connection.execute(Prepared("dependants.told"), {"limit": 1}).all())


class Followed(NamedTuple):
    """How many runs can be claimed now, how many were cancelled, and whether there may be more of either."""

    released: int
    cancelled: int
    may_be_more: bool


def follow(connection: Connection) -> Followed:
    """Act on the ends of parents. Expects a write transaction. Skips runs that another transaction has locked."""
    told = connection.execute(Prepared("dependants.told"), {"limit": _BATCH}).scalars()
    if not told:
        return Followed(0, 0, may_be_more=False)
    locked = {row.id: row for row in connection.execute(Prepared("dependants.lock"), _given(told))}
    if len(locked) < len(told):
        known = connection.execute(Prepared("dependants.known"), _given(told)).scalars()
        # The others were cancelled, and are pruned.
        connection.execute(Prepared("dependants.forget"), _given(sorted(set(told) - set(known))))
        told = known
    given = _given(sorted(locked))
    reasons: dict[int, Row] = {}
    for end in connection.execute(Prepared("dependants.take_ends"), given):
        is_waiting = locked[end.run_id].gate == "after" and locked[end.run_id].status == Status.QUEUED
        if is_waiting and end.if_parent_fails == "cancel" and end.parent_status != Status.SUCCEEDED:
            reasons.setdefault(end.run_id, end)
    if reasons:
        _cancel(connection, reasons, locked)
    released = connection.execute(Prepared("dependants.release"), given).all()
    # A run that was cancelled may be a parent, too.
    is_left = len(locked) < len(told) or len(told) == _BATCH or bool(reasons)
    return Followed(len(released), len(reasons), is_left)


def _cancel(connection: Connection, reasons: dict[int, Row], locked: dict[int, Row]) -> None:
    texts = {
        run_id: f"run {end.parent_id}, which it was to follow, is {end.parent_status}"
        for run_id, end in reasons.items()
    }
    connection.execute(Prepared("dependants.forget"), _given(sorted(reasons)))
    given = [{"id": run_id, "last_error": text} for run_id, text in sorted(texts.items())]
    connection.execute(Prepared("dependants.cancel"), {"given": given})
    events = [
        audit.event(TICK, Event.CANCEL.value, None, {"from": "queued", "why": text}, locked[run_id].now, run_id)
        for run_id, text in sorted(texts.items())
    ]
    audit.write(connection, events)


def _given(ids: Sequence[int]) -> dict[str, Any]:
    return {"given": [{"id": each} for each in ids]}
