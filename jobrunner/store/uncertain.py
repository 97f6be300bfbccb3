"""What a person does about effects of which it is not known whether they were applied."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from jobrunner.model import Actor
from jobrunner.store import audit
from jobrunner.store.connection import Connection
from jobrunner.store.records import read
from jobrunner.store.statement import Prepared

_MOST_LISTED = 1_000_000


@dataclass(frozen=True)
class OpenEffect:
    """An effect whose call did not end, or ended with an error."""

    key: str
    run_id: int
    job_type: str
    attempt: int
    intended_at: datetime


class Settled(Enum):
    """The answer to a request to settle an effect, as text for a person. Only ``DONE`` has changed anything."""

    DONE = "settled"
    UNKNOWN = "there is no effect with the key"
    APPLIED = "it is applied already"
    IN_PROGRESS = "its call is still in progress"


def listed(connection: Connection, newest: int = _MOST_LISTED) -> list[OpenEffect]:
    """The uncertain effects, the oldest first."""
    return read(connection, OpenEffect, Prepared("effects.uncertain"), {"most": newest})


def count(connection: Connection) -> int:
    """How many effects are uncertain."""
    found: int = connection.execute(Prepared("effects.count_uncertain")).scalar_one()
    return found


def settle(connection: Connection, key: str, actor: Actor, *, applied: bool, outcome: Any = None) -> Settled:
    """Settle an uncertain effect. If it was not applied, its key can be used again."""
    of_key = {"effect": key}
    row = connection.execute(Prepared("effects.lock"), of_key).one_or_none()
    if row is None:
        return Settled.UNKNOWN
    if row.state == "applied":
        return Settled.APPLIED
    if row.in_progress:
        return Settled.IN_PROGRESS
    if applied:
        connection.execute(Prepared("effects.mark_applied"), {**of_key, "at": row.now, "new_outcome": outcome})
    else:
        connection.execute(Prepared("effects.forget"), of_key)
    detail = {"key": key, "applied": applied}
    audit.write(connection, [audit.event(actor, "settle effect", None, detail, row.now, row.run_id)])
    return Settled.DONE
