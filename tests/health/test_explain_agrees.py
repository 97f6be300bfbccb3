"""What explain says of a run agrees with what a claim does: the same conditions, asked for one by one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, literal_column, select

import harness.hypothesis_profile  # noqa: F401 - loads the profile
from harness import Database, SQLiteDatabase
from harness.handlers_rows import queue
from harness.stores import opening
from jobrunner.model import Limits, Owner, Policy, TickKind
from jobrunner.rates import parse_rate
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.queue import claims, declared_limits
from jobrunner.store.queue.claims import ClaimRequest
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.queue.ticks.hosts import HostReport
from jobrunner.store.sql.dialect.values import now

POLICIES = (
    Policy("plain"),
    Policy("capped", limits=Limits(max_running=2)),
    Policy("keyed", limits=Limits(concurrency_key=("customer",), max_running_per_key=1)),
    Policy("both", limits=Limits(max_running=2, concurrency_key=("customer",), max_running_per_key=1)),
    Policy("twice", limits=Limits(max_running=2, concurrency_key=("customer",), max_running_per_key=2)),
    Policy("rated", limits=Limits(rate=parse_rate("rate", "2/h", 2))),
)
KIND = TickKind("here", "", "")
TABLES = ("job_runs", "job_limits", "job_gates", "job_parents", "job_pauses", "job_ticks")


@dataclass(frozen=True)
class Situation:
    """A run, with instants in minutes from now."""

    job_type: str
    status: str
    run_at: int
    deadline: int | None
    key: str | None
    customer: str
    priority: int
    lease_ends: int
    is_after: bool


RUNS = st.builds(
    Situation,
    st.sampled_from([*(policy.job_type for policy in POLICIES), "nobody's"]),
    st.sampled_from(["queued", "queued", "failed", "running", "succeeded"]),
    st.sampled_from([-30, -30, -1, 30]),
    st.sampled_from([None, None, -5, 5]),
    st.sampled_from([None, None, "k"]),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([0, 7]),
    st.sampled_from([1, -5]),
    st.sampled_from([False, False, False, True]),
)
PAUSES = st.sampled_from([None, None, None, ("type", "plain"), ("host", "here"), ("all", "")])


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    with opening(database, patience_seconds=20) as open_one:
        one = open_one()
        report = HostReport(KIND, POLICIES, {"concurrency": 1000}, "here", "boot")
        one.write(lambda connection: hosts.write(connection, report))
        yield one


def set_clock(store: Store, database: Database, offset: timedelta) -> None:
    """On PostgreSQL only for the session of the store, which need not connect anew then."""
    if isinstance(database, SQLiteDatabase):
        database.set_clock_offset(offset)
        return
    text = f"{offset // timedelta(microseconds=1)} microseconds"
    setting = select(func.set_config("jobrunner.clock_offset", text, literal_column("false")))
    store.write(lambda connection: connection.execute(setting).all())


def insert(database: Database, each: Situation, at: datetime) -> int | None:
    row = {
        "status": each.status,
        "run_at": at + timedelta(minutes=each.run_at),
        "start_deadline_at": None if each.deadline is None else at + timedelta(minutes=each.deadline),
        "concurrency_key": each.key,
        "priority": each.priority,
    }
    if each.status == "running":
        if each.key is not None:
            row["concurrency_key"] = None
        lease = {"locked_by": "here:1:x", "locked_until": at + timedelta(minutes=each.lease_ends)}
        of_key = f"customer {json.dumps([each.customer])}"
        gates = {"capped": "all", "rated": "all", **dict.fromkeys(("keyed", "both", "twice"), of_key)}
        row |= lease | {"host": "here", "lease_token": "t" * 32, "gate": gates.get(each.job_type, "")}
    elif each.status == "succeeded":
        row["finished_at"] = at
    elif each.is_after:
        row["gate"] = "after"
    return queue(database, each.job_type, {"customer": each.customer}, **row)


def begin(database: Database, store: Store, pause: tuple[str, str] | None) -> datetime:
    """An empty database, its clock set right; now."""
    set_clock(store, database, timedelta(0))
    for table in TABLES:
        database.execute(f"DELETE FROM {table}")
    at = now_of(store)
    for policy in POLICIES[1:]:
        store.write(lambda connection, policy=policy: declared_limits.declare(connection, policy))
    if pause is not None:
        database.execute("INSERT INTO job_pauses (kind, name, actor, paused_at) VALUES (?, ?, 'x', ?)", [*pause, at])
    return at


def now_of(store: Store) -> datetime:
    at: datetime = store.read(lambda connection: connection.execute(select(now())).scalar_one())
    return at


def tick_now(database: Database, store: Store) -> None:
    """A tick begins."""
    at = now_of(store)
    database.execute(
        "INSERT INTO job_ticks (host, worker, version, application, types, started_at, finished_at)"
        " VALUES ('here', 'here:1:x', '1', '', '', ?, ?)",
        [at, at],
    )


def claimed(store: Store, limit: int = 100, times: int = 20) -> set[int]:
    """The runs that one tick after the other would take while no run ends."""
    found: set[int] = set()
    for _ in range(times):
        token = uuid4().hex
        request = ClaimRequest(Owner("here", "here:1:y"), token, POLICIES, limit, 1000, timedelta(minutes=1))
        runs = store.write(lambda connection, request=request: claims.claim(connection, request)).runs
        if not runs:
            break
        found |= {run.lease.run_id for run in runs}
    return found


@pytest.mark.promise("P1")
@pytest.mark.parametrize(
    ("job_type", "customers", "ready"),
    [
        ("both", "aab", [True, False, True]),
        ("both", "aabc", [True, False, True, False]),
        ("twice", "aab", [True, False, True]),
        ("twice", "aa", [True, True]),
    ],
)
def test_run_of_a_limited_type_is_ready_though_those_in_front_of_it_wait_for_their_own_key(
    store: Store, database: Database, job_type: str, customers: str, ready: list[bool]
) -> None:
    """`explain` said `limit`, and the next claim took the run."""
    at = begin(database, store, None)
    run_ids = [
        queue(database, job_type, {"customer": each}, run_at=at + timedelta(seconds=number - 60))
        for number, each in enumerate(customers)
    ]
    tick_now(database, store)
    said = [store.read(partial(explain_run, run_id=each)) for each in run_ids]
    assert [each is not None and each.reason == "ready" for each in said] == ready
    found = claimed(store)
    assert [each in found for each in run_ids] == ready


@pytest.mark.promise("P1")
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture],
)
@given(
    situations=st.lists(RUNS, min_size=1, max_size=7),
    pause=PAUSES,
    taken=st.sampled_from([0, 1, 3]),
    offset=st.sampled_from([0, 0, 1]).flatmap(lambda moves: st.integers(-200_000 * moves, 200_000 * moves)),
)
def test_explain_says_that_nothing_is_in_the_way_exactly_when_a_claim_takes_the_run(
    store: Store,
    database: Database,
    situations: list[Situation],
    pause: tuple[str, str] | None,
    taken: int,
    offset: int,
) -> None:
    """Also when a clock was set right or wrong between an earlier claim and this one, by up to two days."""
    at = begin(database, store, pause)
    # Claims take runs of the same turn behind different gates in any order.
    run_ids = [insert(database, each, at + timedelta(seconds=number)) for number, each in enumerate(situations)]
    if taken:
        claimed(store, limit=taken, times=1)
    set_clock(store, database, timedelta(seconds=offset))
    tick_now(database, store)
    reasons = {}
    for run_id in run_ids:
        assert run_id is not None
        found = store.read(partial(explain_run, run_id=run_id))
        assert found is not None
        reasons[run_id] = found.reason
    ready = {run_id for run_id, reason in reasons.items() if reason == "ready"}
    assert ready == claimed(store), (situations, reasons)
