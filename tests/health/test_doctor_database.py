"""doctor: causes in the database and its server, and what the questions cost."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from harness import (
    App,
    Commands,
    Database,
    PostgresDatabase,
    postgresql_only,
    wait_for,
)
from harness.clinic import Check, Clinic
from harness.handlers_rows import queue
from harness.statements import before_statements
from jobrunner.admin.doctor.examine import _read as read_database
from jobrunner.settings import config
from jobrunner.store.drivers.database import Database as Store


@pytest.fixture
def clinic(jobrunner: Commands, app: App, database: Database, tmp_path: Path) -> Clinic:
    jobrunner.tick()
    return Clinic(jobrunner, app, database, tmp_path)


def test_doctor_sends_no_statement_more_and_counts_no_further_beside_a_long_queue(
    jobrunner: Commands, database: Database, store: Store
) -> None:
    """A count of the whole queue, or a look at each run, would take longer than its two seconds."""

    def look() -> tuple[int, dict[str, int]]:
        statements: list[str] = []
        with before_statements(store, lambda _, text, __: statements.append(text)):
            needed = store.read(lambda connection: read_database(connection, config.load({})))[2]
        return len(statements), dict(needed.waiting or {})

    queue(database, "gone")
    few, waiting = look()
    assert (waiting, few <= 30) == ({"gone": 1}, True)
    database.execute(
        "INSERT INTO job_runs (job_type, payload, status, priority, run_at, created_at, updated_at)"
        " WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 10100)"
        " SELECT job_type, payload, status, priority, run_at, created_at, updated_at FROM job_runs CROSS JOIN many"
    )
    assert look() == (few, {"gone": 10_000})
    found = jobrunner("doctor", "--json", "--no-crontab", check=False).json()["checks"]
    assert [each["found"] for each in found if each["name"] == "waiting runs"] == [
        "types that this host does not know: 10000+ of gone"
    ]


def test_doctor_and_health_judge_clocks_and_ticks_by_the_same_thresholds(clinic: Clinic) -> None:
    minutes = timedelta(minutes=5)
    for check, finding, setting, at in (
        ("clock", "clock_skew", "JOBRUNNER_HEALTH_CLOCK_SKEW", minutes),
        ("last tick", "ticks_stopped", "JOBRUNNER_HEALTH_TICK_AGE", -minutes),
    ):
        clinic.database.execute("UPDATE job_ticks SET started_at = ?", [clinic.database.now() + at])
        for threshold, is_told in (("1m", True), ("1h", False)):
            env = {setting: threshold}
            _, checks = clinic.examine("--no-crontab", **env)
            (verdict,) = [each["verdict"] for each in checks if each["name"] == check]
            found = clinic.jobrunner("health", "--json", env=env, check=False).json()["findings"]
            told = (verdict == "wrong", finding in [each["name"] for each in found])
            assert told == (is_told, is_told), (check, threshold)


@postgresql_only
def test_doctor_names_the_session_that_holds_our_rows(clinic: Clinic) -> None:
    assert isinstance(clinic.database, PostgresDatabase)
    run_id = queue(clinic.database, "echo")
    with closing(clinic.database.connect()) as holder:
        holder.execute("BEGIN")
        holder.execute("SELECT id FROM job_runs WHERE id = %s FOR UPDATE", [run_id])
        pid = holder.info.backend_pid

        def seen() -> list[Check]:
            return [each for each in clinic.examine("--no-crontab")[1] if each["name"] == "transactions"]

        assert [each["verdict"] for each in seen()] == ["ok"]
        (check,) = wait_for(
            lambda: [each for each in seen() if each["verdict"] == "warning"], 30, "it is idle for long"
        )
        assert f"session {pid} of the role" in check["found"]
        clinic.database.execute(check["remedy"])
        assert [each["verdict"] for each in seen()] == ["ok"]


@postgresql_only
def test_doctor_finds_tables_that_are_never_vacuumed(clinic: Clinic) -> None:
    clinic.database.execute("ALTER TABLE job_runs SET (autovacuum_enabled = false)")
    check = clinic.found("autovacuum", "wrong")
    clinic.database.execute(check["remedy"])
    assert clinic.wrong("--no-crontab") == []
