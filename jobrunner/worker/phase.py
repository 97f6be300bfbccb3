"""The phases of a run in hand, from the claim until its last write, as data. Pure.

``MOVES`` is for the parent what ``lifecycle.TRANSITIONS`` is for the row. The common way is WAITING, WORKING, ENDED,
WRITING; a short run is PREFETCHED before it is WORKING.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class Phase(IntEnum):
    """Where a run in hand is."""

    WAITING = 0
    """It is claimed, and no process has it."""
    PREFETCHED = 1
    """It waits in the prefetch queue of a child that works on another run. The child has certainly not begun it."""
    WORKING = 2
    """A process works on it."""
    STOPPING = 3
    """Its process is being stopped."""
    ENDED = 4
    """Its process has ended it. The result must be written."""
    WRITING = 5
    """The result is being written."""
    RETURNING = 6
    """It has not begun and is being returned, uncharged."""


MOVES: Mapping[Phase, frozenset[Phase]] = {
    # ENDED directly means that it cannot be started.
    Phase.WAITING: frozenset({Phase.PREFETCHED, Phase.WORKING, Phase.ENDED, Phase.RETURNING}),
    # Back to WAITING when it is recalled from its child.
    Phase.PREFETCHED: frozenset({Phase.WORKING, Phase.WAITING}),
    # WAITING and RETURNING follow if its child has certainly not begun it.
    Phase.WORKING: frozenset({Phase.STOPPING, Phase.ENDED, Phase.WAITING, Phase.RETURNING}),
    Phase.STOPPING: frozenset({Phase.ENDED, Phase.RETURNING}),
    Phase.ENDED: frozenset({Phase.WRITING}),
    # Back to ENDED when the write has failed and will be tried again.
    Phase.WRITING: frozenset({Phase.ENDED}),
    Phase.RETURNING: frozenset(),
}
LAST_PHASES = frozenset({Phase.ENDED, Phase.WRITING, Phase.RETURNING})
"""From these a run leaves the hand."""
BEGUN_PHASES = (Phase.WORKING, Phase.STOPPING, Phase.ENDED, Phase.WRITING)
"""In these its handler may have begun."""
AT_WORK_PHASES = (Phase.WORKING, Phase.STOPPING)


class IllegalMove(AssertionError):
    """A bug in the caller: it moves a run to a phase that may not follow the run's current one."""
