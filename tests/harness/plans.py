"""Shared by the tests of query plans: counts the rows that a statement examines, and inserts a long history."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

import psycopg
import pytest

from harness import Database
from harness.database import numbers
from harness.invariants import insert_runs
from harness.statements import before_statements
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store

MOST_ROWS = 400
MOST_BLOCKS = 1000


class Size(NamedTuple):
    """How many runs have finished, and how many rows lie in front of what is looked for."""

    finished: int
    in_front: int


A_MILLION = Size(1_000_000, 100_000)
A_FIFTH = Size(200_000, 20_000)

COLUMNS = "job_type, payload, status, priority, run_at, created_at, updated_at"
HISTORY = f"""
INSERT INTO job_runs ({COLUMNS}, finished_at, attempts, max_attempts)
SELECT 'known', '{{}}', (ARRAY['succeeded', 'succeeded', 'succeeded', 'dead', 'cancelled'])[1 + n % 5], 0,
       at, at, at, at, 1, 5
FROM (SELECT n, jobrunner_now() - n * interval '1 minute' AS at FROM generate_series(1, :finished) AS n) AS past
"""
LATER = f"""
INSERT INTO job_runs ({COLUMNS}, concurrency_key, start_deadline_at)
SELECT 'known', '{{}}', 'queued', 0, jobrunner_now() + n * interval '1 hour', jobrunner_now(), jobrunner_now(),
       'later:' || n % 1000, jobrunner_now() + n * interval '2 hours'
FROM generate_series(1, :in_front) AS n
"""
# Due, and of a type that this host does not know.
FRONT = f"""
INSERT INTO job_runs ({COLUMNS})
SELECT 'unknown', '{{}}', 'queued', 9, jobrunner_now() - n * interval '1 second', jobrunner_now(), jobrunner_now()
FROM generate_series(1, :in_front) AS n
"""
DUE = f"""
INSERT INTO job_runs ({COLUMNS})
SELECT 'known', '{{}}', 'queued', 0, jobrunner_now() - interval '1 second', jobrunner_now(), jobrunner_now()
FROM generate_series(1, 50)
"""
# Due, and for other hosts, and five for this one.
OF_HOSTS = f"""
INSERT INTO job_runs ({COLUMNS}, only_host)
SELECT 'known', '{{}}', 'queued', 0, jobrunner_now() - interval '2 seconds', jobrunner_now(), jobrunner_now(),
       CASE n % 20 WHEN 0 THEN 'here' ELSE 'host ' || n END
FROM generate_series(1, 100) AS n
"""
QUEUE = f"""
INSERT INTO job_runs ({COLUMNS})
SELECT 'known_too', '{{}}', 'queued', n % 3, jobrunner_now() - n * interval '1 second', jobrunner_now(), jobrunner_now()
FROM generate_series(1, :in_front) AS n
"""
# Twenty at work on this host, ten whose lease has expired, and a hundred of another host.
RUNNING = f"""
INSERT INTO job_runs (id, {COLUMNS}, locked_by, host, lease_token, claimed_at, started_at, attempts, max_attempts,
                      locked_until)
SELECT 2000000 + n, 'known', '{{}}', 'running', 0, jobrunner_now(), jobrunner_now(), jobrunner_now(), 'here:1:a',
       CASE WHEN n <= 20 THEN 'here' ELSE 'there' END, repeat(CASE WHEN n <= 20 THEN 't' ELSE 'o' END, 32),
       jobrunner_now(), jobrunner_now(), 1, 5,
       jobrunner_now() + CASE WHEN n BETWEEN 21 AND 30 THEN interval '-1 second' ELSE interval '9 minutes' END
FROM generate_series(1, 130) AS n
"""
OF_OTHER_HOSTS = """
UPDATE job_runs SET status = 'running', host = 'there', locked_by = 'there:1:a', lease_token = 'o', attempts = 1,
       locked_until = jobrunner_now() + interval '9 minutes', claimed_at = run_at, started_at = run_at
WHERE job_type = 'known_too' AND status = 'queued'
"""
# Five due ones of each definition, one after another; of ten of them one is at work. And some that are overdue.
KEYED = f"""
INSERT INTO job_runs ({COLUMNS}, definition_id, concurrency_key, start_deadline_at)
SELECT 'known', '{{}}', 'queued', 0, jobrunner_now() - n * interval '1 second', jobrunner_now(), jobrunner_now(),
       id, 'definition:' || id, jobrunner_now() + interval '1 hour'
FROM job_definitions, generate_series(1, 5) AS n
"""
KEYED_RUNNING = """
UPDATE job_runs SET definition_id = numbered.id, concurrency_key = 'definition:' || numbered.id
FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM job_definitions) AS numbered
WHERE job_runs.id = 2000030 + n AND n <= 10
"""
OVERDUE = f"""
INSERT INTO job_runs ({COLUMNS}, start_deadline_at)
SELECT 'unknown', '{{}}', 'queued', 0, jobrunner_now() - interval '2 hours', jobrunner_now(), jobrunner_now(),
       jobrunner_now() - interval '1 hour'
FROM generate_series(1, 50) AS n
"""
LIMITS = """
INSERT INTO job_types (job_type, max_waiting, when_full, updated_at)
SELECT job_type, 100, 'refuse', {now} FROM (SELECT 'limited' AS job_type UNION ALL SELECT 'known_too') AS limited
"""
# Behind gates: of a key with one at work, and of keys that are free; of a type with so many at work as may be, and of
# one whose rate allows none.
GATED = f"""
INSERT INTO job_runs ({COLUMNS}, gate)
SELECT CASE WHEN n % 4 = 3 THEN 'capped' WHEN n % 4 = 2 THEN 'rated' ELSE 'keyed' END, '{{{{"customer": 7}}}}',
       'queued', 9, {{now}}, {{now}}, {{now}},
       CASE WHEN n % 4 > 1 THEN 'all' WHEN n < 100 THEN 'customer [' || n || ']'
            ELSE 'customer [7]' END
FROM ({{numbers}}) AS numbered
"""
# Most of one key, and of some others; some of their gates no claim has seen yet.
FAIR = f"""
INSERT INTO job_runs ({COLUMNS}, gate)
SELECT 'fair', '{{{{"customer": 7}}}}', 'queued', 0, {{now}}, {{now}}, {{now}},
       CASE WHEN n <= 12 THEN 'customer [' || n || ']' ELSE 'customer [7]' END
FROM ({{numbers}}) AS numbered
"""
GATED_AT_WORK = f"""
INSERT INTO job_runs ({COLUMNS}, gate, locked_by, host, lease_token, claimed_at, started_at, attempts, locked_until)
SELECT CASE WHEN n > 1 THEN 'capped' ELSE 'keyed' END, '{{{{}}}}', 'running', 0, {{now}}, {{now}}, {{now}},
       CASE WHEN n > 1 THEN 'all' ELSE 'customer [7]' END, 'there:1:a', 'there', 'g', {{now}}, {{now}}, 1, {{later}}
FROM ({{numbers}}) AS numbered
"""
GATES = """
INSERT INTO job_gates (job_type, gate, turn_at)
SELECT DISTINCT job_type, gate, {now} FROM job_runs
WHERE status = 'queued' AND gate <> '' AND (job_type <> 'fair' OR gate < 'customer [8')
"""
FAIR_BY = (
    "INSERT INTO job_types (job_type, when_full, updated_at, fair_by) VALUES ('fair', 'refuse', {now}, 'customer')"
)
DECLARED = """
INSERT INTO job_limits (job_type, max_running, concurrency_key, max_running_per_key, spent_until, opens_at, asked_at)
SELECT job_type, CASE WHEN job_type = 'capped' THEN 9 END, CASE WHEN job_type IN ('keyed', 'fair') THEN 'customer' END,
       CASE WHEN job_type = 'keyed' THEN 1 END, CASE WHEN job_type = 'rated' THEN {later} END,
       CASE WHEN job_type = 'rated' THEN {later} END, {now}
FROM (SELECT 'capped' AS job_type UNION ALL SELECT 'rated' UNION ALL SELECT 'keyed' UNION ALL SELECT 'fair') AS limited
"""
# Most of one host, and the first of a host that is gone.
TRAIL = """
INSERT INTO job_ticks (host, worker, version, started_at, finished_at)
SELECT CASE WHEN n = :in_front THEN 'gone' ELSE 'here' END, 'here:1:a', '1', at, at
FROM (
  SELECT n, jobrunner_now() - n * interval '1 minute' AS at FROM generate_series(:in_front, 1, -1) AS n
) AS past
"""
EVENTS = """
INSERT INTO job_events (at, actor, action, run_id, definition_id, detail)
SELECT jobrunner_now() - n * interval '1 minute', 'someone', CASE WHEN n % 2 = 0 THEN 'cancel' ELSE 'skip slots' END,
       CASE WHEN n % 2 = 0 THEN n END, CASE WHEN n % 2 = 1 THEN n END, '{}'
FROM generate_series(1, :in_front) AS n
"""


def fill(database: Database, size: Size, *statements: str) -> None:
    """Execute statements of this module, for tables of this size."""
    for statement in statements:
        sized = statement.replace(":finished", str(size.finished)).replace(":in_front", str(size.in_front))
        database.execute(sized)


def fill_gates(database: Database, waiting: int, unmet: int = 5) -> None:
    """Runs behind gates, and some that no claim has put behind one."""
    at = "jobrunner_now()" if database.name == "postgresql" else "unixepoch() * 1000000"
    later = f"{at} + interval '9 minutes'" if database.name == "postgresql" else f"{at} + 540000000"
    for statement, count in (
        (GATED, waiting),
        (FAIR, waiting),
        (GATED_AT_WORK, 10),
        (GATES, 0),
        (DECLARED, 0),
        (FAIR_BY, 0),
    ):
        database.execute(statement.format(now=at, later=later, numbers=numbers(database, count)))
    for job_type in ("capped", "rated", "keyed", "fair"):
        insert_runs(database, unmet, job_type)
    fill_parents(database, max(3, waiting // 10))


def fill_parents(database: Database, count: int) -> None:
    """Runs that wait for the end of one that is at work; and of one that has ended dead, with something on both."""
    at_work, dead = insert_runs(database, 2, "known", has_dependants=1)
    database.execute("UPDATE job_runs SET status = 'dead', finished_at = run_at WHERE id = ?", [dead])
    at = "jobrunner_now()" if database.name == "postgresql" else "unixepoch() * 1000000"
    database.execute(
        f"INSERT INTO job_runs ({COLUMNS}, gate)"
        f" SELECT 'known', '{{}}', 'queued', 0, {at}, {at}, {at}, 'after' FROM ({numbers(database, count)}) AS numbered"
    )
    insert = "INSERT INTO job_parents (parent_id, run_id, if_parent_fails, parent_status)"
    database.execute(f"{insert} SELECT ?, id, 'cancel', NULL FROM job_runs WHERE gate = 'after'", [at_work])
    few = "SELECT id FROM job_runs WHERE gate = 'after' ORDER BY id LIMIT 3"
    for failure in ("cancel", "run"):
        database.execute(
            f"{insert} SELECT ?, id, '{failure}', 'dead' FROM ({few}) AS few WHERE id % 2 = {failure == 'run':d}",
            [dead],
        )


def fill_a_little(database: Database) -> None:
    """A few rows of each kind, on either database, so that a call sends all of its statements."""
    now = database.now()
    past, long_past, soon = now - timedelta(minutes=1), now - timedelta(days=9), now + timedelta(minutes=9)
    insert = f"INSERT INTO job_runs ({COLUMNS}"
    for job_type in ("known", "known_too", "limited"):
        database.execute(f"{insert}) VALUES (?, '{{}}', 'queued', 0, ?, ?, ?)", [job_type, past, past, past])
    # The second one waits for its limit after a claim.
    for job_type in ("known", "keyed"):
        payload = '{"customer": 1}'
        database.execute(
            f"{insert}, only_host) VALUES (?, ?, 'queued', 0, ?, ?, ?, 'here')", [job_type, payload, past, past, past]
        )
    for status in ("succeeded", "cancelled", "dead"):
        database.execute(
            f"{insert}, finished_at) VALUES ('known', '{{}}', ?, 0, ?, ?, ?, ?)", [status, *[long_past] * 4]
        )
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, outcome, started_at,"
        " finished_at) SELECT id, 1, 1, 't', 'w', 'h', 'succeeded', run_at, run_at FROM job_runs"
        " WHERE finished_at IS NOT NULL AND id NOT IN (SELECT run_id FROM job_attempts)"
    )
    # On a server that tests share, transactions of the others would put off the counting.
    database.execute("UPDATE job_state SET counting_to = 100, counting_after = 0")
    for number in range(1, 23):
        database.execute(
            f"{insert}, id, locked_by, host, lease_token, claimed_at, started_at, attempts, locked_until)"
            " VALUES ('known', '{}', 'running', 0, ?, ?, ?, ?, 'here:1:a', 'here', ?, ?, ?, 1, ?)",
            [past, past, past, 2_000_000 + number, "t" * 32, past, past, soon if number <= 20 else past],
        )
    database.execute(LIMITS.format(now="?"), [past])
    database.execute(
        "INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, last_slot_at, next_run_at,"
        " created_at, updated_at) VALUES ('little', 'free', '{}', '* * * * *', 'UTC', 'test', ?, ?, ?, ?)",
        [past] * 4,
    )
    of_slot = f"{insert}, definition_id, concurrency_key, start_deadline_at"
    definition_id = database.value("SELECT id FROM job_definitions")
    database.execute(
        f"{of_slot}) VALUES ('free', '{{}}', 'queued', 0, ?, ?, ?, ?, 'k', ?)", [past, past, past, definition_id, past]
    )
    database.execute("UPDATE job_runs SET definition_id = ?, concurrency_key = 'k' WHERE id = 2000001", [definition_id])
    database.execute("INSERT INTO job_ticks (host, worker, version, started_at) VALUES ('h', 'w', '1', ?)", [long_past])
    # A schedule of every host, and this host, which can run it.
    database.execute(
        'INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, last_slot_at, "on",'
        " created_at, updated_at) VALUES ('logs', 'known', '{}', '@daily', 'UTC', 'test', ?, 'every-host', ?, ?)",
        [past] * 3,
    )
    database.execute("INSERT INTO job_ticks (host, worker, version, started_at) VALUES ('here', 'w', '1', ?)", [past])
    database.execute(
        "INSERT INTO job_hosts (id, host, application, types, digest, can_run, settings, database, boot, last_boot,"
        " reported_at) VALUES ('x', 'here', '', '', '', '{\"known\": {}}', '{\"concurrency\": 4}', '', '', '', ?)",
        [past],
    )
    database.execute("INSERT INTO job_gates (job_type, gate) VALUES ('keyed', 'customer [1000]')")
    fill_gates(database, 40)
    database.execute(
        "INSERT INTO job_events (at, actor, action, detail) VALUES (?, 'someone', 'cancel', '{}')", [long_past]
    )


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

    def is_bounded(self, times: int = 1) -> bool:
        return self.rows <= times * MOST_ROWS and self.blocks <= times * MOST_BLOCKS

    def __str__(self) -> str:
        return f"{self.call}: {self.rows:.0f} rows, {self.blocks} blocks: {self.statement[:300]}\n{self.plan}"


def nodes(plan: dict[str, Any], depth: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    yield depth, plan
    for below in plan.get("Plans", ()):
        yield from nodes(below, depth + 1)


def examined(plan: dict[str, Any]) -> float:
    """Rows that the scans returned, rows that they threw away, and pairs of rows that a join threw away."""
    total = 0.0
    for _, node in nodes(plan):
        total += node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"]
        if "Scan" in node["Node Type"] and node["Node Type"] not in ("CTE Scan", "Subquery Scan", "Function Scan"):
            removed = sum(value for name, value in node.items() if name.startswith("Rows Removed"))
            total += (node["Actual Rows"] + removed) * node["Actual Loops"]
    return total


def shown(plan: dict[str, Any]) -> str:
    return "\n".join(
        f"  {'  ' * depth}{node['Node Type']} {node.get('Index Name', node.get('Relation Name', ''))}"
        f" rows={node['Actual Rows']} loops={node['Actual Loops']} {node.get('Index Cond', '')}"
        for depth, node in nodes(plan)
    )


def costs(store: Store, call: str, work: Callable[[Connection], Any]) -> list[Cost]:
    """What each statement of a call examines on PostgreSQL. The call is undone."""
    found: list[Cost] = []

    def explain(asked: Connection, statement: str, parameters: Any) -> None:
        if "advisory" in statement or statement.startswith(("SET", "SAVEPOINT", "RELEASE")):
            return
        connection: psycopg.Connection[Any] = asked.driver
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

    with before_statements(store, explain), pytest.raises(Undone):
        store.write(undo)
    assert found, f"{call} sent nothing"
    return found
