"""The prefetch queue of a child: the run that it works on, and the queued runs behind it.

A run can be recalled while the child has not taken its token, so a queued run has certainly not begun. When something
goes wrong with the run at work, the queued runs go to other children, uncharged.
"""

from __future__ import annotations

from collections import deque

from jobrunner import clock
from jobrunner.children.python_child import ChildProcess
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase


class PrefetchQueue:
    """``first`` is the run at work, ``behind`` are the queued runs, in their order. In the hand these are PREFETCHED.

    ``seconds`` is how long the queued runs will take. A closed queue accepts no runs.
    """

    def __init__(self, hand: Hand, child: ChildProcess, first: RunInHand, *, is_closed: bool) -> None:
        self.hand = hand
        self.child = child
        self.first = first
        self.is_closed = is_closed
        self.behind: deque[RunInHand] = deque()
        self.seconds = 0.0

    def is_open(self) -> bool:
        """Whether another run may be added."""
        return not self.is_closed and self.first.attempt.stopping is None

    @property
    def length(self) -> int:
        """How many runs are queued."""
        return len(self.behind)

    def holds(self, run_id: int) -> bool:
        """Whether the run is at work or queued here."""
        return run_id == self.first.lease.run_id or any(held.lease.run_id == run_id for held in self.behind)

    def add(self, held: RunInHand) -> None:
        """Add a run that was sent to the child."""
        self.hand.move(held, Phase.PREFETCHED)
        self.behind.append(held)
        self.seconds += held.queued_seconds

    def advance(self) -> RunInHand:
        """Make the next queued run the one at work, because the first has ended."""
        self.first = self.behind.popleft()
        self.seconds -= self.first.queued_seconds
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
        never_begun = [held for held in self.behind if held.lease.run_id in recalled]
        self.behind = deque(held for held in self.behind if held.lease.run_id not in recalled)
        for held in never_begun:
            self.seconds -= held.queued_seconds
            self.hand.move(held, Phase.WAITING)
        return self.first.lease.run_id in recalled
