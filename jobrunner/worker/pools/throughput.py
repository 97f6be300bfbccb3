"""How far ahead runs are handed to a child: as far as what was measured in this tick says that they are short. Pure."""

from __future__ import annotations

AHEAD_SECONDS = 0.15
"""What waits in front of a child is about so much work: nothing is kept from another host for longer."""
MOST_IN_QUEUE = 256
_INERTIA = 8


class Throughput:
    """What runs of each type take, as their children report it. ``strict``: nothing is ever handed out ahead."""

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._seconds: dict[str, float] = {}
        self._recent = 0.0

    def learn(self, job_type: str, seconds: float) -> None:
        """A run of this type took so long. A longer one counts at once, shorter ones only by and by."""
        before = self._seconds.get(job_type, seconds)
        self._seconds[job_type] = max(seconds, before + (seconds - before) / _INERTIA)
        self._recent += (seconds - self._recent) / _INERTIA

    def expected_seconds(self, job_type: str) -> float:
        """What a run of this type will take; infinity where nothing is known yet."""
        return self._seconds.get(job_type, float("inf"))

    def is_short(self, job_type: str) -> bool:
        """Whether others may wait behind a run of this type."""
        return not self._strict and self.expected_seconds(job_type) <= AHEAD_SECONDS

    def queue_length(self) -> int:
        """How many runs a child should be given: one at work, the others waiting."""
        if self._strict or not self._seconds:
            return 1
        return _length_of(self._recent)

    def most(self, job_type: str) -> int:
        """How many runs of this type a child should be given."""
        if not self.is_short(job_type):
            return 1
        return _length_of(self.expected_seconds(job_type))


def _length_of(seconds: float) -> int:
    """Of a line of runs that take so long each."""
    return 1 + int(min(MOST_IN_QUEUE - 1, AHEAD_SECONDS / max(seconds, 1e-6)))
