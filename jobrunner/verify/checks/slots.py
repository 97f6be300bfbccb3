"""What must hold of the slots of a schedule, and of runs that share a concurrency key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from jobrunner.store.verify.records import Definition, Slot
from jobrunner.text import iso_instant
from jobrunner.verify.promise import Facts, promise

_SHOW = "look at its slots: jobrunner schedule show {subject}"


class SlotsOf(NamedTuple):
    """Slots of a schedule: those that it has by its expression, their runs in this order, and which were skipped."""

    definition: Definition
    expected: Sequence[datetime]
    runs: Sequence[Slot]
    skipped: Sequence[tuple[datetime, datetime]]


class Work(NamedTuple):
    """When a run was at work."""

    run_id: int
    started_at: datetime
    finished_at: datetime


class Rivals(NamedTuple):
    """The attempts of a run, and those of others with the same concurrency key."""

    key: str
    own: Sequence[Work]
    others: Sequence[Work]


@promise("P3", "schedule", _SHOW)
def one_run_per_slot(slots: SlotsOf, facts: Facts) -> Iterator[str]:
    """Each slot of a schedule has at most one run, besides those that somebody has made again."""
    for one, other in pairwise(slots.runs):
        if one.scheduled_for == other.scheduled_for:
            at = iso_instant(one.scheduled_for)
            yield f"the slot {at} of the schedule {slots.definition.name} has the runs {one.id} and {other.id}"


@promise("P12", "schedule", _SHOW)
def slots_recorded(slots: SlotsOf, facts: Facts) -> Iterator[str]:
    """Each slot of a schedule has a run, or a row that says why it has none."""
    have = {each.scheduled_for for each in slots.runs}
    missing = [
        slot
        for slot in slots.expected
        if slot not in have and not any(first <= slot <= last for first, last in slots.skipped)
    ]
    if missing:
        count = f"{len(missing)} slots" if len(missing) > 1 else "the slot"
        first = iso_instant(missing[0])
        yield f"{count} of the schedule {slots.definition.name}, from {first} on, got no run, and no row says why"


@promise("", "run", "compare both runs: jobrunner show {subject}")
def one_at_a_time(rivals: Rivals, facts: Facts) -> Iterator[str]:
    """Of the runs with one concurrency key, such as those of a schedule, never two are at work."""
    for own in rivals.own:
        for other in rivals.others:
            begin = max(own.started_at, other.started_at)
            end = min(own.finished_at, other.finished_at)
            if begin + facts.slack < end and not facts.stepped(begin, end):
                yield f"the runs {other.run_id} and {own.run_id} were both at work at {iso_instant(begin)}"
