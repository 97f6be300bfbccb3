"""Scheduling: which slots of a definition are due, and what is made of them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial

from jobrunner.config import Config
from jobrunner.errors import LimitHeld, UsageError
from jobrunner.limiting import declare_limits
from jobrunner.log import Log
from jobrunner.model import Definition
from jobrunner.names import check_job_type
from jobrunner.payload import DEFAULT_LIMIT_BYTES, check_payload
from jobrunner.recurrence import Recurrence
from jobrunner.store import schedules
from jobrunner.store.database import Database
from jobrunner.store.schedules import Expanded, Expansion
from jobrunner.text import one_line

_BATCH = 500
_NEVER_AGAIN = datetime(9999, 12, 31, tzinfo=UTC)


def plan(definition: Definition, now: datetime, payload_limit: int = DEFAULT_LIMIT_BYTES) -> Expansion:
    """What the slots in (watermark, now] ask for: the latest gets a run, older ones are one skipped stretch.

    All of them are seen, however late the tick comes: never "does now match". A definition that cannot be read
    gives a ``problem``.
    """
    try:
        recurrence = Recurrence.parse(definition.schedule, definition.timezone)
        # Whoever wrote the row by hand was not checked by anybody yet.
        check_job_type(definition.job_type)
        check_payload(definition.payload, payload_limit)
    except UsageError as error:
        return Expansion(problem=one_line(str(error)))
    due = recurrence.latest(definition.last_slot_at, now)
    next_run_at = recurrence.next_after(max(now, definition.last_slot_at)) or _NEVER_AGAIN
    if due.first is None or due.last is None:
        return Expansion(next_run_at=next_run_at)
    skipped = None
    if due.count > 1:
        before_last = recurrence.latest(definition.last_slot_at, due.last - timedelta(microseconds=1)).last
        assert before_last is not None
        skipped = (due.first, before_last, due.count - 1)
    return Expansion(slot=due.last, skipped=skipped, next_run_at=next_run_at)


def expand(config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
    """Expand every definition that is due. One that cannot be read is recorded and passed over."""
    # Commands are known without starting a child; the limits of handlers come with the first child's greeting.
    if config.commands:
        declare_limits(database, [command.policy for command in config.commands.values()], log)
    seen: set[int] = set()
    while True:
        ids = database.read(lambda connection: schedules.expandable(connection, _BATCH + len(seen)))
        due = [each for each in ids if each not in seen]
        if not due:
            return
        for definition_id in due:
            _expand_one(config, database, definition_id, log, counts)
        seen.update(due)


def _expand_one(config: Config, database: Database, definition_id: int, log: Log, counts: Counter[str]) -> None:
    planned = partial(plan, payload_limit=config.payload_limit)
    try:
        expanded = database.write(lambda connection: schedules.expand(connection, definition_id, planned))
    except LimitHeld as error:
        # Its watermark has not moved: the next tick sees the same slot.
        log.warning("postponed", definition_id=definition_id, result="next tick", error=str(error))
        return
    database.reach("expand.committed")
    if expanded is not None:
        _report(expanded, log, counts)


def _report(expanded: Expanded, log: Log, counts: Counter[str]) -> None:
    name, expansion = expanded.definition.name, expanded.expansion
    if expanded.is_new_problem:
        log.error("schedule", schedule=name, result="cannot be read", error=expansion.problem)
    fields = {"schedule": name, "job_type": expanded.definition.job_type}
    if expanded.run_id is not None:
        counts["expanded"] += 1
        log.info("expanded", **fields, run_id=expanded.run_id, slot=str(expansion.slot), result="queued")
    if expanded.full is not None:
        counts["skipped"] += 1
        slot = {"slots": 1, "first": str(expansion.slot), "last": str(expansion.slot)}
        log.warning("skipped", **fields, **slot, result="max_waiting", max_waiting=expanded.full.max_waiting)
    if expansion.skipped is not None:
        first, last, count = expansion.skipped
        counts["skipped"] += count
        log.warning("skipped", schedule=name, slots=count, first=str(first), last=str(last), result="misfire")
