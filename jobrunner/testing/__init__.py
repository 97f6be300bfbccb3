"""Tests of an application: what it has enqueued, and its handlers run in the test's own transaction.

With pytest the fixture ``jobs`` is a ``Jobs``. There is no in-memory twin: the statements are those of a tick, on the
application's own database.
"""

from jobrunner.store.callers.testing_kit import Run
from jobrunner.testing.attempts import Drained, Ended, context
from jobrunner.testing.enqueued_runs import Made
from jobrunner.testing.jobs import Jobs

__all__ = ["Drained", "Ended", "Jobs", "Made", "Run", "context"]
