"""Guarded effects, as the run that applies them sees them.

Each function expects to be the body of one write transaction (``Database.write``). ``call`` identifies one call of a
handler's function.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from jobrunner import failpoints
from jobrunner.model import Lease
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared

ANSWERED = "settle effect"
"""The action of somebody who says whether an effect was applied."""


class StoredEffect(NamedTuple):
    """The row of an effect. ``in_progress``: the run that recorded the intent still holds its lease."""

    key: str
    state: str
    run_id: int
    job_type: str
    attempt: int
    lease_token: str
    token: str
    outcome: Any
    intended_at: datetime
    settled_at: datetime | None
    in_progress: bool

    @property
    def lease(self) -> Lease:
        """The lease under which the intent was recorded."""
        return Lease.of(self)


class Intended(NamedTuple):
    """An intent that was recorded: on which server, when its run was created, and when it was recorded."""

    server: str | None
    run_created_at: datetime
    at: datetime


class Note(NamedTuple):
    """What a host has noted of a call, in case that the database forgets it. The names are those of the statement.

    ``was_applied``: the call has returned, and ``its_outcome`` is known.
    """

    effect: str
    run: int
    of_type: str
    of_attempt: int
    its_lease: str
    call: str
    since: datetime
    run_created_at: datetime
    was_applied: bool = False
    its_outcome: Any = None


def intend(connection: Connection, lease: Lease, key: str, call: str) -> Intended | None:
    """Record the intent to apply an effect.

    None: the lease is lost, the key has a row already, or a standby was promoted, so that no effect may begin.
    """
    values = {"effect": key, "call": call, "run": lease.run_id, "token": lease.token}
    row = connection.execute(Prepared("effects.intend"), values).first()
    if row is None:
        return None
    failpoints.hit("effect.intend_before_commit", cut=connection.sever)
    return Intended(*row)


def is_paused(connection: Connection) -> bool:
    """Whether no effect may begin, because a standby was promoted: see ``servers``."""
    return bool(connection.execute(Prepared("effects.is_paused")).scalar_one())


def find(connection: Connection, key: str) -> StoredEffect | None:
    """The row of a key, if it has one."""
    row = connection.execute(Prepared("effects.find"), {"effect": key}).first()
    return None if row is None else StoredEffect(*row)


def take_over(
    connection: Connection, lease: Lease, found: StoredEffect, call: str, job_type: str, attempt: int
) -> Intended | None:
    """Record the intent anew for an uncertain effect. None: the lease is lost, or another run was faster."""
    values = {
        "effect": found.key,
        "known_call": found.token,
        "call": call,
        "run": lease.run_id,
        "token": lease.token,
        "of_type": job_type,
        "of_attempt": attempt,
    }
    row = connection.execute(Prepared("effects.take_over"), values).first()
    return None if row is None else Intended(*row)


def settle(connection: Connection, key: str, call: str, state: str, outcome: Any = None) -> bool:
    """Write what became of a call: ``applied`` or ``uncertain``. False: another call has taken the effect over."""
    values = {"effect": key, "call": call, "new_state": state, "new_outcome": outcome}
    is_settled = connection.execute(Prepared("effects.settle"), values).first() is not None
    if state == "applied":
        failpoints.hit("effect.outcome_before_commit", cut=connection.sever)
    return is_settled


def clear(connection: Connection, key: str, call: str) -> bool:
    """Forget a call that changed nothing. False: another call has taken the effect over."""
    return connection.execute(Prepared("effects.clear"), {"effect": key, "call": call}).first() is not None


def forgotten(connection: Connection, notes: Sequence[Note]) -> list[Note]:
    """The notes of which the database knows less: it has no row for the key, or not that this call was applied."""
    asked = {"given": [{"effect": each.effect} for each in notes]}
    found = {row.key: (row.token, row.state) for row in connection.execute(Prepared("effects.known"), asked)}
    left = []
    for note in notes:
        token, state = found.get(note.effect, (note.call, None))
        if token == note.call and (state is None or (note.was_applied and state != "applied")):
            left.append(note)
    return left


def put_back(connection: Connection, note: Note) -> str | None:
    """Write what the database has forgotten. Returns the state of the effect; None means that nothing was written.

    Nothing is, if somebody has said since then whether it was applied.
    """
    if note.was_applied and settle(connection, note.effect, note.call, "applied", note.its_outcome):
        return "applied"
    asked = {"run": note.run, "since": note.since, "answered": ANSWERED}
    answers = connection.execute(Prepared("effects.answers"), asked)
    if any(answer.detail.get("key") == note.effect for answer in answers):
        return None
    row = connection.execute(Prepared("effects.put_back"), note._asdict()).first()
    return None if row is None else str(row.state)
