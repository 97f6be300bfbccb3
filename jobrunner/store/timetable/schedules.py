"""Reads and writes definitions for the expansion.

Every function that writes expects to be the body of one write transaction; the others expect any transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Protocol

from jobrunner.model import TICK, Definition, SlotPolicy
from jobrunner.schedules.slot_plan import NOTHING_UNFINISHED, Expansion, Unfinished
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.backpressure import Occupancy
from jobrunner.store.queue.ticks import audit
from jobrunner.store.sql.statement import Prepared


@dataclass(frozen=True, slots=True)
class Expanded:
    """What the expansion of one definition wrote.

    ``run_ids`` are the new runs; ``already`` is how many slots had a run before. ``replaced`` are older runs that were
    cancelled for the new one, or whose cancellation was requested. ``is_new_problem``: the problem was not known
    before. ``full``: some slots got no run, because the type's limit of waiting runs is reached.
    """

    definition: Definition
    expansion: Expansion
    run_ids: tuple[int, ...] = ()
    already: int = 0
    replaced: tuple[int, ...] = ()
    is_new_problem: bool = False
    full: Occupancy | None = None


class Plan(Protocol):
    """Decides what happens with the due slots of a definition. A pure function."""

    def __call__(
        self, definition: Definition, now: datetime, unfinished: Unfinished = NOTHING_UNFINISHED, /
    ) -> Expansion:
        """``now`` is the database's time. ``unfinished`` says which runs of the definition have not ended."""


def note_refused(connection: Connection, definition_id: int, problem: str) -> Expanded:
    """Like ``record_problem``, for a definition whose row or runs the database refuses."""
    (row,) = connection.execute(Prepared("schedules.definition"), {"definition_id": definition_id}).mappings()
    return record_problem(connection, definition_of(row), problem, row["now"])


def record_problem(connection: Connection, definition: Definition, problem: str, at: datetime) -> Expanded:
    """Store why a definition cannot be expanded, and write an event if the problem is new."""
    is_new = definition.last_error != problem
    if is_new:
        values = {"definition_id": definition.id, "problem": problem, "at": at}
        connection.execute(Prepared("schedules.set_problem"), values)
        audit.write(connection, [audit.event(TICK, "cannot expand", definition.id, {"problem": problem}, at)])
    return Expanded(definition, Expansion(problem=problem), is_new_problem=is_new)


_POLICY = SlotPolicy._fields
_OWN = tuple(name for name in Definition._fields if name != "policy")


def definition_of(row: Any) -> Definition:
    """The definition that a row stores."""
    return Definition(**{name: row[name] for name in _OWN}, policy=_policy_of(*(row[name] for name in _POLICY)))


@lru_cache(maxsize=1024, typed=True)
def _policy_of(*values: Any) -> SlotPolicy:
    # Cached, because thousands of definitions may share a few policies.
    columns: dict[str, Any] = dict(zip(_POLICY, values, strict=True))
    seconds = {name: timedelta(seconds=value) for name, value in columns.items() if isinstance(value, float)}
    return SlotPolicy(**(columns | seconds))


def policy_columns(policy: SlotPolicy) -> dict[str, Any]:
    """The values of a policy by column."""
    values = {name: getattr(policy, name) for name in _POLICY}
    return {name: value.total_seconds() if isinstance(value, timedelta) else value for name, value in values.items()}
