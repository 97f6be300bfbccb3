"""Thousands of definitions due at once: expanded in batches, each slot once, and a bad one stops no other."""

import json
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only
from harness.backpressure import limit, waiting
from harness.database import Row
from harness.slots import NO_HANDLERS, go_to, skipped_ranges, slots_with_runs, utc
from harness.statements import before_statements
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.timetable import expansion
from jobrunner.store.timetable.schedules import Expanded
from jobrunner.worker.expansion import plan

# Many batches.
MANY = 10_000
NOON = utc(2026, 5, 1, 12)
HOUR = timedelta(hours=1)


def define(database: Database, count: int, job_type: str = "echo", *, since: datetime = NOON, **values: Any) -> None:
    """Definitions that are due every full hour, none of whose slots up to ``since`` is to be looked at again."""
    row = {"job_type": job_type, "payload": {"of": job_type}, "schedule": "0 * * * *", "timezone": "UTC"}
    row |= {"source": "test", "last_slot_at": since, "next_run_at": since + HOUR, "created_at": since}
    row |= {"updated_at": since} | values
    numbers = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)"
    marks = ", ".join(
        "CAST(? AS JSONB)" if isinstance(value, dict) and database.name != "sqlite" else "?" for value in row.values()
    )
    database.execute(
        f"INSERT INTO job_definitions (name, {', '.join(row)}) {numbers}"
        f" SELECT '{job_type} ' || n, {marks} FROM numbers",
        [count, *(json.dumps(value) if isinstance(value, dict) else value for value in row.values())],
    )


def at(database: Database, instant: datetime) -> None:
    go_to(database, instant + timedelta(seconds=1))


def slot_runs(database: Database) -> list[Row]:
    return database.query(
        "SELECT d.name, r.payload, r.run_at, r.scheduled_for, r.status, d.last_slot_at, d.next_run_at FROM job_runs r"
        " JOIN job_definitions d ON d.id = r.definition_id ORDER BY d.id, r.scheduled_for"
    )


@pytest.mark.promise("P3", "P12")
def test_ticks_at_once_expand_thousands_of_definitions_once_each(jobrunner: Commands, database: Database) -> None:
    define(database, MANY)
    at(database, NOON + 3 * HOUR)
    ticks = [jobrunner.start("tick", env=NO_HANDLERS) for _ in range(4)]
    assert [(*tick.communicate(timeout=120), tick.returncode) for tick in ticks] == [("", "", 0)] * 4
    rows = slot_runs(database)
    slot = NOON + 3 * HOUR
    assert [row["name"] for row in rows] == [f"echo {n}" for n in range(1, MANY + 1)]
    assert {(row["run_at"], row["scheduled_for"], row["last_slot_at"]) for row in rows} == {(slot, slot, slot)}
    assert {(row["next_run_at"], row["status"]) for row in rows} == {(slot + HOUR, "queued")}
    assert all(row["payload"] == {"of": "echo"} for row in rows)
    assert skipped_ranges(database, f"echo {MANY}") == [(NOON + HOUR, NOON + 2 * HOUR, 2)]
    told = database.query("SELECT action, count(*) AS n FROM job_events GROUP BY action")
    assert told == [{"action": "skip slots", "n": MANY}]


@pytest.mark.promise("P3", "P12")
def test_definition_refused_by_the_database_does_not_stop_its_batch(jobrunner: Commands, database: Database) -> None:
    """Found: one row that the database did not take ended each tick with a traceback, and no other was expanded."""
    define(database, 40)
    refused = [1, 17, 18, 40]
    refuse_runs_of(database, [f"echo {n}" for n in refused])
    define(database, 10, "append")
    at(database, NOON + HOUR)
    for _ in range(2):
        done = jobrunner.tick(env=NO_HANDLERS)
        assert (done.stdout, done.stderr) == ("", "")
    assert len(slot_runs(database)) == 46
    problems = {row["name"]: row["last_error"] for row in jobrunner.status()["schedules"] if row["last_error"]}
    assert sorted(problems) == sorted(f"echo {n}" for n in refused)
    assert all("the database refuses it" in problem and "\n" not in problem for problem in problems.values())
    assert database.value("SELECT count(*) FROM job_events WHERE action = 'cannot expand'") == len(refused)
    take_runs_again(database)
    jobrunner.tick(env=NO_HANDLERS)
    assert [slots_with_runs(database, f"echo {n}") for n in (2, 17)] == [[NOON + HOUR]] * 2
    assert not [row for row in jobrunner.status()["schedules"] if row["last_error"]]


def refuse_runs_of(database: Database, names: list[str]) -> None:
    """A constraint of the application."""
    listed = ", ".join(f"'{name}'" for name in names)
    ids = [str(row["id"]) for row in database.query(f"SELECT id FROM job_definitions WHERE name IN ({listed})")]
    if database.name == "sqlite":
        database.execute(
            f"CREATE TRIGGER refusing BEFORE INSERT ON job_runs WHEN NEW.definition_id IN ({', '.join(ids)})"
            " BEGIN SELECT RAISE(ABORT, 'not these'); END"
        )
    else:
        database.execute(
            f"ALTER TABLE job_runs ADD CONSTRAINT refusing CHECK (definition_id NOT IN ({', '.join(ids)}))"
        )


def take_runs_again(database: Database) -> None:
    if database.name == "sqlite":
        database.execute("DROP TRIGGER refusing")
    else:
        database.execute("ALTER TABLE job_runs DROP CONSTRAINT refusing")


def test_thousand_definitions_take_as_few_statements_as_one(database: Database, store: Store) -> None:
    """Whatever their policies are, and also where there are older runs to be replaced."""
    counts = []
    try:
        for count in (1, 1000):
            define(database, count, f"all.{count}", misfire="all", overlap="queue", jitter=60.0)
            define(database, count, f"new.{count}", overlap="replace", start_deadline=86400.0)
            at(database, NOON + 2 * HOUR)
            assert len(expanded_all(store)) == 2 * count
            database.execute("UPDATE job_definitions SET last_slot_at = ?, next_run_at = NULL", [NOON + 2 * HOUR])
            at(database, NOON + 4 * HOUR)
            sent: list[str] = []
            with before_statements(store, lambda *told, sent=sent: sent.append(told[1])):
                assert len(expanded_all(store)) == 2 * count
            counts.append(len(sent))
            assert database.value("SELECT count(*) AS n FROM job_events WHERE action = 'replace'") == count
            for table in ("job_runs", "job_events", "job_definitions"):
                database.execute(f"DELETE FROM {table}")
    finally:
        store.close()
    assert counts[0] == counts[1] < 15


def expanded_all(store: Store) -> list[Expanded]:
    store.close()  # a session that was connected before goes by the old clock
    batch: expansion.Batch = store.write(lambda each: expansion.expand_many(each, 5000, (), plan))
    # Those of limited types are expanded one by one.
    assert batch.limited == []
    return batch.expanded


def test_max_waiting_is_exact_among_many_definitions(jobrunner: Commands, database: Database) -> None:
    limit(database, "append", 3)
    define(database, 20)
    define(database, 7, "append")
    at(database, NOON + HOUR)
    jobrunner.tick(env=NO_HANDLERS)
    assert (waiting(database, "echo"), waiting(database, "append")) == (20, 3)
    reasons = [row["detail"]["reason"] for row in database.query("SELECT detail FROM job_events")]
    assert reasons == ["max_waiting"] * 4


@postgresql_only
def test_locked_limit_is_waited_for_once_and_not_per_definition(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    limit(database, "append", 100)
    define(database, 30, "append")
    define(database, 5)
    at(database, NOON + HOUR)
    log = app.path("log")
    with psycopg.connect(database.url) as application:
        application.execute("UPDATE job_types SET job_type = job_type")
        jobrunner.tick(env={**NO_HANDLERS, "JOBRUNNER_LOG": str(log)})
        assert (waiting(database, "echo"), waiting(database, "append")) == (5, 0)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    said = [line["error"] for line in lines if line["event"] == "postponed"]
    assert len(said) == 30
    assert sum("a moment ago" in error for error in said) == 29
    jobrunner.tick(env=NO_HANDLERS)
    assert waiting(database, "append") == 30
