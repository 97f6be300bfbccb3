"""Housekeeping, which a tick does before it claims: recover, end overdue runs, expand schedules, prune."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from jobrunner.errors import DatabaseHeld
from jobrunner.store.queue.ticks import ticks
from jobrunner.worker import deadlines, dependants, promotion, pruning, recovery, strays
from jobrunner.worker.backpressure import declare_limits
from jobrunner.worker.context import TickContext


def expand(context: TickContext) -> None:
    """Expand every definition that is due."""
    # The limits of commands are known here; those of handlers come with the first handshake. An idle tick does not
    # write them, because every caller that enqueues declares the limits that it knows, too.
    if context.config.commands:
        is_due: bool = context.database.read(partial(ticks.is_anything_due, host=context.owner.host))
        if is_due:
            declare_limits(context, [command.policy for command in context.config.commands.values()])
    if context.database.read(partial(ticks.is_any_expandable, host=context.owner.host)):
        # Most ticks have no slot to expand, and need no calendar.
        from jobrunner.worker import expansion

        expansion.expand(context)


_STEPS: Mapping[str, Callable[[TickContext], None]] = {
    # Before an attempt is begun that would call an effect again.
    "promotion": promotion.follow,
    "recover": recovery.recover,
    # Before the expansion, so that an overdue run does not block a new slot.
    "deadlines": deadlines.end_overdue,
    "dependants": dependants.follow_if_any,
    # After these, which may let some of them go; and before the claims, which would not see them.
    "strays": strays.free,
    "expand": expand,
    # Before the runs, because a busy tick works on runs until its end, and the tables of a busy queue grow fastest.
    "prune": pruning.prune,
}


def do_housekeeping(context: TickContext) -> DatabaseHeld | None:
    """Do every step. Returns the error of a step that was ended by a locked row; the other steps are done all the same.

    Raises DatabaseHeld if that happens to two steps.
    """
    held = None
    for name, take in _STEPS.items():
        try:
            take(context)
        except DatabaseHeld as error:
            if held is not None:
                # Probably a whole table is locked. The other steps would wait for it, too.
                raise
            held = error
            context.log.warning("held up", step=name, error=str(error))
    return held


def prepare(context: TickContext) -> None:
    """The steps that a listening tick repeats while no handler is at work."""
    recovery.recover(context)
    deadlines.end_overdue(context)
    dependants.follow_if_any(context)
    expand(context)
