"""When the next tick is due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from jobrunner import clock


class Pace:
    """A tick at each full minute, or at each full multiple of another period, by this host's clock: as under cron.

    A tick that comes late is followed at the next full minute. Those that were missed meanwhile are not made up for.
    """

    def __init__(self, every: timedelta, now: Callable[[], datetime] = clock.utc_now) -> None:
        self._now = now
        self._every_seconds = every.total_seconds()
        self._next_at = 0.0
        self.go_on()

    def go_on(self) -> None:
        """The next tick is that of the next full minute."""
        now = self._now().timestamp()
        self._next_at = now - now % self._every_seconds + self._every_seconds

    def seconds_left(self) -> float:
        """How long it is until the next tick, and never more than the period, also after the clock was set back."""
        left = self._next_at - self._now().timestamp()
        if left > self._every_seconds:
            self.go_on()
            left = self._next_at - self._now().timestamp()
        return max(left, 0.0)
