"""Notes how long the database has not answered this tick."""

from __future__ import annotations

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable

_LONGEST_SECONDS = 5.0
"""After a longer outage than a restart takes, the tick gives up, because the next one starts within a minute."""


class Outage:
    """``error`` is the last error. None means that the database has answered since."""

    def __init__(self) -> None:
        self.error: DatabaseUnavailable | None = None
        self._since = 0.0

    def note(self, error: DatabaseUnavailable) -> bool:
        """Note that the database did not answer; whether this is a new outage."""
        is_new = self.error is None
        if is_new:
            self._since = clock.elapsed()
        self.error = error
        return is_new

    def end(self) -> None:
        """Note that the database has answered."""
        self.error = None

    def has_lasted(self) -> bool:
        """Whether the outage lasts longer than a restart takes."""
        return self.error is not None and clock.elapsed() - self._since >= _LONGEST_SECONDS
