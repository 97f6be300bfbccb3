"""A minute in which many schedules are due, or many runs; and a backlog of more runs than a minute is enough for."""

from collections.abc import Iterator

from plan import BACKLOG, DRAINS, Line, measure
from processes import Failed, Finished
from sizes import BOTH
from stage import Stage

from measures.baselines import PASS_MEMORY, RAW

_FIRST = "backlog, first tick, {db}"


@measure(
    Line("expansion, {db}", "slots/s", RAW),
    Line("expansion, peak memory, {db}", "MB", PASS_MEMORY),
    group="spike",
    on=BOTH,
)
def expansion(stage: Stage, database: str) -> Iterator[float]:
    """One tick without handlers, start to exit, on so many schedules with one slot each."""
    queue, slots = stage.queue(database), stage.sizes.slots
    queue.add_schedules(slots)
    done = queue.tick(handlers="", watched=True)
    expanded = queue.database.value("SELECT count(*) AS n FROM job_runs")
    # A minute that ends meanwhile adds slots.
    if expanded < slots:
        raise Failed(f"{expanded} of {slots} slots were expanded")
    yield slots / done.seconds
    yield done.peak_bytes / 1e6


@measure(
    Line(DRAINS[-1].ours, "runs/s", RAW),
    Line("spike, ticks, {db}", "ticks"),
    Line("spike, peak memory of a parent, {db}", "MB", PASS_MEMORY),
    group="spike",
    on=BOTH,
)
def spike(stage: Stage, database: str) -> Iterator[float]:
    """So many (`spike`) no-ops, drained by ticks at default settings, one directly after the other.

    The runs by the seconds of all of them together, how many ticks it took, and the peak memory of the largest.
    """
    queue, runs = stage.queue(database), stage.sizes.spike
    queue.add_due("noop", runs)
    done: list[Finished] = []
    while queue.left():
        done.append(queue.tick(watched=True))
    queue.check_drained(runs)
    yield runs / sum(each.seconds for each in done)
    yield len(done)
    yield max(each.peak_bytes for each in done) / 1e6


@measure(
    Line(_FIRST, "runs/s", RAW),
    Line("backlog, last full tick, {db}", "runs/s", _FIRST),
    Line("backlog, full ticks, {db}", "ticks"),
    Line("backlog, peak memory of a parent, {db}", "MB", PASS_MEMORY),
    group=BACKLOG,
    on=BOTH,
)
def backlog(stage: Stage, database: str) -> Iterator[float]:
    """So many (`backlog`) no-ops, drained by ticks with a budget (`backlog_seconds`), one directly after the other.

    Each takes a quarter of them at most, so that there are four to compare. The rates of the first tick and of the last
    but one, from start to exit: the last has what is left. How many there were but the last; the largest's peak memory.
    """
    sizes = stage.sizes
    queue, left = stage.queue(database, "backlog"), sizes.backlog
    queue.add_due("noop", left)
    rates, peak = [], 0
    while left:
        done = queue.tick("--budget", f"{sizes.backlog_seconds}s", "--batch", -(-sizes.backlog // 4), watched=True)
        before, left = left, queue.left()
        if left == before:
            raise Failed("a tick used up its budget and claimed nothing")
        rates.append((before - left) / done.seconds)
        peak = max(peak, done.peak_bytes)
    queue.check_drained(sizes.backlog)
    yield rates[0]
    yield rates[-2]
    yield len(rates) - 1
    yield peak / 1e6
