"""The rows of ticks, and the questions what is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobrunner.model import Owner, Policy
from jobrunner.store.connection import Connection
from jobrunner.store.statement import Prepared


def open_tick(connection: Connection, owner: Owner, version: str) -> int:
    """Insert the row of a tick that begins, and return its id. Expects a write transaction."""
    values = {"its_host": owner.host, "its_worker": owner.name, "its_version": version}
    return int(connection.execute(Prepared("ticks.open"), values).scalar_one())


def close_tick(connection: Connection, tick_id: int, counts: Mapping[str, int], error: str | None) -> None:
    """Close the row of a tick. Expects a write transaction. An open row is a tick that is at work or was killed."""
    connection.execute(Prepared("ticks.close"), {"tick_id": tick_id, "its_counts": dict(counts), "its_error": error})


def is_anything_due(connection: Connection, host: str | None = None) -> bool:
    """Whether there is anything to recover, end, expand or claim, of any job type. ``host`` None: one not paused."""
    return bool(connection.execute(Prepared("ticks.is_due"), {"host": host}).scalar_one())


def is_any_expandable(connection: Connection) -> bool:
    """Whether a definition may have a slot to expand."""
    return bool(connection.execute(Prepared("schedules.expandable"), {"limit": 1}).all())


def count_claimable(connection: Connection, policies: Sequence[Policy], limit: int) -> int:
    """How many runs of these types are due, counted up to ``limit``."""
    if not policies:
        return 0
    values: dict[str, Any] = {"limit": limit}
    for index, policy in enumerate(policies):
        values[f"type_{index}"] = policy.job_type
        values[f"limit_{index}"] = limit if policy.concurrency is None else min(limit, policy.concurrency)
        if policy.limits is not None and policy.limits.max_running is not None:
            values[f"limit_{index}"] = min(values[f"limit_{index}"], policy.limits.max_running)
    return len(connection.execute(Prepared("ticks.claimable", (len(policies),)), values).all())


def is_quarantined_due(connection: Connection) -> bool:
    """Whether a quarantined run of any type is due: one whose lease expired so often that it must start alone."""
    return bool(connection.execute(Prepared("ticks.is_quarantined_due")).scalar_one())


def take_prune_turn(connection: Connection) -> bool:
    """Whether this tick must prune, which happens at most every ten minutes per database."""
    if connection.execute(Prepared("ticks.free_prune_turn")).one_or_none() is None:
        return False
    connection.execute(Prepared("ticks.take_prune_turn"))
    return True
