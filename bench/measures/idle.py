"""A tick with nothing to do, and one with a single run."""

from collections.abc import Iterator

from plan import Line, measure
from sizes import BOTH, POSTGRESQL, SQLITE
from stage import Stage

from measures.baselines import CONNECT, PASS, PASS_PROCESSOR_TIME

FIRST = "first run, {db}"
PROCESSOR_TIME = "idle tick, processor time, {db}"


@measure(
    Line("idle tick, PostgreSQL", "s", CONNECT),
    Line(PROCESSOR_TIME.format(db=POSTGRESQL), "ms", PASS_PROCESSOR_TIME),
    group="idle",
    times=5,
)
def idle_postgresql(stage: Stage) -> Iterator[float]:
    """The whole process `jobrunner tick` on an empty, migrated queue; handlers are configured.

    And the processor time of that process, without that of the server.
    """
    yield from _idle(stage, POSTGRESQL)


@measure(
    Line("idle tick, SQLite", "s", PASS),
    Line(PROCESSOR_TIME.format(db=SQLITE), "ms", PASS_PROCESSOR_TIME),
    group="idle",
    times=5,
)
def idle_sqlite(stage: Stage) -> Iterator[float]:
    """The whole process `jobrunner tick` on an empty, migrated queue; handlers are configured.

    And the processor time of that process.
    """
    yield from _idle(stage, SQLITE)


def _idle(stage: Stage, database: str) -> Iterator[float]:
    done = stage.queue(database).tick()
    yield done.seconds
    yield done.processor_seconds * 1000


@measure(
    Line(FIRST, "s", "idle tick, {db}"),
    Line("first run, start to its end, {db}", "s", "idle tick, {db}"),
    group="first",
    on=BOTH,
    times=2,
)
def first(stage: Stage, database: str) -> Iterator[float]:
    """The whole process `jobrunner tick` on a queue with one due no-op: from its start to its exit.

    And from its start to the end of the attempt, by the database's clock.
    """
    queue = stage.queue(database)
    queue.add_due("noop", 1)
    done = queue.tick()
    queue.check_drained(1)
    yield done.seconds
    (row,) = queue.database.query("SELECT finished_at FROM job_attempts")
    yield (row["finished_at"] - done.began_at).total_seconds()
