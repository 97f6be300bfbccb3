"""history: what happened in a time, on one time line."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from harness import Commands, Database, PostgresDatabase, postgresql_only, sqlite_only
from harness.at_work import OWNER, running
from harness.database import numbers
from harness.handlers_rows import queue
from harness.plans import costs
from harness.statements import before_statements
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions import history
from jobrunner.store.questions.history import Asked, Entry, History

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


def read(store: Store, asked: Asked) -> History:
    return store.read(lambda connection: history.history(connection, asked))


def attempt(database: Database, at: datetime, outcome: str = "succeeded", sequence: int = 1, **run: object) -> int:
    """A run with one attempt that took ten seconds and ended then."""
    run_id = int(str(run.pop("run_id", 0))) or queue(
        database, str(run.pop("job_type", "echo")), status="dead", finished_at=at, **run
    )
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
        " outcome, error_type, error) VALUES (?, ?, 1, ?, 'vm:1:a', 'vm', ?, ?, ?, ?, ?)",
        [
            run_id,
            sequence,
            f"{sequence}",
            at - 10 * SECOND,
            at,
            outcome,
            *(["E", "why\x1b[2J"] if sequence > 1 else [None] * 2),
        ],
    )
    return run_id


def tick(database: Database, started_at: datetime, worker: str, error: str | None = None) -> None:
    database.execute(
        "INSERT INTO job_ticks (host, worker, version, started_at, error) VALUES (?, ?, '1', ?, ?)",
        [OWNER.host, worker, started_at, error],
    )


def last_night(jobrunner: Commands, database: Database) -> datetime:
    """Five hours of everything that can happen. Returns their end."""
    now = database.now().replace(microsecond=0)
    jobrunner("schedule", "add", "nightly", "--type", "report", "--cron", "@daily", "--allow-unknown")
    schedule = int(database.value("SELECT id FROM job_definitions"))
    run_id = attempt(
        database,
        now - 4 * HOUR,
        "lease_expired",
        job_type="report",
        definition_id=schedule,
        scheduled_for=now - 5 * HOUR,
    )
    attempt(database, now - 3 * HOUR, "failed", 2, run_id=run_id)
    tick(database, now - 5 * HOUR + SECOND, "killed")
    tick(database, now - 2 * HOUR, "failed", "the disk is full")
    tick(database, now - 2 * HOUR, OWNER.name)
    tick(database, now - SECOND, "at work")
    database.execute(
        "INSERT INTO job_events (at, actor, action, definition_id, detail) VALUES (?, 'tick', 'skip slots', ?, ?)",
        [now - HOUR, schedule, '{"count": 3, "reason": "overlap"}'],
    )
    running(database, 1, job_type="slow", started_at=now - HOUR / 2)
    attempt(database, now - 20 * HOUR)
    return now


def test_last_night_stands_on_one_time_line(jobrunner: Commands, database: Database) -> None:
    last_night(jobrunner, database)
    waiting = queue(database, "echo")
    jobrunner("cancel", waiting)
    found = jobrunner("history", "--json").json()
    told = [(each["kind"], each["what"], each["schedule"], each["run_id"]) for each in found["entries"]]
    assert told == [
        ("slot", "slot", "nightly", 1),
        ("tick", "tick killed", None, None),
        ("attempt", "lease_expired", "nightly", 1),
        ("attempt", "failed", "nightly", 1),
        ("tick", "tick failed", None, None),
        ("event", "skip slots", "nightly", None),
        ("attempt", "running", None, 2),
        ("event", "add schedule", "nightly", None),
        ("event", "cancel", None, waiting),
    ]
    assert found["next_since"] is None
    lines = jobrunner("history").stdout.splitlines()
    assert len(lines) == 1 + len(told)
    assert lines[1].endswith("of nightly, its run is dead")
    assert lines[4].endswith("of nightly, attempt 2, on vm, took 10s: E: why\\x1b[2J")
    assert lines[5].endswith("failed: the disk is full")
    assert lines[6].endswith("of nightly, count 3, reason overlap")
    assert f"by {database.value('SELECT actor FROM job_events WHERE run_id = ?', [waiting])}" in lines[9]


def test_history_of_a_type_a_schedule_or_a_time_has_only_that(jobrunner: Commands, database: Database) -> None:
    now = last_night(jobrunner, database)

    def kinds(*words: str) -> list[str]:
        return [each["what"] for each in jobrunner("history", "--json", *words).json()["entries"]]

    of_schedule = ["slot", "lease_expired", "failed", "skip slots", "add schedule"]
    assert kinds("--schedule", "nightly") == of_schedule
    assert kinds("--type", "report") == of_schedule
    assert kinds("--type", "slow") == ["running"]
    assert sorted(kinds("--type", "report", "--type", "slow")) == sorted([*of_schedule, "running"])
    assert kinds("--since", "3h30m", "--until", "90m") == ["failed", "tick failed"]
    assert kinds("--since", (now - 21 * HOUR).isoformat(), "--until", "19h") == ["succeeded"]
    assert jobrunner("history", "--since", "1s", "--type", "none").stdout.startswith("nothing happened between 20")
    refused = jobrunner("history", "--schedule", "nihgtly", check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "did you mean 'nightly'" in refused.stderr


def test_many_successes_of_a_minute_are_one_line(database: Database, store: Store) -> None:
    minute = database.now().replace(second=0, microsecond=0) - HOUR
    for second in range(30):
        attempt(database, minute + second * SECOND)
    failed = attempt(database, minute + 15 * SECOND, "failed", 2)
    first, second = read(store, Asked(2 * HOUR)).entries
    assert (first.count, first.at, first.until, first.run_id) == (30, minute, minute + 29 * SECOND, None)
    assert (second.run_id, second.count) == (failed, 1)


@pytest.mark.parametrize("most_read", [5, 5000])
def test_pages_of_a_history_have_each_entry_once(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch, most_read: int
) -> None:
    begin = database.now().replace(microsecond=0) - HOUR
    # Four at each instant: they are not parted.
    ids = [attempt(database, begin + number // 4 * SECOND, "failed", 2) for number in range(22)]
    monkeypatch.setattr(history, "_MOST_READ", most_read)
    seen: list[Entry] = []
    since: datetime | timedelta | None = 2 * HOUR
    while since is not None:
        page = read(store, Asked(since, limit=6))
        assert len(page.entries) <= 6
        seen += page.entries
        since = page.next_since
    assert [each.run_id for each in seen] == ids


@sqlite_only
def test_history_searches_every_table_by_an_index(database: Database, store: Store) -> None:
    attempt(database, database.now(), "failed", 2)
    plans: list[str] = []

    def explain(connection: Connection, statement: str, parameters: Any) -> None:
        if not statement.startswith("BEGIN"):
            rows = connection.driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters or ()).fetchall()
            plans.extend(tuple(row)[3] for row in rows)

    with before_statements(store, explain):
        read(store, Asked(HOUR))
    scanned = [each for each in plans if re.match("SCAN job_(runs|attempts|events|ticks)", each)]
    assert scanned == ["SCAN job_runs USING INDEX job_runs_lease"]
    assert len(plans) > 8


@postgresql_only
def test_history_reads_no_more_than_its_time_beside_a_long_past(database: PostgresDatabase, store: Store) -> None:
    run_id = queue(database, "echo")
    count = 20_000
    past = f"jobrunner_now() - ({count} - n) * interval '1 minute'"
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
        f" outcome) SELECT {run_id}, n, 1, n, 'w', 'h', {past}, {past}, 'failed'"
        f" FROM ({numbers(database, count)}) AS numbered"
    )
    for table, columns, values in (
        ("job_events", "at, actor, action, detail", f"{past}, 'tick', 'x', '{{}}'"),
        ("job_ticks", "started_at, host, worker, version", f"{past}, 'h', n, '1'"),
        (
            "job_runs",
            "finished_at, job_type, payload, status, priority, run_at, created_at, updated_at",
            f"{past}, 'echo', '{{}}', 'dead', 0, {past}, {past}, {past}",
        ),
    ):
        database.execute(
            f"INSERT INTO {table} ({columns}) SELECT {values} FROM ({numbers(database, count)}) AS numbered"
        )
    database.execute("ANALYZE")
    found = costs(store, "history", lambda connection: history.history(connection, Asked(HOUR)))
    assert [str(each) for each in found if not each.is_bounded()] == []
    assert 100 < len(read(store, Asked(HOUR)).entries) <= 200
