"""A child's line: the run that it works on, and those that wait for it.

Only what the kernel still has in its hands can be called back. So a run is either at work, or surely not begun; and
when something goes wrong with the one at work, those behind it go elsewhere, uncharged.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from jobrunner import clock
from jobrunner.children.python_child import ChildProcess
from jobrunner.model import ClaimedRun
from jobrunner.worker.attempt import Attempt


@dataclass(slots=True, eq=False)
class Given:
    """A run of ours. ``since`` is when it was claimed or called back, ``seconds`` what it adds to its line."""

    run: ClaimedRun
    begin_before: float
    since: float
    seconds: float = 0.0


@dataclass(slots=True)
class Line:
    """``first`` is at work, as ``attempt``; ``waiting`` are those behind it. Closed: nobody may join."""

    child: ChildProcess
    first: Given
    attempt: Attempt
    is_closed: bool
    waiting: deque[Given] = field(default_factory=deque)
    seconds: float = 0.0

    def is_open(self) -> bool:
        """Whether others may wait here."""
        return not self.is_closed and self.attempt.stopping is None

    def holds(self, run_id: int) -> bool:
        """Whether the run is at work here, or waits."""
        return any(run_id == given.run.lease.run_id for given in (self.first, *self.waiting))

    def add(self, given: Given) -> None:
        """It was lined up behind the others."""
        self.waiting.append(given)
        self.seconds += given.seconds

    def advance(self) -> Given:
        """The first has ended; the next one is at work."""
        self.first = self.waiting.popleft()
        self.seconds -= self.first.seconds
        return self.first

    def seconds_left(self, expected: float) -> float:
        """When the child will have nothing to do, if the first takes as long as ``expected``."""
        return max(0.0, self.attempt.began_at + expected - clock.elapsed()) + self.seconds

    def recall(self) -> tuple[list[Given], bool]:
        """Take from the child what it has not begun, and close the line.

        Those that waited and were called back; and whether not even the first was begun.
        """
        called_back = set(self.child.recall())
        self.is_closed = True
        behind = [given for given in self.waiting if given.run.lease.run_id in called_back]
        for given in behind:
            given.since, given.seconds = clock.elapsed(), 0.0
            self.waiting.remove(given)
        self.seconds = sum(given.seconds for given in self.waiting)
        return behind, self.first.run.lease.run_id in called_back
