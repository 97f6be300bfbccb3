"""How many rows one write takes: twice as many after a quick write, one after a write that was cut. Pure.

After a write is cut, the server may work on it for a while and keep its rows locked. So batches must not get too large.
"""

from __future__ import annotations

from datetime import timedelta

from jobrunner.errors import DatabaseHeld, DatabaseUnavailable

_QUICK_SHARE = 1 / 16
_CUT_SHARE = 1 / 8
"""Of the lease. A call is cut after a quarter of it; a connection that was refused or broke fails sooner than this."""


class BatchSize:
    """``size`` is how many rows to take next, between one and ``most``."""

    def __init__(self, most: int, lease: timedelta, *, first: int = 1) -> None:
        self.size = first
        self._most = most
        self._quick_seconds = lease.total_seconds() * _QUICK_SHARE
        self._cut_seconds = lease.total_seconds() * _CUT_SHARE

    def took(self, seconds: float) -> None:
        """Note how long a write of ``size`` rows took, or of all rows if there were fewer."""
        self.size = min(self._most, self.size * 2) if seconds <= self._quick_seconds else max(1, self.size // 2)

    def is_cut(self, error: Exception, seconds: float) -> bool:
        """Whether a write that failed after this time was too slow, and not waiting for another transaction's lock."""
        is_of_database = isinstance(error, DatabaseUnavailable) and not isinstance(error, DatabaseHeld)
        return is_of_database and seconds >= self._cut_seconds

    def was_cut(self) -> bool:
        """Note that a write was cut or failed: begin again with one row. False means that it was one row already.

        The size is not halved, because each such write takes a quarter of a lease, and the tick has other work.
        """
        was_one, self.size = self.size == 1, 1
        return not was_one
