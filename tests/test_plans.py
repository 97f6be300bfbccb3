"""The cost of a statement does not grow with the history, nor with what lies in front: asserted on rows examined.

On PostgreSQL every statement that a call sends is explained just before it is sent, on the same connection: beside a
million finished runs, 100 000 due ones of a type that this host does not know and as many of one that it does, before
and after ANALYZE, with the planner's settings as they come.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, event

from harness import Database, PostgresDatabase, postgresql_only, sqlite_only
from jobrunner.lifecycle import Ending, Outcome
from jobrunner.model import Lease, Owner, Policy
from jobrunner.store import claims, endings, limits, runs, schedules, ticks
from jobrunner.store.claims import ClaimRequest
from jobrunner.store.database import Database as Store
from jobrunner.store.location import locate
from jobrunner.store.runs import NewRun

MOST_ROWS = 300
MOST_BLOCKS = 1000
FINISHED = 1_000_000
IN_FRONT = 100_000
LEASE = timedelta(minutes=1)
OWNER = Owner("here", "here:1:a")
KNOWN = [Policy("known"), Policy("known_too")]
AT_WORK = [Lease(run_id, "t" * 32) for run_id in range(2_000_001, 2_000_021)]
KEEP = dict.fromkeys(("succeeded", "cancelled", "dead", "ticks", "events"), timedelta(days=5000))

COLUMNS = "job_type, payload, status, priority, run_at, created_at, updated_at"
HISTORY = f"""
INSERT INTO job_runs ({COLUMNS}, finished_at, attempts, max_attempts)
SELECT 'known', '{{}}', (ARRAY['succeeded', 'succeeded', 'succeeded', 'dead', 'cancelled'])[1 + n % 5], 0,
       at, at, at, at, 1, 5
FROM (SELECT n, jobrunner_now() - n * interval '1 minute' AS at FROM generate_series(1, {FINISHED}) AS n) AS past
"""
LATER = f"""
INSERT INTO job_runs ({COLUMNS})
SELECT 'known', '{{}}', 'queued', 0, jobrunner_now() + n * interval '1 hour', jobrunner_now(), jobrunner_now()
FROM generate_series(1, {IN_FRONT}) AS n
"""
FRONT = f"""
INSERT INTO job_runs ({COLUMNS})
SELECT 'unknown', '{{}}', 'queued', 9, jobrunner_now() - n * interval '1 second', jobrunner_now(), jobrunner_now()
FROM generate_series(1, {IN_FRONT}) AS n
"""
DUE = f"""
INSERT INTO job_runs ({COLUMNS})
SELECT 'known', '{{}}', 'queued', 0, jobrunner_now() - interval '1 second', jobrunner_now(), jobrunner_now()
FROM generate_series(1, 50)
"""
QUEUE = f"""
INSERT INTO job_runs ({COLUMNS})
SELECT 'known_too', '{{}}', 'queued', n % 3, jobrunner_now() - n * interval '1 second', jobrunner_now(), jobrunner_now()
FROM generate_series(1, {IN_FRONT}) AS n
"""
RUNNING = f"""
INSERT INTO job_runs (id, {COLUMNS}, locked_by, host, lease_token, claimed_at, started_at, attempts, max_attempts,
                      locked_until)
SELECT 2000000 + n, 'known', '{{}}', 'running', 0, jobrunner_now(), jobrunner_now(), jobrunner_now(), 'here:1:a',
       'here', repeat('t', 32), jobrunner_now(), jobrunner_now(), 1, 5,
       jobrunner_now() + CASE WHEN n <= 20 THEN interval '9 minutes' ELSE interval '-1 second' END
FROM generate_series(1, 30) AS n
"""
LIMITS = """
INSERT INTO job_types (job_type, max_waiting, when_full, updated_at)
SELECT job_type, 100, 'refuse', {now} FROM (SELECT 'limited' AS job_type UNION ALL SELECT 'known_too') AS limited
"""


class Undone(Exception):
    """Nothing that is looked at here is kept."""


@dataclass(frozen=True)
class Cost:
    """What one statement examined."""

    call: str
    statement: str
    rows: float
    blocks: int
    plan: str

    @property
    def is_bounded(self) -> bool:
        return self.rows <= MOST_ROWS and self.blocks <= MOST_BLOCKS

    def __str__(self) -> str:
        return f"{self.call}: {self.rows:.0f} rows, {self.blocks} blocks: {self.statement[:300]}\n{self.plan}"


def nodes(plan: dict[str, Any], depth: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    yield depth, plan
    for below in plan.get("Plans", ()):
        yield from nodes(below, depth + 1)


def examined(plan: dict[str, Any]) -> float:
    """Rows that the scans returned and rows that they threw away."""
    total = 0.0
    for _, node in nodes(plan):
        if "Scan" in node["Node Type"] and node["Node Type"] not in ("CTE Scan", "Subquery Scan"):
            removed = sum(value for name, value in node.items() if name.startswith("Rows Removed"))
            total += (node["Actual Rows"] + removed) * node["Actual Loops"]
    return total


def shown(plan: dict[str, Any]) -> str:
    return "\n".join(
        f"  {'  ' * depth}{node['Node Type']} {node.get('Index Name', node.get('Relation Name', ''))}"
        f" rows={node['Actual Rows']} loops={node['Actual Loops']} {node.get('Index Cond', '')}"
        for depth, node in nodes(plan)
    )


@contextmanager
def listening(store: Store, listener: Callable[..., None]) -> Iterator[None]:
    event.listen(store._engine, "before_cursor_execute", listener)
    try:
        yield
    finally:
        event.remove(store._engine, "before_cursor_execute", listener)


def costs(store: Store, call: str, work: Callable[[Connection], Any]) -> list[Cost]:
    """What each statement of a call examines. The call is undone."""
    found: list[Cost] = []

    def explain(_: Any, cursor: psycopg.Cursor[Any], statement: str, parameters: Any, *__: Any) -> None:
        if "advisory" in statement:
            return
        connection = cursor.connection
        connection.execute("SAVEPOINT explained")
        answer = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", parameters).fetchone()
        connection.execute("ROLLBACK TO explained")
        assert answer is not None
        plan = answer[0][0]["Plan"]
        blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        found.append(Cost(call, " ".join(statement.split()), examined(plan), blocks, shown(plan)))

    def undo(connection: Connection) -> None:
        work(connection)
        raise Undone

    with listening(store, explain), pytest.raises(Undone):
        store.write(undo)
    assert found, f"{call} sent nothing"
    return found


def request(**changes: Any) -> ClaimRequest:
    values = {"owner": OWNER, "token": "x" * 32, "policies": KNOWN, "limit": 5, "places": 100, "lease": LEASE}
    return ClaimRequest(**{**values, **changes})


CALLS: dict[str, Callable[[Connection], Any]] = {
    "claim": lambda connection: claims.claim(connection, request()),
    "claim one": lambda connection: claims.claim(connection, request(limit=1, policies=KNOWN[:1])),
    "claim a suspect": lambda connection: claims.claim(connection, request(limit=1, suspect=True)),
    "claim of 20 types": lambda connection: claims.claim(
        connection, request(policies=[*KNOWN, *(Policy(f"other_{n}") for n in range(18))])
    ),
    "start": lambda connection: claims.start(connection, AT_WORK[0]),
    "give back": lambda connection: claims.give_back(connection, AT_WORK[0].token),
    "renew": lambda connection: claims.renew(connection, AT_WORK, LEASE),
    "report": lambda connection: claims.report(connection, {AT_WORK[0]: {"output": "tail"}}),
    "finalize": lambda connection: endings.finalize(connection, OWNER, AT_WORK[0], Ending(Outcome.FAILED)),
    "finalize late": lambda connection: endings.finalize(
        connection, OWNER, Lease(5, "t" * 32), Ending(Outcome.SUCCEEDED)
    ),
    "expired owners": endings.expired_owners,
    "recover": lambda connection: endings.recover(connection, 100),
    "is anything due": ticks.is_anything_due,
    "count claimable": lambda connection: ticks.count_claimable(connection, KNOWN, 4),
    "expandable": lambda connection: schedules.expandable(connection, 500),
    "prune, nothing old": lambda connection: ticks.prune(connection, KEEP),
    "enqueue": lambda connection: runs.enqueue(connection, NewRun("known", {}, idempotency_key="k")),
    "enqueue of a limited type": lambda connection: runs.enqueue(connection, NewRun("limited", {})),
    "enqueue of a full type": lambda connection: runs.insert_if_room(connection, NewRun("known_too", {})),
    "what is limited": lambda connection: limits.differing(connection, KNOWN),
    "cancel": lambda connection: runs.cancel(connection, 7, "someone"),
}


def unbounded(store: Store, when: str, calls: dict[str, Callable[[Connection], Any]]) -> list[str]:
    every = [cost for name, work in calls.items() for cost in costs(store, f"{name}, {when}", work)]
    return [str(cost) for cost in every if not cost.is_bounded]


@postgresql_only
def test_no_statement_of_a_tick_grows_with_the_history(database: PostgresDatabase) -> None:
    # One test for all, so that the million rows are made once, whatever the number of workers.
    store = Store(locate(database.url), patience=timedelta(seconds=5))
    idle = {"is anything due": ticks.is_anything_due, "expired owners": endings.expired_owners, "claim": CALLS["claim"]}
    try:
        database.execute(HISTORY)
        database.execute(LATER)
        assert not store.read(ticks.is_anything_due)
        problems = unbounded(store, "idle", idle)
        for statement in (FRONT, DUE, QUEUE, RUNNING, LIMITS.format(now="jobrunner_now()")):
            database.execute(statement)
        assert store.read(ticks.is_anything_due)
        problems += unbounded(store, "before ANALYZE", CALLS)
        database.execute("ANALYZE")
        problems += unbounded(store, "after ANALYZE", CALLS)
        database.execute("DELETE FROM job_runs WHERE status IN ('queued', 'running') AND run_at <= jobrunner_now()")
        database.execute("VACUUM ANALYZE job_runs")
        assert not store.read(ticks.is_anything_due)
        problems += unbounded(store, "idle, after ANALYZE", idle)
    finally:
        store.close()
    assert not problems, "\n".join(problems)


@postgresql_only
def test_rows_thrown_away_are_counted(database: PostgresDatabase) -> None:
    """The measure itself: a statement that reads everything is seen as one that does."""
    database.execute(LATER)
    store = Store(locate(database.url), patience=timedelta(seconds=5))
    slow = "SELECT id FROM job_runs WHERE payload ->> 'a' = 'b' LIMIT 1"
    try:
        (cost,) = costs(store, "slow", lambda connection: connection.exec_driver_sql(slow))
    finally:
        store.close()
    assert cost.rows == IN_FRONT
    assert not cost.is_bounded


@postgresql_only
def test_a_heartbeat_is_a_hot_update(database: PostgresDatabase) -> None:
    """With locked_until in an index it would not be, and each beat would grow every index of the table."""
    database.execute(RUNNING)
    database.execute("VACUUM job_runs")
    store = Store(locate(database.url), patience=timedelta(seconds=5))
    before = updates(database)
    try:
        for _ in range(10):
            assert len(store.write(lambda connection: claims.renew(connection, AT_WORK, LEASE))) == len(AT_WORK)
    finally:
        store.close()
    wanted = before[0] + 10 * len(AT_WORK)
    database.wait_until(
        "SELECT n_tup_upd >= ? AS counted FROM pg_stat_user_tables WHERE relname = 'job_runs'", [wanted]
    )
    after = updates(database)
    assert after[0] - before[0] == 10 * len(AT_WORK)
    # Not all: when a page is full, its row moves to the next, and until old versions are cleared away that repeats.
    assert after[1] - before[1] > 5 * len(AT_WORK)


def updates(database: Database) -> tuple[int, int]:
    (row,) = database.query("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'job_runs'")
    return row["n_tup_upd"], row["n_tup_hot_upd"]


@sqlite_only
@pytest.mark.parametrize("analyzed", [False, True], ids=["before-analyze", "after-analyze"])
def test_sqlite_searches_the_partial_indexes_and_never_scans_the_runs(database: Database, analyzed: bool) -> None:
    if analyzed:
        past = "unixepoch() * 1000000"
        database.execute(
            f"INSERT INTO job_runs ({COLUMNS}, finished_at)"
            " WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)"
            f" SELECT 'known', '{{}}', 'succeeded', 0, {past}, {past}, {past}, {past} FROM numbers"
        )
        database.execute("ANALYZE")
    database.execute(LIMITS.format(now=0))
    store = Store(locate(database.url), patience=timedelta(seconds=5))
    plans: dict[str, list[str]] = {}

    def explain(_: Any, cursor: Any, statement: str, parameters: Any, *__: Any) -> None:
        rows = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
        plans[name] += [row[3] for row in rows]

    try:
        with listening(store, explain):
            for name, work in CALLS.items():
                plans[name] = []
                store.write(work)
    finally:
        store.close()
    scans = {name: [line for line in lines if line.startswith("SCAN job_runs")] for name, lines in plans.items()}
    # An index that holds only the rows in question may be read from end to end.
    partial = ("job_runs_claim", "job_runs_due", "job_runs_lease")
    for name, lines in scans.items():
        assert all(line.endswith(partial) for line in lines), (name, lines)
    used = {name: " ".join(lines) for name, lines in plans.items()}
    assert used["claim"].count("job_runs_claim (job_type=?)") == len(KNOWN)
    assert used["claim a suspect"].count("job_runs_suspect (job_type=?)") == len(KNOWN)
    assert used["count claimable"].count("job_runs_claim (job_type=?)") == len(KNOWN)
    for name in ("enqueue of a limited type", "enqueue of a full type"):
        assert "job_runs_claim (job_type=?)" in used[name], (name, used[name])
    assert "job_runs_due (run_at<?)" in used["is anything due"]
    for name in ("is anything due", "recover", "expired owners", "claim"):
        assert "job_runs_lease" in used[name], (name, used[name])


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
def test_the_idle_question_says_what_the_view_says(database: Database, change: str) -> None:
    store = Store(locate(database.url), patience=timedelta(seconds=5))
    try:
        assert not store.read(ticks.is_anything_due)
        store.write(lambda connection: runs.enqueue(connection, NewRun("known", {})))
        instants = {"past": database.now() - timedelta(minutes=1), "future": database.now() + timedelta(minutes=1)}
        (name,) = [name for name in instants if name in change]
        database.execute(f"UPDATE job_runs SET {change.format(**{name: '?'})}", [instants[name]])
        assert store.read(ticks.is_anything_due) == (database.value("SELECT count(*) AS due FROM job_due") == 1)
    finally:
        store.close()
