"""Many runs that do nothing: one tick, and several side by side."""

import time
from collections.abc import Iterator

from plan import BACKLOG, DRAINS, Line, measure
from sizes import BOTH
from stage import Stage, tick_has

from measures.baselines import PASS_MEMORY, RAW, RAW_EACH

_FEW, _DEFAULTS = (drain.ours for drain in DRAINS[:2])
_MANY = "spike, one tick, {db}"


@measure(
    Line(_DEFAULTS, "runs/s", RAW),
    Line("drain, peak memory of the parent, {db}", "MB", PASS_MEMORY),
    group="drain",
    on=BOTH,
    concurrency="default (4)",
)
def defaults(stage: Stage, database: str) -> Iterator[float]:
    """One tick from start to exit, in child processes, at default settings, on so many due no-ops: runs a second.

    The peak memory is that of the tick itself, without its children.
    """
    queue, runs = stage.queue(database), stage.sizes.runs
    queue.add_due("noop", runs)
    done = queue.tick(*_whole(runs), watched=True)
    queue.check_drained(runs)
    yield runs / done.seconds
    yield done.peak_bytes / 1e6


@measure(Line(_FEW, "runs/s", RAW), group="drain", on=BOTH, concurrency="default (4)")
def few(stage: Stage, database: str) -> Iterator[float]:
    """The same on fewer runs (`few_runs`), of which the start of the processes is a larger part."""
    yield _drained(stage, database, stage.sizes.few_runs)


def _with_concurrency(concurrency: int) -> None:
    line = Line(f"drain, --concurrency {concurrency}, {{db}}", "runs/s", RAW)

    @measure(line, group="drain", on=BOTH, concurrency=concurrency)
    def drain(stage: Stage, database: str) -> Iterator[float]:
        """The same with as many children as its name says."""
        yield _drained(stage, database, stage.sizes.runs, "--concurrency", concurrency)


for _concurrency in (2, 8):
    _with_concurrency(_concurrency)


@measure(Line("drain, strict, {db}", "runs/s", RAW_EACH), group="drain", on=BOTH, concurrency="default (4)")
def strict(stage: Stage, database: str) -> Iterator[float]:
    """As many, where every outcome is committed before the same child starts its next run."""
    tick_has("--strict")
    yield _drained(stage, database, stage.sizes.runs, "--strict")


@measure(Line("drain, strict, --concurrency 8, {db}", "runs/s", RAW_EACH), group="drain", on=BOTH, concurrency=8)
def strict_eight(stage: Stage, database: str) -> Iterator[float]:
    """The same with eight children."""
    tick_has("--strict")
    yield _drained(stage, database, stage.sizes.runs, "--strict", "--concurrency", 8)


def _drained(stage: Stage, database: str, runs: int, *words: object) -> float:
    queue = stage.queue(database)
    queue.add_due("noop", runs)
    done = queue.tick(*words, *_whole(runs))
    queue.check_drained(runs)
    return runs / done.seconds


@measure(Line("2 ticks side by side, {db}", "runs/s", _DEFAULTS), group="side", on=BOTH, hosts=2)
def two(stage: Stage, database: str) -> Iterator[float]:
    """Two ticks of different hosts, started at once on one queue: from the first start to the last exit."""
    yield _side_by_side(stage, database, 2, stage.sizes.runs)


@measure(Line("4 ticks side by side, {db}", "runs/s", _DEFAULTS), group="side", on=BOTH, hosts=4)
def four(stage: Stage, database: str) -> Iterator[float]:
    """Four ticks of different hosts, started at once on one queue: from the first start to the last exit."""
    yield _side_by_side(stage, database, 4, stage.sizes.runs)


@measure(Line(_MANY, "runs/s", RAW), group=BACKLOG, on=BOTH)
def one_on_many(stage: Stage, database: str) -> Iterator[float]:
    """One tick on as many runs as a spike has (`spike`), all of them in its batch: from start to exit."""
    yield _drained(stage, database, stage.sizes.spike)


@measure(Line("spike, 2 ticks side by side, {db}", "runs/s", _MANY), group=BACKLOG, on=BOTH, hosts=2)
def two_on_many(stage: Stage, database: str) -> Iterator[float]:
    """The same with two ticks of different hosts, started at once: from the first start to the last exit."""
    yield _side_by_side(stage, database, 2, stage.sizes.spike)


def _side_by_side(stage: Stage, database: str, hosts: int, runs: int) -> float:
    queue = stage.queue(database)
    queue.add_due("noop", runs)
    began = time.perf_counter()
    ticks = [queue.start(*_whole(runs), host=f"bench-{number}") for number in range(hosts)]
    for tick in ticks:
        tick.wait()
    seconds = time.perf_counter() - began
    queue.check_drained(runs)
    return runs / seconds


def _whole(runs: int) -> list[object]:
    """Where there is more to do than a tick takes by default."""
    return ["--batch", runs] if runs > 10_000 else []
