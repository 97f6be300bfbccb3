"""Where the processor time of a short run goes: the parent, its children, and the server."""

from collections.abc import Iterator

from plan import Line, measure
from processes import cpu_seconds_of_all
from sizes import POSTGRESQL, SQLITE
from stage import Stage

PARENT = "a run's processor time: the tick itself, {db}"
CHILDREN = "a run's processor time: its child, {db}"
SERVER = "a run's processor time: the server, {db}"


@measure(Line(PARENT, "µs"), Line(CHILDREN, "µs"), Line(SERVER, "µs"), group="parts", on=(POSTGRESQL,))
def with_server(stage: Stage, database: str) -> Iterator[float]:
    """A drain of a whole spike (`spike`) by one tick, at default settings: processor time of each side for each run.

    The starts of the processes are in it; the vacuum that the server does of itself meanwhile, too.
    """
    postmaster = stage.postmaster()
    before = cpu_seconds_of_all(postmaster)
    yield from _of_host(stage, database)
    yield (cpu_seconds_of_all(postmaster) - before) / stage.sizes.spike * 1e6


@measure(Line(PARENT, "µs"), Line(CHILDREN, "µs"), group="parts", on=(SQLITE,))
def without_server(stage: Stage, database: str) -> Iterator[float]:
    """The same, where the database is a file: its part is in the tick's own."""
    yield from _of_host(stage, database)


def _of_host(stage: Stage, database: str) -> Iterator[float]:
    queue, runs = stage.queue(database), stage.sizes.spike
    queue.add_due("noop", runs)
    done = queue.tick("--batch", runs)
    queue.check_drained(runs)
    yield done.cpu_seconds / runs * 1e6
    yield (done.processor_seconds - done.cpu_seconds) / runs * 1e6
