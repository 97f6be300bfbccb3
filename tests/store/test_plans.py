"""The cost of a statement does not grow with the history, nor with what lies in front: asserted on rows examined.

On PostgreSQL every statement that a call sends is explained just before it is sent, on the same connection: beside a
million finished runs, 100 000 due ones of a type that this host does not know and as many of one that it does, or a
fifth of all that outside of `make test-long`, with the planner's settings as they come, and with no statistics, good
ones, and those of a queue that was empty.
"""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from harness import Database, PostgresDatabase, postgresql_only
from harness.plan_calls import AT_WORK, BUSY, IDLE, LEASE, OLD, Call, behind_gates, hooks, idle_statement, words_of
from harness.plan_searches import ASKED, LOOK
from harness.plans import (
    A_FIFTH,
    A_MILLION,
    DUE,
    EVENTS,
    FRONT,
    HISTORY,
    KEYED,
    KEYED_RUNNING,
    LATER,
    LIMITS,
    OF_HOSTS,
    OF_OTHER_HOSTS,
    OVERDUE,
    QUEUE,
    RUNNING,
    TRAIL,
    Size,
    costs,
    fill,
    fill_gates,
)
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue import enqueue, holding, strays
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.queue.ticks import ticks

FILLED = (FRONT, DUE, QUEUE, RUNNING, LIMITS.format(now="jobrunner_now()"))
SCHEDULED = """
INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, last_slot_at, next_run_at, created_at,
                             updated_at)
SELECT 'schedule ' || n, 'free', '{}', '* * * * *', 'UTC', 'test', jobrunner_now(), jobrunner_now(), jobrunner_now(),
       jobrunner_now() FROM generate_series(1, 20) AS n
"""


def unbounded(store: Store, when: str, calls: dict[str, Call], times: int = 1) -> list[str]:
    every = [cost for name, work in calls.items() for cost in costs(store, f"{name}, {when}", work)]
    return [str(cost) for cost in every if not cost.is_bounded(times)]


@pytest.fixture
def beside_a_history(database: PostgresDatabase, size: Size) -> Iterator[Store]:
    """A database with a long history, in which nothing is due."""
    fill(database, size, HISTORY, LATER, TRAIL, EVENTS)
    # A tick a minute: they grow slowly enough for statistics to keep up.
    database.execute("ANALYZE job_ticks")
    with closing(Store(locate(database.url), patience=timedelta(seconds=5))) as store:
        yield store


@postgresql_only
@pytest.mark.parametrize(
    "size", [pytest.param(A_FIFTH, id="a fifth"), pytest.param(A_MILLION, id="a million", marks=pytest.mark.long)]
)
def test_no_statement_of_a_tick_grows_with_the_history(
    database: PostgresDatabase, beside_a_history: Store, size: Size
) -> None:
    # One test for all, so that the rows are made once, whatever the number of workers.
    store = beside_a_history
    words = words_of(database.name)
    of_types = hooks(on_dead=[], jobs={"known": {"on_dead": ["chat"]}}, schedules={"s": {"on_dead": ["chat"]}})
    idle = IDLE | {
        f"the idle statement {name}": idle_statement(words, notify)
        for name, notify in {"": None, "with hooks": hooks(), "with hooks of types": of_types}.items()
    }
    idle["what the idle statement asks where something waits behind a gate"] = behind_gates
    every = {**idle, **BUSY}
    assert not store.read(ticks.is_anything_due)
    problems = unbounded(store, "idle", idle)
    fill(database, size, *FILLED, OF_HOSTS, SCHEDULED, KEYED, KEYED_RUNNING, OVERDUE)
    fill_gates(database, size.in_front // 5)
    assert store.read(ticks.is_anything_due)
    problems += unbounded(store, "before ANALYZE", every)
    # As many rows as a slice has, or as a search reads of an index before it reads slices instead.
    problems += unbounded(store, "before ANALYZE", LOOK, times=15)
    database.execute("ANALYZE")
    problems += unbounded(store, "after ANALYZE", every)
    # A batch of 500 goes at a time. (By the time that something is old there are statistics.)
    # Once an hour all runs that wait for others are looked at, of which there are 2,000 in the larger case.
    of_all = {name: call for name, call in OLD.items() if name.endswith("every one")}
    problems += unbounded(store, "after ANALYZE", of_all, times=15)
    problems += unbounded(store, "after ANALYZE", {name: OLD[name] for name in OLD.keys() - of_all.keys()}, times=5)
    problems += unbounded(store, "after ANALYZE", ASKED, times=30)
    for table in ("job_types", "job_limits", "job_gates", "job_parents"):
        database.execute(f"DELETE FROM {table}")
    database.execute("DELETE FROM job_runs WHERE status IN ('queued', 'running') AND run_at <= jobrunner_now()")
    database.execute("DELETE FROM job_definitions")
    database.execute("VACUUM ANALYZE job_runs")
    assert not store.read(ticks.is_anything_due)
    problems += unbounded(store, "idle, after ANALYZE", idle)
    # The usual state of things in the first minute of a bad day: the statistics know of no queue.
    database.execute("DELETE FROM job_runs WHERE status = 'queued'")
    database.execute("VACUUM ANALYZE job_runs")
    fill(database, size, *FILLED, OF_HOSTS, SCHEDULED, KEYED, KEYED_RUNNING, OVERDUE)
    fill_gates(database, size.in_front // 5)
    problems += unbounded(store, "filled since ANALYZE", every)
    problems += unbounded(store, "filled since ANALYZE", LOOK, times=15)
    assert not problems, "\n".join(problems)


@postgresql_only
def test_what_names_its_runs_reads_none_of_other_hosts_after_statistics_from_a_time_when_nothing_ran(
    database: PostgresDatabase, store: Store
) -> None:
    """The planner takes the index of all running runs for empty then. Each group of ends read the whole of it."""
    fill(database, A_FIFTH, QUEUE)
    database.execute("VACUUM ANALYZE job_runs")
    fill(database, A_FIFTH, RUNNING, OF_OTHER_HOSTS)
    named = {name: call for name, call in BUSY.items() if name.startswith(("holding.", "finalize.", "effects."))}
    named |= {name: BUSY[name] for name in ("claims.return_unstarted some", "expiries.recover_of")}
    try:
        problems = unbounded(store, "beside other hosts", named)
    finally:
        store.close()
    assert not problems, "\n".join(problems)


@postgresql_only
@pytest.mark.parametrize("finished", [20_000, 200_000])
def test_no_statement_of_a_tick_grows_with_a_queue_of_which_all_runs_are_of_one_type(
    database: PostgresDatabase, store: Store, finished: int
) -> None:
    """By the statistics each type is that of a pause then, so that a claim would find no run, and sorted them all."""
    queue = QUEUE.replace("'known_too'", "'known'")
    fill(database, Size(finished, 20_000), HISTORY, queue, RUNNING, SCHEDULED, KEYED, KEYED_RUNNING)
    database.execute("VACUUM ANALYZE")
    try:
        problems = unbounded(store, "of one type", IDLE | BUSY)
    finally:
        store.close()
    assert not problems, "\n".join(problems)


@postgresql_only
def test_no_statement_of_a_tick_grows_with_the_queues_of_paused_types(database: PostgresDatabase, store: Store) -> None:
    """Each look of a lingering tick, each idle one and each question of health read all that waited for the pause."""
    count = "ticks.count_claimable"
    idle = IDLE | {count: BUSY[count], "what functions ask": behind_gates}
    idle["the idle statement"] = idle_statement(words_of(database.name), hooks())
    fill(database, A_FIFTH, HISTORY, FRONT, QUEUE)
    fill_gates(database, A_FIFTH.in_front // 5)
    database.execute(
        "INSERT INTO job_pauses (kind, name, actor, paused_at) SELECT 'type', job_type, 'test', jobrunner_now()"
        " FROM (SELECT DISTINCT job_type FROM job_runs WHERE job_type <> 'known') AS others"
    )
    try:
        problems = unbounded(store, "before ANALYZE", idle)
        database.execute("VACUUM ANALYZE")
        problems += unbounded(store, "after ANALYZE", idle)
        fill(database, A_FIFTH, DUE, RUNNING, SCHEDULED, KEYED, KEYED_RUNNING)
        # Else how many dead rows are read depends on the transactions of other tests. Schedules have no statistics yet.
        database.execute("VACUUM ANALYZE job_runs")
        problems += unbounded(store, "busy", idle | BUSY)
    finally:
        store.close()
    assert not problems, "\n".join(problems)


@postgresql_only
def test_no_plan_for_what_is_behind_gates_is_made_before_something_waits_there(
    database: PostgresDatabase, store: Store
) -> None:
    """To make it takes the server as long as all else that an idle tick asks."""
    try:
        for call in (ticks.is_anything_due, idle_statement(words_of(database.name))):
            (cost,) = costs(store, "idle", call)
            assert "job_runs_behind" in cost.plan
            assert "job_limits" not in cost.plan
        assert any("job_limits" in cost.plan for cost in costs(store, "behind gates", behind_gates))
        (asked,) = costs(store, "nothing is behind a gate", strays.find)
        assert "job_runs_behind" in asked.plan
    finally:
        store.close()


@postgresql_only
def test_plan_check_counts_filtered_rows(database: PostgresDatabase, store: Store) -> None:
    """The measure itself: a statement that reads everything is seen as one that does."""
    fill(database, A_FIFTH, LATER)
    slow = "SELECT id FROM job_runs WHERE payload ->> 'a' = 'b' LIMIT 1"
    try:
        (cost,) = costs(store, "slow", lambda connection: connection.execute(slow))
    finally:
        store.close()
    assert cost.rows == A_FIFTH.in_front
    assert not cost.is_bounded()


@postgresql_only
def test_a_heartbeat_is_a_hot_update(database: PostgresDatabase, store: Store) -> None:
    """With locked_until in an index it would not be, and each beat would grow every index of the table."""
    fill(database, A_FIFTH, RUNNING)
    database.execute("VACUUM job_runs")
    before = updates(database)
    try:
        for _ in range(10):
            renewal = store.write(lambda connection: holding.renew(connection, AT_WORK, LEASE))
            assert len(renewal.renewed) == len(AT_WORK)
    finally:
        store.close()
    wanted = before[0] + 10 * len(AT_WORK)
    database.wait_until(
        "SELECT n_tup_upd >= ? AS counted FROM pg_stat_user_tables WHERE relname = 'job_runs'", [wanted]
    )
    after = updates(database)
    assert after[0] - before[0] == 10 * len(AT_WORK)
    # Not all: when a page is full, its row moves to the next, and until old versions are cleared away that repeats.
    assert after[1] - before[1] > 2 * len(AT_WORK)


@postgresql_only
def test_a_vacuum_comes_after_as_many_runs_however_long_the_history_is(database: PostgresDatabase) -> None:
    """By the share that is usual, beside five million finished runs a claim walked past half a million dead entries."""
    options = database.value("SELECT array_to_string(reloptions, ' ') AS o FROM pg_class WHERE relname = 'job_runs'")
    assert "autovacuum_vacuum_scale_factor=0 " in options
    assert "autovacuum_vacuum_threshold=50000" in options


def updates(database: Database) -> tuple[int, int]:
    (row,) = database.query("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'job_runs'")
    return row["n_tup_upd"], row["n_tup_hot_upd"]


@pytest.mark.parametrize(
    "change",
    [
        "status = 'queued', run_at = {past}",
        "status = 'failed', run_at = {past}",
        "status = 'running', lease_token = 't', locked_by = 'o', host = 'h', locked_until = {past}",
        "status = 'running', lease_token = 't', locked_by = 'o', host = 'h', locked_until = {future}",
        "status = 'succeeded', finished_at = {past}",
        "status = 'queued', run_at = {future}",
    ],
)
def test_idle_query_agrees_with_the_view(database: Database, change: str, store: Store) -> None:
    try:
        assert not store.read(ticks.is_anything_due)
        store.write(lambda connection: enqueue.enqueue(connection, NewRun("known", "{}")))
        instants = {"past": database.now() - timedelta(minutes=1), "future": database.now() + timedelta(minutes=1)}
        (name,) = [name for name in instants if name in change]
        database.execute(f"UPDATE job_runs SET {change.format(**{name: '?'})}", [instants[name]])
        assert store.read(ticks.is_anything_due) == (database.value("SELECT count(*) AS due FROM job_due") == 1)
    finally:
        store.close()
