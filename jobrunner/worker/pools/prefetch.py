"""The prefetch queue of a child: the run that it works on, and those that wait behind it.

Only what the kernel still has can be recalled. So a run is either at work, or surely not begun; and when something goes
wrong with the one at work, those behind it go elsewhere, uncharged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobrunner import clock
from jobrunner.children.python_child import ChildProcess
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase


@dataclass(slots=True, eq=False)
class PrefetchQueue:
    """``first`` is the run at work. Those behind it are in the hand, in phase PREFETCHED, with this queue.

    ``length`` is how many they are, ``seconds`` how long they will take. Closed: no other run may join.
    """

    hand: Hand
    child: ChildProcess
    first: RunInHand
    is_closed: bool
    length: int = 0
    seconds: float = 0.0

    def is_open(self) -> bool:
        """Whether other runs may wait here."""
        return not self.is_closed and self.first.attempt.stopping is None

    def behind(self) -> Iterator[RunInHand]:
        """The runs that wait here, in their order. Nothing may be moved meanwhile."""
        return (held for held in self.hand.prefetched() if held.queue is self)

    def holds(self, run_id: int) -> bool:
        """Whether the run is at work here, or waits."""
        return run_id == self.first.lease.run_id or any(held.lease.run_id == run_id for held in self.behind())

    def add(self, held: RunInHand) -> None:
        """The child was sent the run, behind the others."""
        held.queue = self
        self.hand.move(held, Phase.PREFETCHED)
        self.length += 1
        self.seconds += held.queued_seconds

    def advance(self) -> RunInHand:
        """The first has ended: the next one is at work."""
        self.first = next(self.behind())
        self._remove(self.first)
        return self.first

    def seconds_left(self, expected: float) -> float:
        """When the child will have nothing to do, if the first takes as long as ``expected``."""
        return max(0.0, self.first.attempt.began_at + expected - clock.elapsed()) + self.seconds

    def recall(self) -> bool:
        """Take from the child what it has not begun, and close the queue; whether not even the first was begun.

        Those behind it wait again, for any child.
        """
        recalled = set(self.child.recall())
        self.is_closed = True
        for held in list(self.behind()):
            if held.lease.run_id in recalled:
                self._remove(held)
                self.hand.move(held, Phase.WAITING)
        return self.first.lease.run_id in recalled

    def _remove(self, held: RunInHand) -> None:
        self.length -= 1
        self.seconds -= held.queued_seconds
        held.queue, held.queued_seconds = None, 0.0
