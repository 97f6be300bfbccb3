"""`jobrunner errors`: what fails, grouped."""

from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from harness import Commands, Database
from harness.invariants import insert_runs
from harness.statements import before_statements
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions import error_groups
from jobrunner.store.questions.error_groups import Errors, errors
from jobrunner.store.questions.selection import Selection

HOUR = timedelta(hours=1)


def fail(database: Database, error: str, job_type: str = "append", status: str = "dead", **columns: object) -> int:
    at = database.now() - timedelta(minutes=1)
    row = {"status": status, "error_type": "ValueError", "last_error": error, "failed_at": at, **columns}
    (run_id,) = insert_runs(database, 1, job_type, **row, **({"finished_at": at} if status == "dead" else {}))
    return run_id


def test_errors_are_grouped_by_type_and_text_and_many_numbers_are_one_group(
    jobrunner: Commands, database: Database
) -> None:
    for number in (17, 18, 19):
        fail(database, f"no customer {number}")
    newest = fail(database, "no customer 20\nsecond line", status="failed")
    fail(database, "HTTP 404")
    fail(database, "HTTP 500")
    fail(database, "no customer 17", job_type="other")
    fail(database, "in hand", status="queued")
    found = jobrunner("errors", "--json").json()
    assert (found["runs"], found["searched_back_to"]) == (7, None)
    first, *rest = found["groups"]
    times = (first.pop("first_at"), first.pop("last_at"))
    assert first == {
        "job_type": "append",
        "error_type": "ValueError",
        "error": "no customer #",
        "count": 4,
        "dead": 3,
        "failing": 1,
        "sample_id": newest,
    }
    assert times[0] < times[1]
    assert [(each["job_type"], each["error"]) for each in rest] == [
        ("other", "no customer 17"),
        ("append", "HTTP 500"),
        ("append", "HTTP 404"),
    ]
    shown = jobrunner("errors", "--type", "append", "--limit", "1").stdout.splitlines()
    assert shown[0].split() == ["RUNS", "DEAD", "TYPE", "FIRST", "LAST", "SAMPLE", "ERROR"]
    assert shown[1].endswith(f"{newest}       ValueError: no customer #")
    assert shown[2:] == ["and 2 more, of 2 runs: see --limit 3"]


def test_errors_of_a_time_are_those_of_that_time_and_none_is_said_only_if_there_is_none(
    jobrunner: Commands, database: Database
) -> None:
    fail(database, "disk full")
    fail(database, "\x1b[2Jevil\u202e", job_type="evil", error_type=None)
    database.move_clock(timedelta(hours=5))
    assert jobrunner("errors", "--since", "2h").stdout == "no errors\n"
    shown = jobrunner("errors", "--since", "6h").stdout
    assert "ValueError: disk full" in shown
    assert "\x1b" not in shown
    assert "\\x1b[2Jevil\\u202e" in shown


def test_errors_that_were_not_all_read_are_never_said_to_be_none(
    database: Database, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    monkeypatch.setattr(error_groups, "_FIRST_LOOK", 3)

    def found(seconds: float) -> Errors:
        return store.read(lambda connection: errors(connection, Selection(error="disk full"), seconds=seconds))

    at = database.now()
    for status, ended in (("dead", "finished_at"), ("failed", "failed_at")):
        for age in range(5):
            insert_runs(database, 1, status=status, last_error="other", **{ended: at - age * HOUR})
        insert_runs(database, 1, status=status, last_error="disk full", **{ended: at - 9 * HOUR})
        hasty = found(0)
        assert (hasty.groups, hasty.runs, hasty.searched_back_to) == ([], 0, at - 2 * HOUR)
        patient = found(60)
        assert ([each.error for each in patient.groups], patient.runs) == (["disk full"], 1)
        assert patient.searched_back_to is None
        database.execute("DELETE FROM job_runs")


def test_errors_are_read_by_an_index_in_few_statements_however_many_there_are(database: Database, store: Store) -> None:
    """Beside 300,000 failing runs the page took 1.2 s, and 70 statements: each thousand runs was one."""
    insert_runs(database, 1, status="failed", last_error="no customer 1", failed_at=database.now())
    insert_runs(database, 1, status="dead", last_error="no customer 2", finished_at=database.now())
    columns = "job_type, payload, status, priority, run_at, created_at, updated_at, finished_at, failed_at, last_error"
    copied = columns.replace("last_error", "last_error || n")
    database.execute(
        f"INSERT INTO job_runs ({columns})"
        " WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 3000)"
        f" SELECT {copied} FROM job_runs CROSS JOIN many"
    )
    explains, sent = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN"}[database.name], list[str]()

    def explain(connection: Connection, statement: str, parameters: Any) -> None:
        is_look = "last_error" in statement
        plan = connection.driver.execute(f"{explains} {statement}", parameters or ()) if is_look else ()
        sent.append(" ".join(str(tuple(row)) for row in plan))

    with closing(store), before_statements(store, explain):
        found = store.read(lambda connection: errors(connection, Selection(), seconds=0, looks=2))
    assert sum(each.count for each in found.groups) == found.runs == 4000
    assert found.searched_back_to is not None
    plans = [plan for plan in sent if plan]
    assert ["job_runs_finished" in plans[0], "job_runs_failing" in plans[1]] == [True, True], plans
    assert (len(plans), len(sent) <= 6) == (2, True), sent
