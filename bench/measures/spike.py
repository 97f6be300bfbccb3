"""A minute in which many schedules are due."""

from collections.abc import Iterator

from plan import BOTH, Line, measure
from processes import Failed
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
