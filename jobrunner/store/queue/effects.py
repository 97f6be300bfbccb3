"""Guarded effects, as the run that applies them sees them.

Each function expects to be the body of one write transaction (``Database.write``). ``call`` identifies one call of a
handler's function.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from jobrunner import failpoints
from jobrunner.model import Lease
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared


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


def intend(connection: Connection, lease: Lease, key: str, call: str) -> bool:
    """Record the intent to apply an effect. False: the lease is lost, or the key has a row already."""
    values = {"effect": key, "call": call, "run": lease.run_id, "token": lease.token}
    is_recorded = connection.execute(Prepared("effects.intend"), values).first() is not None
    if is_recorded:
        failpoints.hit("effect.intend_before_commit", cut=connection.sever)
    return is_recorded


def find(connection: Connection, key: str) -> StoredEffect | None:
    """The row of a key, if it has one."""
    row = connection.execute(Prepared("effects.find"), {"effect": key}).first()
    return None if row is None else StoredEffect(*row)


def take_over(
    connection: Connection, lease: Lease, found: StoredEffect, call: str, job_type: str, attempt: int
) -> bool:
    """Record the intent anew for an uncertain effect. False: the lease is lost, or another run was faster."""
    values = {
        "effect": found.key,
        "known_call": found.token,
        "call": call,
        "run": lease.run_id,
        "token": lease.token,
        "of_type": job_type,
        "of_attempt": attempt,
    }
    return connection.execute(Prepared("effects.take_over"), values).first() is not None


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
