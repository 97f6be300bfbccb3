"""What a handler raises (or returns) to say how its run goes on."""

from __future__ import annotations

from datetime import timedelta

from jobrunner.durations import Duration, parse_duration


class Retry(Exception):
    """Try again: after ``after``, or by the type's backoff. The attempt is charged."""

    def __init__(self, reason: str = "the handler asked for another attempt", *, after: Duration | None = None):
        super().__init__(reason)
        self.after: timedelta | None = None if after is None else parse_duration(after)


class Discard(Exception):
    """Give up at once: the run is dead, with the reason as its error."""

    def __init__(self, reason: str):
        super().__init__(reason)


class Snooze(Exception):
    """Not yet: claimable again after ``wait``. The attempt is given back, so this may go on for ever."""

    def __init__(self, wait: Duration):
        self.wait: timedelta = parse_duration(wait)
        super().__init__(f"snoozed for {self.wait}")


class HandlerStopped(BaseException):
    """Raised inside a handler that did not return after it was asked to stop (timeout, cancel, shutdown).

    A BaseException, so that ``except Exception`` does not swallow it; ``finally`` blocks run.
    """
