"""Which limits held when, where operators have set some instead of those of the code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from jobrunner.store.verify.records import Event, Limit, SetLimit
from jobrunner.verify.promise import ONE_TICK


class InForce(NamedTuple):
    """The limits that hold now, and the types for which some of them are set."""

    limits: Mapping[str, Limit]
    set_types: frozenset[str]


def in_force(limits: Mapping[str, Limit], found: Iterable[SetLimit], now: datetime) -> InForce:
    """The limits of the code, with what is set instead and has not ended."""
    known, set_types = dict(limits), set()
    for each in found:
        if each.job_type not in limits or (each.ends_at is not None and each.ends_at <= now):
            continue
        limit = known[each.job_type]
        if each.max_running is not None:
            limit = limit._replace(max_running=each.max_running)
        if each.rate is not None:
            limit = limit._replace(rate=each.rate, burst=each.burst)
        known[each.job_type] = limit
        set_types.add(each.job_type)
    return InForce(known, frozenset(set_types))


def last_changes(changes: Iterable[Event], found: Iterable[SetLimit], now: datetime) -> Mapping[str, list[datetime]]:
    """The instants since which other limits may have held, of each type: when some were set, taken back, or ended.

    What began before the last of them was not bound by the limits that hold now.
    """
    instants = defaultdict[str, list[datetime]](list)
    for each in changes:
        name, detail = each.detail.get("name"), each.detail
        if not isinstance(name, str):
            continue
        # A claim that stalled had not ended when they were set.
        instants[name].append(each.at + ONE_TICK if detail.get("under_way") else each.at)
        if isinstance(detail.get("ends_at"), str) and (ends_at := datetime.fromisoformat(detail["ends_at"])) <= now:
            instants[name].append(ends_at)
    for of_type in found:
        instants[of_type.job_type] += [at for at in (of_type.set_at, of_type.ends_at) if at is not None and at <= now]
    return instants
