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
    """No process has it."""
    PREFETCHED = 1
    """It waits in the queue of a child that works on another run. The child has surely not begun it."""
    WORKING = 2
    """A process has it."""
    STOPPING = 3
    """Its process was told to stop."""
    ENDED = 4
    """Its process is done with it. What that means is to be written."""
    WRITING = 5
    """The write is under way."""
    RETURNING = 6
    """It was never begun and goes back, uncharged."""


MOVES: Mapping[Phase, frozenset[Phase]] = {
    # ENDED at once: it cannot be started.
    Phase.WAITING: frozenset({Phase.PREFETCHED, Phase.WORKING, Phase.ENDED, Phase.RETURNING}),
    # Back to WAITING when it is recalled from its child.
    Phase.PREFETCHED: frozenset({Phase.WORKING, Phase.WAITING}),
    # WAITING and RETURNING: its child has surely not begun it.
    Phase.WORKING: frozenset({Phase.STOPPING, Phase.ENDED, Phase.WAITING, Phase.RETURNING}),
    Phase.STOPPING: frozenset({Phase.ENDED, Phase.RETURNING}),
    Phase.ENDED: frozenset({Phase.WRITING}),
    # Back to ENDED: the write has failed, and is tried again.
    Phase.WRITING: frozenset({Phase.ENDED}),
    Phase.RETURNING: frozenset(),
}
LAST_PHASES = frozenset({Phase.ENDED, Phase.WRITING, Phase.RETURNING})
"""From these a run leaves the hand."""
BEGUN_PHASES = (Phase.WORKING, Phase.STOPPING, Phase.ENDED, Phase.WRITING)
"""In these its handler may have begun."""
AT_WORK_PHASES = (Phase.WORKING, Phase.STOPPING)


class IllegalMove(AssertionError):
    """A bug: somebody wanted to move a run to a phase that does not follow its own."""
