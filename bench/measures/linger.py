"""A tick that stays: how soon it starts what is enqueued meanwhile, what its waiting costs, and how it ends."""

import contextlib
import random
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from secrets import token_hex

from plan import Line, measure, median
from processes import Failed, Running, cpu_seconds_of, with_children
from sizes import BOTH, POSTGRESQL
from stage import Queue, Stage, tick_has

import jobrunner
from measures.baselines import ONE_CORE

_LONGEST_SECONDS = 60
# Drawn, so that the enqueues do not meet the looks at a file always at the same moment.
_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.12, 0.36


@measure(
    Line("linger: commit to start, {db}", "ms"),
    Line("linger: processor time while waiting, {db}", "cores", ONE_CORE),
    group="linger",
    on=BOTH,
)
def latency(stage: Stage, database: str) -> Iterator[float]:
    """From before the COMMIT of an enqueue to the handler's first line, in a tick that lingers; median of so many.

    (So it has the commit's own time in it.) Then what the tick and its children use while nothing comes.
    """
    with _lingering(stage, database) as (queue, tick, marks):
        yield median([_one(queue, marks) for _ in range(stage.sizes.lingered)]) * 1000
        yield _cores(tick, stage.sizes.lingering_seconds)


@measure(Line("linger: cut connections to exit, PostgreSQL", "s"), group="linger")
def cut(stage: Stage) -> Iterator[float]:
    """From the cutting of all connections of a tick that lingers to its exit."""
    with _lingering(stage, POSTGRESQL) as (queue, tick, _):
        began = time.perf_counter()
        queue.database.query(
            "SELECT pg_terminate_backend(pid) AS n FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        tick.wait(ends_well=False)
        yield time.perf_counter() - began


@contextlib.contextmanager
def _lingering(stage: Stage, database: str) -> Iterator[tuple[Queue, Running, Path]]:
    """A tick that waits, its child warm."""
    tick_has("--linger")
    queue = stage.queue(database)
    marks = stage.folder / f"marks-{token_hex(4)}"
    tick = queue.start("--linger", handlers="stamp")
    try:
        _one(queue, marks)
        time.sleep(_SHORTEST_PAUSE_SECONDS)
        yield queue, tick, marks
    finally:
        # One whose connections were cut has ended.
        with contextlib.suppress(OSError):
            tick.stop()
            tick.wait(ends_well=False)


def _one(queue: Queue, marks: Path) -> float:
    """The seconds to the start of one run; then a pause, so that the tick waits again."""
    with closing(queue.open()) as connection:
        run = jobrunner.enqueue(connection, "stamp", {"path": str(marks)}).id
        committed = time.monotonic()
        connection.commit()
    seconds = _started(marks, str(run), committed + _LONGEST_SECONDS) - committed
    time.sleep(random.uniform(_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS))
    return seconds


def _started(marks: Path, run: str, deadline: float) -> float:
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            for line in marks.read_text().splitlines(keepends=True):
                name, _, at = line.partition(" ")
                if name == run and line.endswith("\n"):
                    return float(at)
        time.sleep(0.002)
    raise Failed(f"run {run} was not started within {_LONGEST_SECONDS} s")


def _cores(tick: Running, seconds: float) -> float:
    def used() -> float:
        return sum(cpu_seconds_of(pid) for pid in with_children(tick.pid))

    time.sleep(1)
    before, began = used(), time.perf_counter()
    time.sleep(seconds)
    return (used() - before) / (time.perf_counter() - began)
