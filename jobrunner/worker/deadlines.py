"""Start deadlines: a run that was not started in time is given up, before anything is expanded or claimed."""

from __future__ import annotations

from collections import Counter
from functools import partial

from jobrunner import clock
from jobrunner.log import Log
from jobrunner.settings.config import Config
from jobrunner.store import deadlines
from jobrunner.store.database import Database
from jobrunner.worker.batch_size import BatchSize

_LARGEST_PORTION = 500


def end_overdue(config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
    """End every run whose start deadline has passed, whatever its type."""
    if not database.read(deadlines.is_any_overdue):
        return
    portion = BatchSize(_LARGEST_PORTION, config.lease)
    while True:
        began_at, limit = clock.elapsed(), portion.size
        ended = database.write(partial(deadlines.end_overdue, limit=limit))
        database.hit("deadline.committed")
        portion.took(clock.elapsed() - began_at)
        for each in ended:
            fields = {"run_id": each.run_id, "job_type": each.job_type, "attempt": each.attempts}
            log.warning("dead", **fields, result="dead", error_type="start_deadline", error=each.error)
        counts["dead"] += len(ended)
        if len(ended) < limit:
            return
