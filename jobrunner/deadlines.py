"""Start deadlines: a run that was not started in time is given up, before anything is expanded or claimed."""

from __future__ import annotations

from collections import Counter
from functools import partial

from jobrunner.log import Log
from jobrunner.store import deadlines
from jobrunner.store.database import Database

_BATCH = 500


def end_overdue(database: Database, log: Log, counts: Counter[str]) -> None:
    """End every run whose start deadline has passed, whatever its type."""
    if not database.read(deadlines.is_any_overdue):
        return
    ended = None
    while ended is None or len(ended) == _BATCH:
        ended = database.write(partial(deadlines.end_overdue, limit=_BATCH))
        database.reach("deadline.committed")
        for each in ended:
            fields = {"run_id": each.run_id, "job_type": each.job_type, "attempt": each.attempts}
            log.warning("dead", **fields, result="dead", error_type="start_deadline", error=each.error)
        counts["dead"] += len(ended)
