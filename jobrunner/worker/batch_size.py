"""How many rows one write takes on: twice as many while that is quick, one where a write had to be cut. Pure.

What is cut is not over on the server for a while, and holds its rows: better never to come so far.
"""

from __future__ import annotations

from datetime import timedelta

from jobrunner.errors import DatabaseHeld, DatabaseUnavailable

_QUICK_SHARE = 1 / 16
_CUT_SHARE = 1 / 8
"""Of the lease: a call is cut after a quarter of it. A connection that was refused or broke is told from that."""


class BatchSize:
    """``size`` is how many to take next, between one and ``most``."""

    def __init__(self, most: int, lease: timedelta, *, first: int = 1) -> None:
        self.size = first
        self._most = most
        self._quick_seconds = lease.total_seconds() * _QUICK_SHARE
        self._cut_seconds = lease.total_seconds() * _CUT_SHARE

    def took(self, seconds: float) -> None:
        """A write of so many, or the most of what there was, took so long."""
        self.size = min(self._most, self.size * 2) if seconds <= self._quick_seconds else max(1, self.size // 2)

    def is_cut(self, error: Exception, seconds: float) -> bool:
        """Whether a write that has failed after so long was too slow, and did not wait for somebody else's lock."""
        is_of_database = isinstance(error, DatabaseUnavailable) and not isinstance(error, DatabaseHeld)
        return is_of_database and seconds >= self._cut_seconds

    def was_cut(self) -> bool:
        """A write of so many could not be let end, or failed: begin again with one. False: it was one already.

        Not with half of them: each such write has stood still for a quarter of a lease, and the tick has other work.
        """
        was_one, self.size = self.size == 1, 1
        return not was_one
