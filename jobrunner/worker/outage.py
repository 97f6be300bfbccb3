"""An outage of the database, as one tick sees it."""

from __future__ import annotations

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable

_LONGEST_SECONDS = 5.0
"""A restart of the database takes this long at most, or the tick gives up: the next one comes in a minute."""


class Outage:
    """``error`` is the last one; None: the database has answered since."""

    def __init__(self) -> None:
        self.error: DatabaseUnavailable | None = None
        self._since = 0.0

    def note(self, error: DatabaseUnavailable) -> bool:
        """The database did not answer; whether that is new."""
        is_new = self.error is None
        if is_new:
            self._since = clock.elapsed()
        self.error = error
        return is_new

    def end(self) -> None:
        """The database has answered."""
        self.error = None

    def has_lasted(self) -> bool:
        """Whether it has lasted for longer than a restart takes."""
        return self.error is not None and clock.elapsed() - self._since >= _LONGEST_SECONDS
