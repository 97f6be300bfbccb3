"""Runs that take their time: what the runner itself adds to it."""

from collections.abc import Iterator
from datetime import datetime

from plan import DRAINS, Line, measure
from sizes import BOTH
from stage import Queue, Stage

from measures.baselines import IDEAL_SLOW, IDEAL_WAITING, ONE_CORE

SHORT = "coroutines that do nothing, {db}"


@measure(
    Line("slow runs, start to exit, {db}", "s", IDEAL_SLOW),
    Line("slow runs, first start to last end, {db}", "s", IDEAL_SLOW),
    Line("slow runs, processor time of the parent at work, {db}", "cores", ONE_CORE),
    Line("slow runs, processor time of the parent, {db}", "cores", ONE_CORE),
    group="slow",
    on=BOTH,
    concurrency=20,
)
def slow(stage: Stage, database: str) -> Iterator[float]:
    """One tick with 20 children on so many runs that sleep for a tenth of a second.

    From its start to its exit; from the first attempt's start to the last one's end, by the database's clock; the
    processor time of the tick itself, without its children, as a share of that time; and that of the whole process,
    its start and the starts of its children included.
    """
    queue, sizes = stage.queue(database), stage.sizes
    queue.add_due("slow", sizes.slow_runs, f'{{"seconds": {sizes.slow_seconds}}}')
    done = queue.tick("--concurrency", 20, handlers="slow", watched=True)
    queue.check_drained(sizes.slow_runs)
    first, last = _at_work(queue)
    yield done.seconds
    yield (last - first).total_seconds()
    yield done.cpu_share(first, last)
    yield done.cpu_seconds / done.seconds


def _at_work(queue: Queue) -> tuple[datetime, datetime]:
    (row,) = queue.database.query("SELECT min(started_at) AS first_at, max(finished_at) AS last_at FROM job_attempts")
    return row["first_at"], row["last_at"]


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


@measure(Line(SHORT, "runs/s", DRAINS[1].ours), group="async", on=BOTH, concurrency="default (10 of a type)")
def short(stage: Stage, database: str) -> Iterator[float]:
    """One tick from start to exit, at default settings, on as many coroutines that do nothing as a drain has runs."""
    queue, runs = stage.queue(database), stage.sizes.runs
    queue.add_due("coroutine", runs)
    done = queue.tick(handlers="coroutine")
    queue.check_drained(runs)
    yield runs / done.seconds
