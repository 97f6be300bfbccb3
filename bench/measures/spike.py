"""A minute in which many schedules are due, or many runs."""

from collections.abc import Iterator

from plan import DRAINS, Line, measure
from processes import Failed, Finished
from sizes import BOTH
from stage import Stage

from measures.baselines import PASS_MEMORY, RAW


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
    while queue.database.value("SELECT count(*) AS n FROM job_runs WHERE status = 'queued'"):
        done.append(queue.tick(watched=True))
    queue.check_drained(runs)
    yield runs / sum(each.seconds for each in done)
    yield len(done)
    yield max(each.peak_bytes for each in done) / 1e6
