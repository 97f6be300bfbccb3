"""What a tick does before it claims: recover, give up what is overdue, expand schedules, prune."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jobrunner.errors import DatabaseHeld
from jobrunner.worker import deadlines, expansion, pruning, recovery
from jobrunner.worker.context import TickContext

_STEPS: Mapping[str, Callable[[TickContext], None]] = {
    "recover": recovery.recover,
    # Before the expansion: what is given up is in no slot's way.
    "deadlines": deadlines.end_overdue,
    "expand": expansion.expand,
    # Before the runs, which a busy tick never leaves early: a busy queue's tables grow the fastest.
    "prune": pruning.prune,
}


def do_housekeeping(context: TickContext) -> DatabaseHeld | None:
    """Take every step. One row that somebody holds keeps its own step from its end, and no other: it is returned."""
    held = None
    for name, take in _STEPS.items():
        try:
            take(context)
        except DatabaseHeld as error:
            if held is not None:
                # A whole table, it seems: no reason to wait for it again and again.
                raise
            held = error
            context.log.warning("held up", step=name, error=str(error))
    return held


def prepare(context: TickContext) -> None:
    """What a listening tick does again while no handler is at work."""
    recovery.recover(context)
    deadlines.end_overdue(context)
    expansion.expand(context)
