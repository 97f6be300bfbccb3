"""What a handler raises (or returns) to decide how its run continues."""

from __future__ import annotations

from datetime import timedelta

from jobrunner.durations import Duration, parse_duration


class Retry(Exception):
    """Try again after ``after``, or after the job type's backoff. The attempt counts."""

    def __init__(self, reason: str = "the handler asked for another attempt", *, after: Duration | None = None):
        super().__init__(reason)
        self.after: timedelta | None = None if after is None else parse_duration(after)


class Discard(Exception):
    """Give up at once. The run becomes dead, with the reason as its error."""

    def __init__(self, reason: str):
        super().__init__(reason)


class Snooze(Exception):
    """Not yet: the run is claimable again after ``wait``. The attempt does not count, so there is no limit to this."""

    def __init__(self, wait: Duration):
        self.wait: timedelta = parse_duration(wait)
        super().__init__(f"snoozed for {self.wait}")


class HandlerStopped(BaseException):
    """Raised inside a handler that did not return after it was asked to stop (timeout, cancel, shutdown).

    It is a BaseException, so that ``except Exception`` does not catch it. ``finally`` blocks run.
    """
