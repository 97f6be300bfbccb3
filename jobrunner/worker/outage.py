"""Notes how long the database has not answered what this tick asks for its main loop."""

from __future__ import annotations

from enum import Enum, auto

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable

_LONGEST_SECONDS = 5.0
"""After a longer outage than a restart takes, the tick gives up, because the next one starts within a minute."""


class Call(Enum):
    """What the loop asks the database. ``ONCE`` is what it does not ask again; the next tick does."""

    CLAIM = auto()
    RETURN = auto()
    LOOK = auto()
    ONCE = auto()


_SHOWN_BY = {
    # No run is claimed before everything is returned.
    Call.CLAIM: (Call.CLAIM, Call.RETURN, Call.ONCE),
    Call.RETURN: (Call.RETURN, Call.ONCE),
    Call.LOOK: (Call.LOOK, Call.ONCE),
    Call.ONCE: (Call.ONCE,),
}
"""What an answer to each of them shows to work again."""


class Outage:
    """Lasts until what has failed works again: a question may be answered while each claim waits for a lock."""

    def __init__(self) -> None:
        self._errors: dict[Call, DatabaseUnavailable] = {}
        self._since = 0.0

    @property
    def error(self) -> DatabaseUnavailable | None:
        """The last error. None means that everything that had failed was answered since."""
        return next(reversed(self._errors.values()), None)

    def note(self, call: Call, error: DatabaseUnavailable) -> bool:
        """Note that the database did not answer; whether this is a new outage."""
        is_new = not self._errors
        if is_new:
            self._since = clock.elapsed()
        self._errors.pop(call, None)
        self._errors[call] = error
        return is_new

    def end(self, call: Call) -> None:
        """Note that the database has answered this call."""
        for each in _SHOWN_BY[call]:
            self._errors.pop(each, None)

    def has_lasted(self) -> bool:
        """Whether the outage lasts longer than a restart takes."""
        return bool(self._errors) and clock.elapsed() - self._since >= _LONGEST_SECONDS
