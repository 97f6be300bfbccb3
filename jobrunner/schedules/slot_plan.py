"""Decides which of the due slots get a run, and says why the others get none. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from jobrunner.model import LAST_INSTANT, OVERLAPS, Definition, SlotPolicy
from jobrunner.schedules.recurrence import Recurrence

NEVER_AGAIN = LAST_INSTANT
"""The next slot of a schedule that has ended."""
_SKIP_WINDOW = timedelta(minutes=2)
_SHORTEST_SPAN = timedelta(hours=1)
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class SlotRange:
    """Consecutive slots that get no run for the same reason."""

    first: datetime
    last: datetime
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Whether a definition has any unfinished run, and whether one of them is ``waiting``: queued or failed."""

    any: bool = False
    waiting: bool = False


NOTHING_UNFINISHED = Unfinished()


@dataclass(frozen=True, slots=True)
class Expansion:
    """The decision about all slots since the watermark, oldest first.

    ``watermark`` is the last slot that was decided; None: none was due. ``ended`` is the reason why no further slot
    comes. ``problem`` is the reason why the definition cannot be read; then the other fields are empty.
    """

    slots: tuple[datetime, ...] = ()
    skipped: tuple[SlotRange, ...] = ()
    watermark: datetime | None = None
    next_run_at: datetime | None = None
    ended: str | None = None
    problem: str | None = None


def plan_slots(definition: Definition, recurrence: Recurrence, now: datetime, unfinished: Unfinished) -> Expansion:
    """Decide about each slot in (watermark, now]: it gets a run or is listed in ``skipped``."""
    policy, watermark = definition.policy, definition.last_slot_at
    until = now if policy.ends_at is None else min(now, policy.ends_at)
    due = _due_slots(recurrence, watermark, until, policy.misfire_most if policy.misfire == "all" else 1)
    chosen = _Chosen(list(due.newest))
    if due.older is not None:
        chosen.skipped.append(due.older)
    chosen.keep_from(_oldest_allowed(policy, now), "misfire")
    if policy.start_deadline is not None:
        # The run of an older slot would already be past its start deadline.
        offset = jitter_offset(definition) + policy.start_deadline
        chosen.keep_from(now - offset + _INSTANT, "start_deadline")
    if _is_overlapping(policy, unfinished):
        chosen.keep_first(0, "overlap")
    left = None if policy.max_runs is None else max(0, policy.max_runs - definition.runs_made)
    if left is not None:
        chosen.keep_first(left, "max_runs")
        left -= len(chosen.slots)
    next_slot = _next(recurrence, max(now, watermark))
    ended = _why_ended(policy, next_slot, left)
    return Expansion(
        slots=tuple(chosen.slots),
        skipped=tuple(chosen.skipped),
        watermark=due.newest[-1] if due.newest else None,
        next_run_at=next_slot if ended is None else NEVER_AGAIN,
        ended=ended,
    )


def jitter_offset(definition: Definition) -> timedelta:
    """The delay between a slot and its run. It is always the same for one name."""
    jitter = definition.policy.jitter
    if jitter is None:
        return timedelta()
    from hashlib import sha256

    share = int.from_bytes(sha256(definition.name.encode("utf-8", "replace")).digest()[:8])
    return timedelta(microseconds=jitter // _INSTANT * share >> 64)


class _Chosen:
    """The slots that remain after each rule, and the ranges that the rules removed."""

    def __init__(self, slots: list[datetime]) -> None:
        self.slots = slots
        self.skipped: list[SlotRange] = []

    def keep_from(self, oldest: datetime, reason: str) -> None:
        late = [slot for slot in self.slots if slot < oldest]
        self._remove(late, reason)
        self.slots = self.slots[len(late) :]

    def keep_first(self, count: int, reason: str) -> None:
        self._remove(self.slots[count:], reason)
        self.slots = self.slots[:count]

    def _remove(self, slots: list[datetime], reason: str) -> None:
        if not slots:
            return
        first, count = slots[0], len(slots)
        if self.skipped and self.skipped[-1].reason == reason:
            before = self.skipped.pop()
            first, count = before.first, before.count + count
        self.skipped.append(SlotRange(first, slots[-1], count, reason))


def _oldest_allowed(policy: SlotPolicy, now: datetime) -> datetime:
    window = policy.misfire_window
    if window is None and policy.misfire == "skip":
        window = _SKIP_WINDOW
    return datetime.min.replace(tzinfo=UTC) if window is None else now - window


def _is_overlapping(policy: SlotPolicy, unfinished: Unfinished) -> bool:
    waits_for = OVERLAPS[policy.overlap].waits_for
    return waits_for is not None and (unfinished.any if waits_for == "unfinished" else unfinished.waiting)


def _why_ended(policy: SlotPolicy, next_slot: datetime | None, left: int | None) -> str | None:
    if left == 0:
        return "max_runs"
    if next_slot is None:
        return "no more slots"
    return "ends_at" if policy.ends_at is not None and next_slot > policy.ends_at else None


@dataclass(frozen=True, slots=True)
class _Due:
    """The newest due slots, oldest first, and the range of all older ones."""

    newest: tuple[datetime, ...] = ()
    older: SlotRange | None = None


@lru_cache(maxsize=1024)
def _due_slots(recurrence: Recurrence, watermark: datetime, until: datetime, most: int) -> _Due:
    # Cached, like _next: when many definitions are due at once, most of them share a few schedules.
    due = recurrence.latest(watermark, until)
    if due.first is None or due.last is None:
        return _Due()
    if due.count == 1:
        return _Due((due.last,))
    # Do not list all slots: a minutely schedule has 43 200 in a month. One more than `most` gives the end of `older`.
    wanted = min(due.count, most + 1)
    span = max(_SHORTEST_SPAN, (due.last - due.first) * wanted / due.count)
    while due.last - span > watermark and recurrence.latest(due.last - span, due.last).count < wanted:
        span = min(span * 2, due.last - watermark)
    newest = tuple(recurrence.slots(max(watermark, due.last - span), due.last))[-wanted:]
    if due.count <= most:
        return _Due(newest)
    return _Due(newest[1:], SlotRange(due.first, newest[0], due.count - most, "misfire"))


@lru_cache(maxsize=1024)
def _next(recurrence: Recurrence, after: datetime) -> datetime | None:
    return recurrence.next_after(after)
