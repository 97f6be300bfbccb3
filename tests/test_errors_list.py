"""`jobrunner errors`: what fails, grouped."""

from datetime import timedelta

import pytest

from harness import Commands, Database
from harness.invariants import insert_runs
from jobrunner.store import search
from jobrunner.store.database import Database as Store
from jobrunner.store.error_groups import errors
from jobrunner.store.location import locate
from jobrunner.store.selection import Selection

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
    assert shown[2:] == ["and 2 more, of 2 runs: --limit 3"]


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
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(database, "disk full")
    old = insert_runs(database, 3, created_at=database.now() - HOUR)[-1]
    insert_runs(database, 3)
    monkeypatch.setattr(search, "_FEW", 0)
    monkeypatch.setattr(search, "_SLICE", (4, 4, 4))
    store = Store(locate(database.url), patience=timedelta(seconds=20))
    found = store.read(lambda connection: errors(connection, Selection(), seconds=0))
    store.close()
    assert (found.groups, found.runs) == ([], 0)
    rows = database.query("SELECT created_at FROM job_runs WHERE id = ?", [old])
    assert found.searched_back_to == rows[0]["created_at"]
