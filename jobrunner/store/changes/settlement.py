"""What you do about an effect of which it is not known whether it was applied. Expects a write transaction."""

from __future__ import annotations

from enum import Enum
from typing import Any

from jobrunner.model import Actor
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.effects import ANSWERED
from jobrunner.store.queue.ticks import audit
from jobrunner.store.sql.statement import Prepared


class Settled(Enum):
    """The answer to a request to settle an effect, as text for an operator. Only ``DONE`` has changed anything."""

    DONE = "settled"
    UNKNOWN = "there is no effect with the key"
    APPLIED = "it is applied already"
    IN_PROGRESS = "its call is still in progress"


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
    audit.write(connection, [audit.event(actor, ANSWERED, None, detail, row.now, row.run_id)])
    return Settled.DONE
