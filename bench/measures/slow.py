"""Runs that take their time: what the runner itself adds to it."""

from collections.abc import Iterator
from datetime import timedelta

from plan import BOTH, Line, measure
from stage import Queue, Stage

from measures.baselines import IDEAL_SLOW, IDEAL_WAITING, ONE_CORE


@measure(
    Line("slow runs, start to exit, {db}", "s", IDEAL_SLOW),
    Line("slow runs, first start to last end, {db}", "s", IDEAL_SLOW),
    Line("slow runs, processor time of the parent, {db}", "cores", ONE_CORE),
    group="slow",
    on=BOTH,
    concurrency=20,
)
def slow(stage: Stage, database: str) -> Iterator[float]:
    """One tick with 20 children on so many runs that sleep for a tenth of a second.

    From its start to its exit; from the first attempt's start to the last one's end, by the database's clock; and the
    processor time of the tick itself, without its children, as a share of the first.
    """
    queue, sizes = stage.queue(database), stage.sizes
    queue.add_due("slow", sizes.slow_runs, f'{{"seconds": {sizes.slow_seconds}}}')
    done = queue.tick("--concurrency", 20, handlers="slow")
    queue.check_drained(sizes.slow_runs)
    yield done.seconds
    yield _at_work(queue).total_seconds()
    yield done.cpu_seconds / done.seconds


def _at_work(queue: Queue) -> timedelta:
    (row,) = queue.database.query("SELECT min(started_at) AS first_at, max(finished_at) AS last_at FROM job_attempts")
    span: timedelta = row["last_at"] - row["first_at"]
    return span


@measure(Line("waiting runs, start to exit, {db}", "s", IDEAL_WAITING), group="async", on=BOTH, concurrency=500)
def waiting(stage: Stage, database: str) -> Iterator[float]:
    """One tick, start to exit, on so many runs of an `async def` that waits for a second, 500 at once in one child.

    The application has a plain handler, too, with nothing to do.
    """
    queue, sizes = stage.queue(database), stage.sizes
    queue.add_due("waiting", sizes.waiting_runs, f'{{"seconds": {sizes.waiting_seconds}}}')
    done = queue.tick(handlers="waiting")
    queue.check_drained(sizes.waiting_runs)
    yield done.seconds
