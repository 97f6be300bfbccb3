"""What became of the slots of a schedule, day by day, and which come: each slot, or their number if they are many."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from jobrunner.schedules.recurrence import Recurrence
from jobrunner.schedules.slot_plan import NEVER_AGAIN
from jobrunner.store.questions.calendar import LATE_SECONDS, Skip, SlotRun, SlotRuns
from jobrunner.store.questions.definitions import ListedDefinition

MOST_A_DAY = 6
"""Of more slots the calendar has the number, by what became of them."""
_INSTANT = timedelta.resolution
_LATER = ("paused", "due", "coming")
_WORDS = {"succeeded": "ran", "dead": "failed", "failed": "failing"}


@dataclass(frozen=True)
class Slot:
    """One slot. ``state``: late, the status of its run in words, skipped, paused, due, coming or unknown."""

    at: datetime
    state: str
    run_id: int | None = None
    status: str | None = None
    late_seconds: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Day:
    """The slots of one day, or, if they are many, only how many are in which state."""

    begin: datetime
    end: datetime
    counts: Mapping[str, int]
    slots: list[Slot] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many slots the day has."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Range:
    """Slots that a note says got no run."""

    first: datetime
    last: datetime
    count: int
    reason: str


@dataclass(frozen=True)
class Known:
    """What the database has about the slots of one schedule. ``runs`` None: there are too many to read each."""

    definition: ListedDefinition
    recurrence: Recurrence | None
    at: datetime
    runs: Sequence[SlotRun] | None
    counted: Sequence[SlotRuns]
    skipped: Sequence[Range]

    def days(self, borders: Sequence[datetime]) -> list[Day]:
        """The days between these instants."""
        return [
            Day(begin, end, self._counts(number, begin, end)) if self.runs is None else self._each(begin, end)
            for number, (begin, end) in enumerate(pairwise(borders))
        ]

    def _each(self, begin: datetime, end: datetime) -> Day:
        found = {run.scheduled_for: _of(run) for run in self.runs or () if begin <= run.scheduled_for < end}
        left = self._left(begin)
        for at in self._slots(begin, end):
            slot = found.setdefault(at, self._without_a_run(at))
            if slot.state in _LATER and left is not None:
                found[at] = slot if left > 0 else replace(slot, state="")
                left -= 1
        slots = [found[at] for at in sorted(found) if found[at].state]
        return Day(begin, end, Counter(each.state for each in slots), slots)

    def _left(self, begin: datetime) -> int | None:
        """How many more slots may get a run from this instant on. None: as many as there are."""
        definition = self.definition
        if definition.max_runs is None:
            return None
        before = self._count(definition.last_slot_at + _INSTANT, begin)
        return max(0, definition.max_runs - definition.runs_made - before)

    def _slots(self, begin: datetime, end: datetime) -> Iterator[datetime]:
        if self.recurrence is not None:
            yield from self.recurrence.slots(begin - _INSTANT, end - _INSTANT)

    def _count(self, begin: datetime, end: datetime) -> int:
        if self.recurrence is None or begin >= end:
            return 0
        return self.recurrence.latest(begin - _INSTANT, end - _INSTANT).count

    def _without_a_run(self, slot: datetime) -> Slot:
        """A slot that has no run. The state "" is for one that the schedule never had, or will not have."""
        for each in self.skipped:
            if each.first <= slot <= each.last:
                return Slot(slot, "skipped", reason=each.reason)
        definition = self.definition
        if slot <= definition.last_slot_at:
            return Slot(slot, "unknown" if slot > definition.created_at else "")
        if definition.next_run_at == NEVER_AGAIN or (definition.ends_at is not None and slot > definition.ends_at):
            return Slot(slot, "")
        if definition.paused_at is not None:
            return Slot(slot, "paused")
        return Slot(slot, "due" if slot <= self.at else "coming")

    def _counts(self, number: int, begin: datetime, end: datetime) -> dict[str, int]:
        definition, counts = self.definition, Counter[str]()
        for each in self.counted:
            if each.day == number:
                counts[_state(each.status, bool(each.is_late))] += each.runs
        known = counts.total()
        for skip in self.skipped:
            counts[f"skipped: {skip.reason}"] += self._within(skip, begin, end)
        decided = min(end, definition.last_slot_at + _INSTANT)
        past = self._count(max(begin, definition.created_at + _INSTANT), decided)
        counts["unknown"] = max(0, past - known - sum(n for state, n in counts.items() if state.startswith("skipped")))
        counts.update(self._later(begin, end))
        return {state: n for state, n in counts.items() if n}

    def _later(self, begin: datetime, end: datetime) -> dict[str, int]:
        """The slots that no tick has decided on."""
        definition, now = self.definition, self.at + _INSTANT
        if definition.next_run_at == NEVER_AGAIN:
            return {}
        end = end if definition.ends_at is None else min(end, definition.ends_at + _INSTANT)
        begin = max(begin, definition.last_slot_at + _INSTANT)
        due, coming = self._count(begin, min(end, now)), self._count(max(begin, now), end)
        if (left := self._left(begin)) is not None:
            due = min(due, left)
            coming = min(coming, left - due)
        return {"paused": due + coming} if definition.paused_at is not None else {"due": due, "coming": coming}

    def _within(self, skip: Range, begin: datetime, end: datetime) -> int:
        if skip.last < begin or skip.first >= end:
            return 0
        if begin <= skip.first and skip.last < end:
            return skip.count
        return self._count(max(begin, skip.first), min(end, skip.last + _INSTANT))


def _of(run: SlotRun) -> Slot:
    is_late = run.late_seconds is not None and run.late_seconds > LATE_SECONDS
    return Slot(run.scheduled_for, _state(run.status, is_late), run.id, run.status, run.late_seconds)


def _state(status: str, is_late: bool) -> str:
    return "late" if is_late and status == "succeeded" else _WORDS.get(status, status)


def ranges(found: Sequence[Skip]) -> dict[int, list[Range]]:
    """The notes by schedule. One that somebody has written otherwise is left out."""
    by_schedule = defaultdict[int, list[Range]](list)
    for each in found:
        if (read := _range(each.detail)) is not None:
            by_schedule[each.definition_id].append(read)
    return by_schedule


def _range(detail: Any) -> Range | None:
    try:
        first, last = (datetime.fromisoformat(detail[name]) for name in ("from", "to"))
        count, reason = int(detail["count"]), str(detail["reason"])
    except (KeyError, TypeError, ValueError):
        return None
    return Range(first, last, count, reason) if first.tzinfo and last.tzinfo else None


def has_many(recurrence: Recurrence | None, counted: Iterable[SlotRuns], borders: Sequence[datetime]) -> bool:
    """Whether the slots of some day are too many to show each. Nothing is read of them but numbers."""
    runs = Counter[int]()
    for each in counted:
        runs[each.day] += each.runs
    if max(runs.values(), default=0) > MOST_A_DAY:
        return True
    return recurrence is not None and any(
        recurrence.latest(begin - _INSTANT, end - _INSTANT).count > MOST_A_DAY for begin, end in pairwise(borders)
    )
