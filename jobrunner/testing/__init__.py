"""Tests of an application: what it has enqueued, and its handlers run in the test's own transaction.

With pytest the fixture ``jobs`` is a ``Jobs``. There is no in-memory twin: the statements are those of a tick, on the
application's own database.
"""

from jobrunner.store.callers.kit import Run
from jobrunner.testing.attempts import Drained, Ended, context
from jobrunner.testing.jobs import Jobs
from jobrunner.testing.made import Made

__all__ = ["Drained", "Ended", "Jobs", "Made", "Run", "context"]
