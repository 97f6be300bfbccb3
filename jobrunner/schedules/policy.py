"""Checks the options of a schedule: alone, together, and against its slots."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from jobrunner.durations import format_duration
from jobrunner.errors import UsageError
from jobrunner.model import OVERLAPS, SlotPolicy
from jobrunner.schedules.options import OPTIONS
from jobrunner.schedules.recurrence import Recurrence

_BETWEEN_TICKS = timedelta(minutes=1)


def make_slot_policy(**options: Any) -> SlotPolicy:
    """Check the options and make a policy of them. Raises UsageError naming the option and the remedy."""
    policy = SlotPolicy(**{name: OPTIONS[name].check(value) for name, value in options.items()})
    if policy.misfire == "all" and OVERLAPS[policy.overlap].replaces:
        raise UsageError(
            f"misfire 'all' and overlap {policy.overlap!r} contradict each other: each late run would replace the one"
            " before it; take overlap 'queue' to make up for all of them, or misfire 'latest'"
        )
    return policy


def check_fits(policy: SlotPolicy, recurrence: Recurrence) -> None:
    """Raise UsageError if the jitter is too long or the start deadline too short for the slots of this schedule."""
    jitter, deadline = policy.jitter, policy.start_deadline
    if jitter is not None and jitter > (shortest := recurrence.shortest_interval()):
        raise UsageError(
            f"jitter: {format_duration(jitter)} is longer than the shortest time between two slots,"
            f" {format_duration(shortest)}, so that a run would be due after the next slot; take at most that"
        )
    is_between_ticks = jitter is not None or not recurrence.is_on_minutes
    if deadline is not None and deadline <= _BETWEEN_TICKS and is_between_ticks:
        raise UsageError(
            f"start_deadline: {format_duration(deadline)} can be over before the next tick, since these runs are not"
            f" due on the minute; take more than {format_duration(_BETWEEN_TICKS)}"
        )
