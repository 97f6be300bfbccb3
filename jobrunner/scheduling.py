"""Scheduling: which slots of a definition are due, and what is made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import TypeVar

from jobrunner import clock
from jobrunner.config import Config
from jobrunner.errors import LimitHeld, RowRefused, UsageError
from jobrunner.limiting import declare_limits
from jobrunner.log import Log
from jobrunner.model import Definition
from jobrunner.names import check_job_type
from jobrunner.payload import DEFAULT_LIMIT_BYTES, check_payload
from jobrunner.recurrence import Recurrence
from jobrunner.store import expansion, schedules, ticks
from jobrunner.store.database import Connection, Database
from jobrunner.store.schedules import Expanded, Expansion
from jobrunner.text import one_line

T = TypeVar("T")
_FIRST_BATCH, _LARGEST_BATCH = 100, 1000
_QUICK_SECONDS = 0.25
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
    return _since(recurrence, definition.last_slot_at, now)


@lru_cache(maxsize=1024)
def _since(recurrence: Recurrence, watermark: datetime, now: datetime) -> Expansion:
    # Remembered, since of many definitions due at once most share a few schedules.
    due = recurrence.latest(watermark, now)
    next_run_at = recurrence.next_after(max(now, watermark)) or _NEVER_AGAIN
    if due.first is None or due.last is None:
        return Expansion(next_run_at=next_run_at)
    skipped = None
    if due.count > 1:
        before_last = recurrence.latest(watermark, due.last - timedelta(microseconds=1)).last
        assert before_last is not None
        skipped = (due.first, before_last, due.count - 1)
    return Expansion(slot=due.last, skipped=skipped, next_run_at=next_run_at)


def expand(config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
    """Expand every definition that is due. One that cannot be read is recorded and passed over."""
    # Commands are known without starting a child; the limits of handlers come with the first child's greeting. An idle
    # tick does not look at them: whoever enqueues states the limits that it knows, too.
    if config.commands:
        is_due: bool = database.read(ticks.is_anything_due)
        if is_due:
            declare_limits(database, [command.policy for command in config.commands.values()], log)
    if database.read(lambda connection: schedules.expandable(connection, 1)):
        _Expander(config, database, log, counts).expand()


class _Expander:
    """Expands in batches, but one by one what has a limit, and passes over what the database refuses."""

    def __init__(self, config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
        self._database = database
        self._log = log
        self._counts = counts
        self._plan = partial(plan, payload_limit=config.payload_limit)
        # Each at most once a tick, however soon its next slot comes.
        self._seen: set[int] = set()
        self._held: set[str] = set()

    def expand(self) -> None:
        size = _FIRST_BATCH
        while True:
            began = clock.elapsed()
            try:
                found = self._expand_batch(size)
            except RowRefused as error:
                # Halved until what is refused stands alone; everything in front of it goes its way meanwhile.
                if size == 1:
                    self._pass_over(error)
                size = max(1, size // 2)
                continue
            if found < size:
                return
            # After a long absence a slot can take milliseconds, and whoever else writes waits for the transaction.
            is_quick = clock.elapsed() - began < _QUICK_SECONDS
            size = min(_LARGEST_BATCH, size * 2) if is_quick else max(1, size // 2)

    def _expand_batch(self, size: int) -> int:
        batch = self._committed(lambda each: expansion.expand_many(each, size, self._seen, self._plan))
        for expanded in batch.expanded:
            _report(expanded, self._log, self._counts)
        for definition in batch.limited:
            self._expand_limited(definition)
        self._seen.update(batch.definition_ids)
        return len(batch.definition_ids)

    def _committed(self, work: Callable[[Connection], T]) -> T:
        written = self._database.write(work)
        self._database.reach("expand.committed")
        return written

    def _expand_limited(self, definition: Definition) -> None:
        try:
            if definition.job_type in self._held:
                # It would be waited for as long as for the first one of its type.
                raise LimitHeld("another transaction held the limit of its type a moment ago")
            expanded = self._committed(lambda each: expansion.expand(each, definition.id, self._plan))
        except LimitHeld as error:
            self._held.add(definition.job_type)
            # Its watermark has not moved: the next tick sees the same slot.
            self._log.warning("postponed", definition_id=definition.id, result="next tick", error=str(error))
            return
        except RowRefused as error:
            self._pass_over(error)
            return
        if expanded is not None:
            _report(expanded, self._log, self._counts)

    def _pass_over(self, error: RowRefused) -> None:
        for definition_id in error.definition_ids:
            note = partial(schedules.note_refused, definition_id=definition_id, problem=str(error))
            _report(self._database.write(note), self._log, self._counts)
        self._seen.update(error.definition_ids)


def _report(expanded: Expanded, log: Log, counts: Counter[str]) -> None:
    name, asked = expanded.definition.name, expanded.expansion
    if expanded.is_new_problem:
        log.error("schedule", schedule=name, result="cannot be read", error=asked.problem)
    fields = {"schedule": name, "job_type": expanded.definition.job_type}
    if expanded.run_id is not None:
        counts["expanded"] += 1
        log.info("expanded", **fields, run_id=expanded.run_id, slot=str(asked.slot), result="queued")
    if expanded.full is not None:
        counts["skipped"] += 1
        slot = {"slots": 1, "first": str(asked.slot), "last": str(asked.slot)}
        log.warning("skipped", **fields, **slot, result="max_waiting", max_waiting=expanded.full.max_waiting)
    if asked.skipped is not None:
        first, last, count = asked.skipped
        counts["skipped"] += count
        log.warning("skipped", schedule=name, slots=count, first=str(first), last=str(last), result="misfire")
