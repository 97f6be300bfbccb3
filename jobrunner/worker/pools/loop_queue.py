"""The prefetch queue of an event loop: runs of one type, each of which begins there when another one of the type ends.

While it holds a run, as many of its type are at work as have a place. So each report means that the next one is at
work. A run can be recalled while the child has not taken its token.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from jobrunner import clock
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase


class LoopQueue:
    """In the hand these runs are PREFETCHED. ``moved_at`` is when one was added or has begun (``clock.elapsed``)."""

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._runs: deque[RunInHand] = deque()
        self.job_type = ""
        self.moved_at = 0.0

    def __len__(self) -> int:
        return len(self._runs)

    def holds(self, run_id: int) -> bool:
        """Whether the run is queued here."""
        return any(held.lease.run_id == run_id for held in self._runs)

    def add(self, job_type: str, runs: Sequence[RunInHand]) -> None:
        """Add runs of this type, the only one that is queued, which were sent to the child."""
        self.job_type, self.moved_at = job_type, clock.elapsed()
        for held in runs:
            self._hand.move(held, Phase.PREFETCHED)
        self._runs.extend(runs)

    def advance(self, job_type: str) -> RunInHand | None:
        """The next run, which is at work from now on, because one of this type has ended."""
        if not self._runs or job_type != self.job_type:
            return None
        self.moved_at = clock.elapsed()
        return self._runs.popleft()

    def remove(self, run_ids: set[int]) -> None:
        """Remove those that were recalled. They go back to phase WAITING, so that any tick can have them."""
        for held in self._runs:
            if held.lease.run_id in run_ids:
                self._hand.move(held, Phase.WAITING)
        self._runs = deque(held for held in self._runs if held.lease.run_id not in run_ids)

    def clear(self) -> list[RunInHand]:
        """Remove and return all that are left."""
        left, self._runs = list(self._runs), deque()
        return left
