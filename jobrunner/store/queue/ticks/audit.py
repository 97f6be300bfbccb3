"""The audit trail: who did what to which run or definition, and when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from jobrunner import failpoints
from jobrunner.model import Actor
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared
from jobrunner.text import iso_instant, one_line

BULK_ACTIONS = ("retry", "cancel", "discard", "reschedule", "priority")
"""Actions on many runs at once have one row for each batch, whose detail has the ids."""


def event(
    actor: Actor,
    action: str,
    definition_id: int | None,
    detail: dict[str, Any],
    at: datetime,
    run_id: int | None = None,
) -> dict[str, Any]:
    """One row of the audit trail. The reason that the actor gave stands in its detail."""
    reason = {} if actor.reason is None else {"reason": one_line(actor.reason)}
    return {
        "at": at,
        "actor": actor.name,
        "action": action,
        "definition_id": definition_id,
        "run_id": run_id,
        "detail": _plain({**reason, **detail}),
    }


def record(connection: Connection, events: Sequence[dict[str, Any]]) -> None:
    """Write the audit trail of a change. Call it last in the transaction."""
    write(connection, events)
    failpoints.hit("change.before_commit", cut=connection.sever)


def write(connection: Connection, events: Sequence[dict[str, Any]]) -> None:
    """Write any number of rows in one statement."""
    if events:
        connection.execute(Prepared("audit.insert"), {"given": events})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return iso_instant(value) if isinstance(value, datetime) else value
