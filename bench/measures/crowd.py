"""Many hosts whose ticks begin in the same second."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from plan import Line, measure, median
from processes import Failed, cpu_seconds_of_all
from sizes import POSTGRESQL
from stage import BENCH, Queue, Stage, connect

from harness.pgbouncer import Bouncer

_ALONE = 20
ALONE = "idle tick of a ready host, alone, {db}"
CROWD = "idle tick of a ready host, 95 of 100 of a crowd within, {db}"
NEEDED = "crowd of idle ticks: what the processors need, {db}"
SELECT_ONE = "server's processor time: connect, select 1, {db}"
SERVER_ALONE = "server's processor time: idle tick alone, {db}"
SERVER_CROWD = "server's processor time: idle tick of a crowd, {db}"
POOLED = "idle tick of a ready host, 95 of 100 of a crowd behind PgBouncer within, {db}"


@measure(
    Line(ALONE, "ms"),
    Line(CROWD, "ms", ALONE),
    Line(NEEDED, "ms"),
    Line(SELECT_ONE, "ms"),
    Line(SERVER_ALONE, "ms", SELECT_ONE),
    Line(SERVER_CROWD, "ms", SERVER_ALONE),
    Line(POOLED, "ms", CROWD),
    group="crowd",
    on=(POSTGRESQL,),
    max_connections=100,
)
def crowd(stage: Stage, database: str) -> Iterator[float]:
    """So many (`crowd`) ticks of as many hosts with nothing to do that begin in the same instant, and 20 one by one.

    Each is a process that has imported what it needs before it is given the sign, since hosts have processors of their
    own; here all still share these with each other and the server. From the sign to its end: the median of those that
    are alone, and within how long 95 of 100 of the crowd have ended. What the processors need is the processor time of
    the crowd and of the server for it, divided by how many there are. The server has PostgreSQL's default of 100
    connections: a tick that ends with another status than 0 is a failure. Then the processor time of the server for
    each of as many connections that psycopg opens one after the other for a `select 1`, for each tick that is alone,
    and for each of the crowd. At last as many hosts behind a PgBouncer with its defaults: 100 clients, 20 sessions.
    """
    queue, hosts = stage.queue(database), stage.sizes.crowd
    with _server(stage) as of_alone:
        alone = _together(queue, *[1] * _ALONE)
    with _server(stage) as of_crowd:
        (ended,) = _together(queue, hosts)
    with _server(stage) as of_select:
        for _ in range(hosts):
            with closing(connect(queue.database.url)) as connection:
                connection.execute("SELECT 1")
    bouncer = Bouncer(queue.database.url, stage.folder)
    with closing(bouncer):
        (pooled,) = _together(queue, hosts, url=bouncer.url)
    of_hosts = sum(used for _, used, _ in ended)
    yield median([seconds for ((seconds, _, _),) in alone]) * 1000
    yield _most_within(ended) * 1000
    yield (of_hosts + sum(of_crowd)) / len(os.sched_getaffinity(0)) * 1000
    yield sum(of_select) / hosts * 1000
    yield sum(of_alone) / _ALONE * 1000
    yield sum(of_crowd) / hosts * 1000
    yield _most_within(pooled) * 1000


def _most_within(ended: Sequence[tuple[float, float, int]]) -> float:
    return sorted(seconds for seconds, _, _ in ended)[-(-len(ended) * 95 // 100) - 1]


def _together(queue: Queue, *counts: int, url: str | None = None) -> list[list[tuple[float, float, int]]]:
    command = [sys.executable, str(BENCH / "started_together.py"), *map(str, counts)]
    environment = queue.environment() | ({} if url is None else {"JOBRUNNER_DATABASE_URL": url})
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{Path(command[1]).name}: exit {done.returncode}: {done.stderr[-600:].strip()}")
    found: list[list[tuple[float, float, int]]] = json.loads(done.stdout.splitlines()[-1])
    if failed := Counter(code for each in found for _, _, code in each if code):
        raise Failed(f"ticks have failed, by exit status {dict(failed)}: {Counter(done.stderr.splitlines())}")
    return found


@contextmanager
def _server(stage: Stage) -> Iterator[list[float]]:
    """The processor time of all processes of the server in the block, also of those that have ended."""
    postmaster, used = stage.postmaster(), list[float]()
    before = cpu_seconds_of_all(postmaster)
    yield used
    used.append(cpu_seconds_of_all(postmaster) - before)
