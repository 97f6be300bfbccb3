"""Growth: what a claim and `status` cost beside a long history, and a claim behind runs this host does not know."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import count
from secrets import token_hex

from plan import Line, measure
from processes import Failed
from psycopg import IsolationLevel
from sizes import BOTH, POSTGRESQL
from stage import Queue, Stage, connect

from jobrunner.model import Limits, Owner, Policy
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue.claims import ClaimRequest, claim

EMPTY = "claim 100, empty history, {db}"
_LIMITED = "claim 100 with a limited type, {db}"
_STATUS = "status, empty history, {db}"
_LEASE = timedelta(minutes=1)
_RUNS = 100
CLAIMS = 5
# Each claim leaves as many of its own runs as it takes of the customer.
_LEFT = 4 * _RUNS * CLAIMS
_hosts = count()
_ONE = (Policy("noop"),)
_FAIR = (Policy("noop", limits=Limits(fair_by="customer")),)
_TWO = (*_ONE, Policy("keyed", limits=Limits(concurrency_key=("customer",), max_running_per_key=1)))


@measure(Line(EMPTY, "ms"), group="growth", on=BOTH, times=3, claimed=_RUNS)
def empty(stage: Stage, database: str) -> Iterator[float]:
    """One claim of 100 due no-ops with its commit, on a connection that has claimed before; median of five.

    The rows are there before the clock starts, and are finished after it has stopped.
    """
    yield _claims(_prepared(stage, database, "growth_empty", lambda _: None))


@measure(Line("claim 100 beside finished runs, {db}", "ms", EMPTY), group="growth", on=BOTH, times=3, claimed=_RUNS)
def beside_finished(stage: Stage, database: str) -> Iterator[float]:
    """The same beside so many (`finished`) runs that have succeeded."""
    yield _claims(_finished(stage, database))


@measure(Line(_STATUS, "s"), group="growth", on=BOTH, times=3)
def status(stage: Stage, database: str) -> Iterator[float]:
    """The whole process `jobrunner status` on an empty, migrated queue."""
    yield stage.queue(database).status().seconds


@measure(Line("status beside finished runs, {db}", "s", _STATUS), group="growth", on=BOTH, times=3)
def status_beside_finished(stage: Stage, database: str) -> Iterator[float]:
    """The same beside so many (`finished`) runs that have succeeded."""
    yield _finished(stage, database).status().seconds


@measure(Line("claim 100 behind unknown runs, {db}", "ms", EMPTY), group="growth", on=BOTH, times=3, claimed=_RUNS)
def behind_unknown(stage: Stage, database: str) -> Iterator[float]:
    """The same behind so many (`unknown`) due runs of higher priority, of a type that this host has no handler for."""
    fill = stage.sizes.unknown
    yield _claims(_prepared(stage, database, "growth_unknown", lambda q: q.add_due("unknown", fill, priority=9)))


@measure(Line(_LIMITED, "ms", EMPTY), group="growth", on=BOTH, times=3, claimed=_RUNS)
def with_limited(stage: Stage, database: str) -> Iterator[float]:
    """The same for two types, the other one with a limit of one run of each key, which no run waits for."""
    yield _claims(_prepared(stage, database, "growth_with_limited", lambda q: q.add_limited("keyed", 0)), _TWO)


@measure(Line("claim 100 behind limited runs, {db}", "ms", _LIMITED), group="growth", on=BOTH, times=3, claimed=_RUNS)
def behind_limited(stage: Stage, database: str) -> Iterator[float]:
    """The same behind so many (`unknown`) due runs of higher priority, of one key of that type, one of them at work."""
    fill = stage.sizes.unknown
    yield _claims(_prepared(stage, database, "growth_limited", lambda q: q.add_limited("keyed", fill)), _TWO)


@measure(Line("claim 100 of a fair type, {db}", "ms", EMPTY), group="growth", on=BOTH, times=3, claimed=_RUNS)
def of_fair(stage: Stage, database: str) -> Iterator[float]:
    """The same of a fair type behind so many (`finished`) due runs of one customer: half of the claim is its runs."""
    fill = stage.sizes.finished
    yield _claims(_prepared(stage, database, "growth_of_fair", lambda q: q.add_fair("noop", fill + _LEFT)), _FAIR)


@measure(Line("claim 100 beside fair runs, {db}", "ms", EMPTY), group="growth", on=BOTH, times=3, claimed=_RUNS)
def beside_fair(stage: Stage, database: str) -> Iterator[float]:
    """The same beside so many (`finished`) due runs of another type, which is fair, of one customer."""
    fill = stage.sizes.finished
    yield _claims(_prepared(stage, database, "growth_beside_fair", lambda queue: queue.add_fair("export", fill)))


@measure(
    Line("claim 100 after claims without a vacuum, PostgreSQL", "ms", EMPTY.format(db=POSTGRESQL)),
    group="growth",
    times=3,
    claimed=_RUNS,
)
def after_churn(stage: Stage) -> Iterator[float]:
    """The same after so many (`churned`) runs were claimed and finished, with autovacuum off for job_runs."""
    fill = stage.sizes.churned
    yield _claims(_prepared(stage, POSTGRESQL, "growth_churned", lambda queue: queue.churn(fill), settled=False))


@measure(
    Line("claim 100 while a long transaction holds vacuum back, PostgreSQL", "ms", EMPTY.format(db=POSTGRESQL)),
    group="growth",
    times=3,
    claimed=_RUNS,
)
def beside_long_transaction(stage: Stage) -> Iterator[float]:
    """The same after so many (`churned`) runs were claimed and finished beside a transaction that is still open.

    Vacuum was run afterwards, and could remove nothing that came to be after that transaction's first statement.
    """
    fill = stage.sizes.churned

    def held(queue: Queue) -> None:
        reader = stage.until_end.enter_context(connect(queue.database.url))
        reader.isolation_level = IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT count(*) FROM job_runs")
        queue.churn(fill)

    yield _claims(_prepared(stage, POSTGRESQL, "growth_held", held))


def _finished(stage: Stage, database: str) -> Queue:
    fill = stage.sizes.finished
    return _prepared(stage, database, "growth_finished", lambda queue: queue.add_finished(fill))


def _prepared(stage: Stage, database: str, name: str, fill: Callable[[Queue], None], *, settled: bool = True) -> Queue:
    if not stage.has(database, name):
        queue = stage.queue(database, name)
        fill(queue)
        if settled:
            queue.settle()
    return stage.queue(database, name, cleared=False)


def _claims(queue: Queue, policies: Sequence[Policy] = _ONE) -> float:
    return claims(queue, lambda taken: len(taken) > CLAIMS, policies)


def claims(queue: Queue, is_over: Callable[[list[float]], bool], policies: Sequence[Policy] = _ONE) -> float:
    """Claims of 100 runs, one after the other, until it is over. The median in milliseconds, without the first."""
    store = Database(locate(queue.database.url), patience=timedelta(seconds=30))
    times: list[float] = []
    try:
        while len(times) < 2 or not is_over(times):
            times.append(_claim(queue, store, policies))
    finally:
        store.close()
    return sorted(times[1:])[(len(times) - 1) // 2] * 1000


def _claim(queue: Queue, store: Database, policies: Sequence[Policy]) -> float:
    queue.add_due("noop", _RUNS)
    host = f"bench-{next(_hosts)}"
    request = ClaimRequest(
        owner=Owner(host, f"{host}:1:a"),
        token=token_hex(16),
        policies=policies,
        limit=_RUNS,
        permits=_RUNS,
        lease=_LEASE,
    )
    began = time.perf_counter()
    claimed = store.write(lambda connection: claim(connection, request))
    seconds = time.perf_counter() - began
    finished = queue.database.execute(
        "UPDATE job_runs SET status = 'succeeded', finished_at = claimed_at, locked_by = NULL, locked_until = NULL,"
        " lease_token = NULL, host = NULL WHERE lease_token = ?",
        [request.token],
    )
    if len(claimed.runs) != _RUNS or finished != _RUNS:
        raise Failed(f"{len(claimed.runs)} of {_RUNS} runs were claimed, {finished} finished")
    return seconds
