"""What ``verify`` reads of a long history in one slice: asserted on rows examined, on PostgreSQL, as for ticks."""

from datetime import timedelta
from typing import Any

import pytest

from harness import PostgresDatabase, postgresql_only
from harness.plans import A_FIFTH, A_MILLION, EVENTS, HISTORY, QUEUE, RUNNING, TRAIL, Size, costs, fill
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.verify.reading import read, texts

ATTEMPTS = """
INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, outcome, status, started_at,
                          finished_at)
SELECT id, 1, 1, 't', 'w', 'h', 'succeeded', status, run_at, finished_at FROM job_runs WHERE finished_at IS NOT NULL
"""
KEYS = """
UPDATE job_runs SET idempotency_key = 'k' || id WHERE id % 10 = 0 AND finished_at IS NOT NULL;
INSERT INTO job_keys (job_type, idempotency_key, run_id, created_at)
SELECT job_type, idempotency_key, id, run_at FROM job_runs WHERE idempotency_key IS NOT NULL
"""
EFFECTS = """
INSERT INTO job_effects (key, state, run_id, job_type, attempt, lease_token, token, intended_at, settled_at)
SELECT 'e' || id, 'applied', id, job_type, 1, 't', 'c', run_at, run_at FROM job_runs WHERE idempotency_key IS NOT NULL
"""
PARENTS = """
INSERT INTO job_parents (parent_id, run_id, if_parent_fails, parent_status)
SELECT id - 1, id, 'run', 'succeeded' FROM job_runs WHERE id % 10 = 1 AND finished_at IS NOT NULL
"""
SLOTS = """
INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, last_slot_at, created_at, updated_at)
SELECT 'schedule ' || n, 'known', '{}', '* * * * *', 'UTC', 'test', jobrunner_now(), jobrunner_now(), jobrunner_now()
FROM generate_series(1, 20) AS n;
UPDATE job_runs SET definition_id = 1, scheduled_for = run_at
WHERE idempotency_key IS NOT NULL AND job_type = 'known'
"""
A_SLICE = 1000
MIDDLE = 100_000
HOUR = timedelta(hours=1)
SLICES: dict[str, Any] = {
    "after": MIDDLE,
    "first": MIDDLE,
    "last": MIDDLE + A_SLICE,
    "limit": A_SLICE,
    "definition_id": 1,
    "key": f"e{MIDDLE}",
}
NOT_BOUNDED_BY_A_SLICE = {
    **dict.fromkeys(
        ("last_old_tick", "worked_tick", "steps"),
        "once, or once a slice: ticks, which are kept for days",
    ),
    "archived": "once: events about no run, of which a person or an archive makes each",
    "put_back": "once: events about no run",
    "skips_of_schedule": "once a schedule: its own events",
    "counted": "the tallies: a row an hour and type",
}


def reading(name: str, now: Any) -> Any:
    statement = texts()[name]
    times = {"since": now - HOUR, "until": now + HOUR}
    given = {each: value for each, value in {**SLICES, **times}.items() if f":{each}" in statement}

    def work(connection: Connection) -> Any:
        return read(connection, name, **given)

    return work


@postgresql_only
@pytest.mark.parametrize(
    "size", [pytest.param(A_FIFTH, id="a fifth"), pytest.param(A_MILLION, id="a million", marks=pytest.mark.long)]
)
def test_no_statement_of_verify_reads_more_of_a_long_history_than_its_slice(
    database: PostgresDatabase, store: Store, size: Size
) -> None:
    fill(database, size, HISTORY, ATTEMPTS, *KEYS.split(";"), EFFECTS, PARENTS, *SLOTS.split(";"), QUEUE, RUNNING)
    fill(database, size, TRAIL, EVENTS)
    # Without any statistics of it, a slice of effects is sorted out of all that come after it.
    database.execute("ANALYZE job_effects")
    problems = []
    for when in ("before ANALYZE", "after ANALYZE"):
        if when == "after ANALYZE":
            database.execute("ANALYZE")
        for name in texts().keys() - NOT_BOUNDED_BY_A_SLICE.keys():
            found = costs(store, f"{name}, {when}", reading(name, database.now()))
            problems += [str(cost) for cost in found if not cost.is_bounded(times=15)]
    assert not problems, "\n".join(problems)


def test_exceptions_from_the_plan_checks_of_verify_are_statements_of_verify() -> None:
    assert NOT_BOUNDED_BY_A_SLICE.keys() <= texts().keys()
