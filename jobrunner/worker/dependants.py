"""Dependants: lets runs begin that waited for others, and cancels those whose parents have failed."""

from __future__ import annotations

from jobrunner import clock
from jobrunner.store.queue import dependants
from jobrunner.worker.context import TickContext

_TRIES, _PAUSE_SECONDS = 5, 0.02


def follow_if_any(context: TickContext) -> None:
    """Act on the ends of runs that others wait for, if there are any."""
    if context.database.read(dependants.is_any_ended):
        follow(context)


def follow(context: TickContext) -> None:
    """Act on the ends of runs that others wait for, but for dependants that stay locked: the next tick meets those."""
    for _ in range(_TRIES):
        while (followed := context.database.write(dependants.follow)) and (followed.released or followed.cancelled):
            context.counts["cancelled"] += followed.cancelled
            context.log.info("dependants", released=followed.released, cancelled=followed.cancelled)
        if not followed.may_be_more:
            return
        # Another tick that has just ended another parent has them.
        clock.sleep(_PAUSE_SECONDS)
