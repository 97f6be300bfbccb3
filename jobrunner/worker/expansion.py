"""Expansion: finds the due slots of every definition, and makes runs of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from jobrunner import clock
from jobrunner.errors import DatabaseHeld, JobrunnerError, LimitHeld, RowHeld, RowRefused, UsageError
from jobrunner.jobs.payload_limits import DEFAULT_LIMIT_BYTES
from jobrunner.model import Definition
from jobrunner.schedules import slot_plan
from jobrunner.schedules.declare import check
from jobrunner.schedules.slot_plan import NOTHING_UNFINISHED, Expansion, Unfinished
from jobrunner.store.drivers.database import Connection
from jobrunner.store.timetable import expansion, schedules
from jobrunner.store.timetable.schedules import Expanded
from jobrunner.text import one_line
from jobrunner.worker.context import TickContext

T = TypeVar("T")
_FIRST_BATCH, _LARGEST_BATCH = 100, 1000
_QUICK_SECONDS = 0.25


def plan(
    definition: Definition,
    now: datetime,
    unfinished: Unfinished = NOTHING_UNFINISHED,
    /,
    *,
    payload_limit: int = DEFAULT_LIMIT_BYTES,
) -> Expansion:
    """Decide by the definition's policy which of the slots in (watermark, now] get a run.

    It looks at all of these slots, however late the tick comes. A definition that cannot be read gives a ``problem``.
    """
    try:
        # Somebody may have written the row by hand, without any check.
        recurrence = check(definition, payload_limit)
    except UsageError as error:
        return Expansion(problem=one_line(str(error)))
    if definition.is_template:
        return Expansion(next_run_at=slot_plan.NEVER_AGAIN)
    return slot_plan.plan_slots(definition, recurrence, now, unfinished)


def expand(context: TickContext) -> None:
    """Expand every definition that is due. One that cannot be read is recorded and skipped."""
    _Expander(context).expand()


class _Expander:
    """Expands in batches, and types with a limit one by one. Skips what the database refuses."""

    def __init__(self, context: TickContext) -> None:
        self._context = context
        self._database = context.database
        self._log = context.log
        self._host = context.owner.host
        self._plan = partial(plan, payload_limit=context.config.payload_limit)
        # Each definition is expanded at most once in a tick, however soon its next slot comes.
        self._seen: set[int] = set()
        self._held: set[str] = set()

    def expand(self) -> None:
        size = _FIRST_BATCH
        while True:
            began = clock.elapsed()
            try:
                found = self._expand_batch(size)
            except RowRefused as error:
                # The batch is halved until the refused definition is alone. All those before it are expanded meanwhile.
                if size == 1:
                    self._skip(error)
                size = max(1, size // 2)
                continue
            except RowHeld as error:
                # From here on one by one, so that each wait for a lock concerns one definition only.
                if size == 1:
                    self._postpone(error, error.definition_ids)
                size = 1
                continue
            if found < size:
                return
            # After a long pause a slot can take milliseconds, and other writers wait for this transaction.
            is_quick = clock.elapsed() - began < _QUICK_SECONDS
            size = min(_LARGEST_BATCH, size * 2) if is_quick else max(1, size // 2)

    def _expand_batch(self, size: int) -> int:
        batch = self._committed(lambda each: expansion.expand_many(each, size, self._seen, self._plan, self._host))
        for expanded in batch.expanded:
            _report(expanded, self._context)
        for definition in batch.limited:
            self._expand_limited(definition)
        self._seen.update(batch.definition_ids)
        return len(batch.definition_ids)

    def _committed(self, work: Callable[[Connection], T]) -> T:
        written = self._database.write(work)
        self._database.hit("expand.committed")
        return written

    def _expand_limited(self, definition: Definition) -> None:
        try:
            if definition.job_type in self._held:
                # The lock of this type was waited for already; a second wait would be as long.
                raise LimitHeld("another transaction held the limit of its type a moment ago")
            expanded = self._committed(lambda each: expansion.expand(each, definition.id, self._plan))
        except LimitHeld as error:
            self._held.add(definition.job_type)
            # Its watermark has not moved, so the next tick sees the same slot.
            self._log.warning("postponed", definition_id=definition.id, result="next tick", error=str(error))
            return
        except RowRefused as error:
            self._skip(error)
            return
        except DatabaseHeld as error:
            self._postpone(error, [definition.id])
            return
        if expanded is not None:
            _report(expanded, self._context)

    def _postpone(self, error: JobrunnerError, definition_ids: Sequence[int]) -> None:
        # Their watermarks have not moved, so the next tick sees the same slots.
        for definition_id in definition_ids:
            self._log.warning("postponed", definition_id=definition_id, result="next tick", error=str(error))
        self._seen.update(definition_ids)

    def _skip(self, error: RowRefused) -> None:
        for definition_id in error.definition_ids:
            note = partial(schedules.note_refused, definition_id=definition_id, problem=str(error))
            _report(self._database.write(note), self._context)
        self._seen.update(error.definition_ids)


def _report(expanded: Expanded, context: TickContext) -> None:
    definition, decided = expanded.definition, expanded.expansion
    if expanded.is_new_problem:
        context.log.error("schedule", schedule=definition.name, result="cannot be read", error=decided.problem)
    fields = {"schedule": definition.name, "job_type": definition.job_type}
    context.counts["expanded"] += len(expanded.run_ids)
    if expanded.run_ids:
        span: dict[str, Any] = {"run_id": expanded.run_ids[-1], "slot": str(decided.slots[-1])}
        if len(expanded.run_ids) > 1:
            span |= {"runs": len(expanded.run_ids), "first": str(decided.slots[0])}
        context.log.info("expanded", **fields, **span, result="queued")
    if expanded.already:
        context.log.info("expanded", **fields, slots=expanded.already, result="had their runs already")
    for skipped in decided.skipped:
        context.counts["skipped"] += skipped.count
        span = {"slots": skipped.count, "first": str(skipped.first), "last": str(skipped.last)}
        if expanded.full is not None and skipped.reason == "max_waiting":
            span["max_waiting"] = expanded.full.max_waiting
        context.log.warning("skipped", **fields, **span, result=skipped.reason)
    for run_id in expanded.replaced:
        context.counts["replaced"] += 1
        context.log.warning("replaced", **fields, run_id=run_id, by=expanded.run_ids[-1], result="cancelled")
    if decided.ended is not None:
        context.log.info("schedule", **fields, result="ended", reason=decided.ended)
