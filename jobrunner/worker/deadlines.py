"""Start deadlines: ends the runs that did not start in time, before the tick expands or claims anything."""

from __future__ import annotations

from functools import partial

from jobrunner import clock
from jobrunner.store.queue import deadlines
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.context import TickContext

_LARGEST_BATCH = 500


def end_overdue(context: TickContext) -> None:
    """End every run whose start deadline has passed, whatever its type."""
    if not context.database.read(deadlines.is_any_overdue):
        return
    batch_size = BatchSize(_LARGEST_BATCH, context.config.lease)
    while True:
        began_at, limit = clock.elapsed(), batch_size.size
        ended = context.database.write(partial(deadlines.end_overdue, limit=limit))
        context.database.hit("deadline.committed")
        batch_size.took(clock.elapsed() - began_at)
        for each in ended:
            fields = {"run_id": each.run_id, "job_type": each.job_type, "attempt": each.attempts}
            context.log.warning("dead", **fields, result="dead", error_type="start_deadline", error=each.error)
        context.counts["dead"] += len(ended)
        if len(ended) < limit:
            return
