"""How many runs a child may have in its prefetch queue, from the durations that this tick has measured. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

AHEAD_SECONDS = 0.15
"""A prefetch queue holds about this much work, so that no run is kept from another host for longer."""
MOST_IN_QUEUE = 256
_LEAST_FEED_SECONDS = 0.00003
"""What a child needs for a run that does nothing."""
_MOST_FEED_SECONDS = 0.0002
"""More processor time of this process is not for a run: it is for heartbeats, or for claims that find nothing."""
_MOST_COUNTED = 4000
INERTIA = 8
"""A measured duration changes an estimate by one part in so many."""


class Throughput:
    """The throughput estimate: how long runs of each type take. ``strict``: no run waits behind another in a child.

    ``recent_seconds`` is how long the last runs took, 0 as long as none has ended. ``learned`` is how many have ended.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._seconds: dict[str, float] = {}
        self.recent_seconds = 0.0
        self.learned = 0
        self._last_seconds = self._shorter_seconds = 0.0

    def learn(self, job_type: str, seconds: float) -> None:
        """Note how long a run of this type took. A longer duration counts at once, a shorter one only gradually."""
        self.learned += 1
        # The first run of a child takes longer than those after it. Before the second one nothing is known.
        self._shorter_seconds, self._last_seconds = min(self._last_seconds, seconds), seconds
        before = self._seconds.get(job_type, seconds)
        self._seconds[job_type] = max(seconds, before + (seconds - before) / INERTIA)
        self.recent_seconds += (seconds - self.recent_seconds) / INERTIA

    def expected_seconds(self, job_type: str) -> float:
        """How many seconds a run of this type will take; infinity if no duration is known yet."""
        return self._seconds.get(job_type, float("inf"))

    def is_short(self, job_type: str) -> bool:
        """Whether other runs may wait behind a run of this type."""
        return not self._strict and self.expected_seconds(job_type) <= AHEAD_SECONDS

    def short_types(self) -> set[str]:
        """All types whose runs are short. Most types of a host may have no estimate: none of their runs has ended."""
        return {job_type for job_type in self._seconds if self.is_short(job_type)}

    def most_during(self, seconds: float) -> int:
        """How many runs a child ends in this time, if each takes as long as the shorter one of the last two."""
        return 1 + min(_MOST_COUNTED, int(seconds / max(self._shorter_seconds, _LEAST_FEED_SECONDS)))

    def most_children(self, feed_seconds: float) -> int:
        """How many children this process can keep at work, if a run takes as long as the shorter one of the last two.

        ``feed_seconds`` is the processor time that this process needs for a run. One more than it can feed, because
        each has nothing to do while its next runs are claimed.
        """
        feed = min(max(feed_seconds, _LEAST_FEED_SECONDS), _MOST_FEED_SECONDS)
        return 1 + max(1, ceil(self._shorter_seconds / feed))

    def queue_length(self) -> int:
        """How many claimed runs there should be for a child: one at work, the others waiting."""
        return _length_of(self.recent_seconds) if self._seconds else 1

    def most(self, job_type: str) -> int:
        """How many claimed runs of this type there should be for a child."""
        return _length_of(self.expected_seconds(job_type))

    def most_of_each(self, job_types: Iterable[str], children: int) -> dict[str, int]:
        """How many claimed runs of each of these types there should be for so many children."""
        found = dict.fromkeys(job_types, children)
        for job_type in self._seconds.keys() & found.keys():
            found[job_type] *= self.most(job_type)
        return found


def _length_of(seconds: float) -> int:
    """The number of runs for a child if each takes this long."""
    return 1 + int(min(MOST_IN_QUEUE - 1, AHEAD_SECONDS / max(seconds, 1e-6)))
