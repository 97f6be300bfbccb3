"""The prefetch queue of a child: the run that it works on, and the queued runs behind it.

A run can be recalled while the child has not taken its token, so a queued run has certainly not begun. When something
goes wrong with the run at work, the queued runs go to other children, uncharged.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobrunner import clock
from jobrunner.children.python_child import ChildProcess
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase


class PrefetchQueue:
    """``first`` is the run at work. The queued runs are in the hand, in phase PREFETCHED, with this queue.

    ``length`` is the number of queued runs, ``seconds`` is how long they will take. A closed queue accepts no runs.
    """

    def __init__(self, hand: Hand, child: ChildProcess, first: RunInHand, *, is_closed: bool) -> None:
        self.hand = hand
        self.child = child
        self.first = first
        self.is_closed = is_closed
        self.length = 0
        self.seconds = 0.0

    def is_open(self) -> bool:
        """Whether another run may be added."""
        return not self.is_closed and self.first.attempt.stopping is None

    def behind(self) -> Iterator[RunInHand]:
        """The queued runs in their order. Do not move any run while you iterate."""
        return (held for held in self.hand.each_in(Phase.PREFETCHED) if held.queue is self)

    def holds(self, run_id: int) -> bool:
        """Whether the run is at work or queued here."""
        return run_id == self.first.lease.run_id or any(held.lease.run_id == run_id for held in self.behind())

    def add(self, held: RunInHand) -> None:
        """Add a run that was sent to the child."""
        held.queue = self
        self.hand.move(held, Phase.PREFETCHED)
        self.length += 1
        self.seconds += held.queued_seconds

    def advance(self) -> RunInHand:
        """Make the next queued run the one at work, because the first has ended."""
        self.first = next(self.behind())
        self._remove(self.first)
        return self.first

    def seconds_left(self, expected: float) -> float:
        """In how many seconds the child runs out of work, if the first run takes ``expected`` seconds."""
        return max(0.0, self.first.attempt.began_at + expected - clock.elapsed()) + self.seconds

    def recall(self) -> bool:
        """Recall what the child has not begun, and close the queue. Returns whether the first run was recalled, too.

        The queued runs go back to phase WAITING, so that any child can take them.
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
