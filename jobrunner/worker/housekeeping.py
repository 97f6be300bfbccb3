"""Housekeeping, which a tick does before it claims: recover, end overdue runs, expand schedules, prune."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jobrunner.errors import DatabaseHeld
from jobrunner.worker import deadlines, expansion, pruning, recovery
from jobrunner.worker.context import TickContext

_STEPS: Mapping[str, Callable[[TickContext], None]] = {
    "recover": recovery.recover,
    # Before the expansion, so that an overdue run does not block a new slot.
    "deadlines": deadlines.end_overdue,
    "expand": expansion.expand,
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
    expansion.expand(context)
