"""A tick with nothing to do, and one with a single run."""

from collections.abc import Iterator

from plan import Line, measure
from sizes import BOTH
from stage import Stage

from measures.baselines import CONNECT, PASS


@measure(Line("idle tick, PostgreSQL", "s", CONNECT), group="idle", times=5)
def idle_postgresql(stage: Stage) -> Iterator[float]:
    """The whole process `jobrunner tick` on an empty, migrated queue; handlers are configured."""
    yield stage.queue("PostgreSQL").tick().seconds


@measure(Line("idle tick, SQLite", "s", PASS), group="idle", times=5)
def idle_sqlite(stage: Stage) -> Iterator[float]:
    """The whole process `jobrunner tick` on an empty, migrated queue; handlers are configured."""
    yield stage.queue("SQLite").tick().seconds


@measure(
    Line("first run, {db}", "s", "idle tick, {db}"),
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
