"""What must hold of the limits over all hosts, and of the tallies."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from jobrunner.lifecycle import FINISHED, Status
from jobrunner.rates import Rate
from jobrunner.store.verify.records import Limit, SetLimit, Worked
from jobrunner.text import iso_instant
from jobrunner.verify.promise import Facts, promise

_ROUNDING = timedelta(milliseconds=50)


class WorkOfType(NamedTuple):
    """When the runs of a limited type were at work.

    ``since`` all hosts have the same limits for it, and nobody has set others: what began before is only counted.
    """

    limit: Limit
    worked: Sequence[Worked]
    since: datetime


class Totals(NamedTuple):
    """How many attempts of a type the tallies count, by outcome and status, and how many rows there are at least."""

    job_type: str
    counted: Mapping[tuple[str, str], int]
    found: Mapping[tuple[str, str], int]


@promise("", "type", "look at the runs of that time: jobrunner runs --type {subject}")
def limits_kept(work: WorkOfType, facts: Facts) -> Iterator[str]:
    """No more runs of a type, and of each key, are at work than its limits say, and no more begin than its rates."""
    limit, worked, since = work
    for key, of_key in _by_key(limit, worked):
        most, text, burst = limit.max_running_per_key, limit.rate_per_key, limit.burst_per_key
        whose = f"the type {limit.job_type}"
        if key is None:
            most, text, burst = limit.max_running, limit.rate, limit.burst
        else:
            # Not which: the values of a payload may be secret.
            whose += " with one key"
        if most is not None and (at := _too_many(of_key, most, since, facts)) is not None:
            yield f"more than {most} runs of {whose} were at work at {iso_instant(at)}"
        if text is None or burst is None:
            continue
        begun = [each for each in of_key if each.started_at >= since]
        if (at := _too_fast(begun, Rate(text, burst), facts)) is not None:
            yield f"runs of {whose} began faster than {text} at {iso_instant(at)}"


def _by_key(limit: Limit, worked: Sequence[Worked]) -> Iterator[tuple[str | None, Sequence[Worked]]]:
    """All of them, and those of each key."""
    yield None, worked
    names = (limit.concurrency_key or "").split(",")
    if limit.max_running_per_key is None and limit.rate_per_key is None:
        return
    keys = defaultdict[str, list[Worked]](list)
    for each in worked:
        # Only then it is certain that the attempt had the payload that the run has now.
        has_payload = each.status in (*FINISHED, Status.RUNNING) and each.is_last
        if has_payload and isinstance(each.payload, dict):
            keys[json.dumps([each.payload.get(name) for name in names])].append(each)
    yield from keys.items()


def _too_many(worked: Sequence[Worked], most: int, since: datetime, facts: Facts) -> datetime | None:
    """When one began that made them more than so many."""
    changes = []
    for each in worked:
        finished_at = facts.now if each.finished_at is None else each.finished_at - facts.slack
        if finished_at > each.started_at:
            changes += [(each.started_at, 1), (finished_at, -1)]
    count = 0
    # At one instant what ends comes first.
    for at, change in sorted(changes):
        count += change
        if count > most and change > 0 and at >= since:
            return at
    return None


def _too_fast(worked: Sequence[Worked], rate: Rate, facts: Facts) -> datetime | None:
    """When one began that the rate did not allow yet."""
    spent_until = None
    most = rate.longest + facts.slack + _ROUNDING
    for at in sorted(each.started_at for each in worked):
        spent_until = rate.spend(spent_until, at, 1)
        if spent_until - at > most:
            return at
    return None


@promise("P12", "type", "find out who did it: jobrunner history --since 7d")
def limits_recorded(found: Sequence[SetLimit], facts: Facts) -> Iterator[str]:
    """A limit that was set at run time has a row in the audit trail: by whom, and since when."""
    # Of one type: more than one row may be from its instant.
    limit = found[0]
    if limit.set_at >= facts.recorded_since and not any(map(_is_noted, found)):
        yield f"{limit.job_type} is limited since {iso_instant(limit.set_at)} by {limit.actor}, and no row says so"


def _is_noted(limit: SetLimit) -> bool:
    has_detail = limit.noted_at is not None and isinstance(limit.detail, dict)
    return has_detail and limit.detail.get("name") == limit.job_type


@promise("P12", "type", "compare: jobrunner stats --type {subject}")
def totals_complete(totals: Totals, facts: Facts) -> Iterator[str]:
    """The tallies count each attempt that was there when they were made, by its outcome."""
    for (outcome, status), found in sorted(totals.found.items()):
        counted = totals.counted.get((outcome, status), 0)
        if counted < found:
            yield (
                f"of the type {totals.job_type} {found} attempts {outcome} and left their runs {status}, and"
                f" {counted} are counted"
            )
