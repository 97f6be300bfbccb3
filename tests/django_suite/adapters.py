"""What stands in Django's own tests in the place of the backends of which they speak: ours, which keeps and runs tasks.

DummyBackend only enqueues, and ImmediateBackend has each task run before ``enqueue`` returns. DJANGO_SUITE says how:
by ``drain``, in the test's own transaction, or by a real tick.
"""

import os

from jobrunner.contrib.django.backend import JobrunnerBackend
from jobrunner.testing import Jobs

BY_TICKS = os.environ.get("DJANGO_SUITE") == "tick"


class DummyBackend(JobrunnerBackend):
    @property
    def results(self):
        return [self.get_result(str(run.id)) for run in Jobs().all()]

    def clear(self):
        Jobs().clear()


class ImmediateBackend(JobrunnerBackend):
    @property
    def _policy_options(self):
        # The tests know of no second attempt.
        return {"max_attempts": 1}

    def enqueue(self, task, args, kwargs):
        result = super().enqueue(task, args, kwargs)
        if BY_TICKS:
            Jobs().tick()
        else:
            Jobs().drain(raising=False)
        result.refresh()
        return result
