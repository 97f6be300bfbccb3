"""Two ticks at once as on two hosts: each with its own part of the processors, and the server with its own."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from plan import Line, measure
from processes import Running, cpu_seconds_of_all, with_children
from shares import Share, held
from sizes import POSTGRESQL
from stage import Queue, Stage, connect

from harness.commands import COMMAND
from measures.baselines import ALL_LOOKS

ONE = "a tick with its own part of a core, {db}"
TWO = "two ticks at once, each with its own part of a core, {db}"
CALM = "two ticks at once: looks at which no session waits for a lock, {db}"
SERVER_ONE = "server's processor time for a run, one tick, {db}"
SERVER_TWO = "server's processor time for a run, two ticks at once, {db}"
# A run costs the server about two thirds of what it costs its host, so two hosts leave something of what it may use.
_HOST_CORES, _SERVER_CORES = 0.3, 1.0
_LOOK_SECONDS = 0.01
# Whoever writes waits now and then while another session makes the file of a table longer: PostgreSQL's own matter.
_ENDS = "SELECT finished_at FROM job_attempts ORDER BY finished_at"
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event <> 'extend'"


@measure(
    Line(ONE, "runs/s"),
    Line(TWO, "runs/s", ONE),
    Line(CALM, "share", ALL_LOOKS),
    Line(SERVER_ONE, "ms"),
    Line(SERVER_TWO, "ms", SERVER_ONE),
    group="two-hosts",
    on=(POSTGRESQL,),
    cores_of_a_host=_HOST_CORES,
    cores_of_the_server=_SERVER_CORES,
)
def hosts(stage: Stage, database: str) -> Iterator[float]:
    """So many (`shared`) no-ops by one tick, and by two of different hosts that are started at once.

    Each tick with its children is held to 0.3 of a core, and the server to one core, by the kernel: so a second host
    brings processors of its own, and all fits on two cores. Timed from the end of the first tenth to that of the ninth,
    by the database's clock: without the starts of the processes, which a part of a core makes long. While two are at
    work, pg_stat_activity is looked at every 10 ms: the share of the looks at which no session waited for a lock. And
    the processor time of the server for each run.
    """
    queue, runs = stage.queue(database), stage.sizes.shared
    with ExitStack() as ending:
        server = ending.enter_context(held(_SERVER_CORES))
        server.add(with_children(stage.postmaster()))
        each = [ending.enter_context(held(_HOST_CORES)) for _ in range(2)]
        one, of_one, _ = _drained(stage, queue, each[:1])
        queue = stage.queue(database)
        two, of_two, calm = _drained(stage, queue, each)
        yield one
        yield two
        yield calm
        yield of_one / runs * 1000
        yield of_two / runs * 1000


def _drained(stage: Stage, queue: Queue, shares: list[Share]) -> tuple[float, float, float]:
    """The runs a second, the server's processor time, and the share of looks without a wait."""
    runs, postmaster = stage.sizes.shared, stage.postmaster()
    queue.add_due("noop", runs)
    before = cpu_seconds_of_all(postmaster)
    with _looked_at(queue) as waiting:
        ticks = [_started(queue, number, share, runs) for number, share in enumerate(shares)]
        for tick in ticks:
            tick.wait()
    queue.check_drained(runs)
    ends = [row["finished_at"] for row in queue.database.query(_ENDS)]
    first, last = runs // 10, runs * 9 // 10
    rate = (last - first) / (ends[last] - ends[first]).total_seconds()
    return rate, cpu_seconds_of_all(postmaster) - before, waiting.count(0) / len(waiting)


def _started(queue: Queue, number: int, share: Share, runs: int) -> Running:
    return queue.start("--batch", runs, host=f"bench-{number}", command=share.command(COMMAND))


@contextmanager
def _looked_at(queue: Queue) -> Iterator[list[int]]:
    """How many sessions waited for a lock at each look."""
    over, waiting = threading.Event(), list[int]()

    def look() -> None:
        with connect(queue.database.url) as connection:
            connection.autocommit = True
            while True:
                waiting.append(int(str(connection.execute(_WAITING).fetchone()[0])))  # type: ignore[index]
                if over.wait(_LOOK_SECONDS):
                    return

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield waiting
    finally:
        over.set()
        looking.join()
