"""archive: what it deletes is in the file first, and comes back from it as it was."""

import json
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import Commands, Database, SQLiteDatabase
from harness.fault_points import ARCHIVE_POINTS
from harness.handlers_rows import queue
from harness.tallying import count_all
from jobrunner.lifecycle import Status
from jobrunner.store.changes import archive
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate

DAY = timedelta(days=1)
PAYLOAD = {"id": 2**80 + 1, "name": "Zoë 👋 \u2028", "exact": 0.1, "deep": [{"a": None}], "text": 'a\n"b"\\'}
RUNS = "SELECT * FROM job_runs ORDER BY id"
ATTEMPTS = "SELECT * FROM job_attempts ORDER BY id"


def end(database: Database, status: str = "succeeded", age: timedelta = 100 * DAY, **values: Any) -> int:
    """A run that ended so long ago, with two attempts."""
    at = database.now() - age + timedelta(microseconds=123457)
    row = {"run_at": at, "created_at": at, "updated_at": at, "finished_at": at, "attempts": 2, "max_attempts": 5}
    run_id = queue(database, "report", PAYLOAD, status=status, **row, timeout=0.1, **values)
    for sequence in (1, 2):
        database.execute(
            "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
            " outcome, status, error, traceback) VALUES (?, ?, ?, ?, 'w', 'h', ?, ?, 'failed', ?, 'naïve', ?)",
            [run_id, sequence, sequence, f"t{sequence}", at, at, status, "line 1\n\tline 2"],
        )
    return run_id


def count_attempts(database: Database) -> None:
    with closing(Store(locate(database.url), patience=timedelta(seconds=20))) as store:
        count_all(database, store)


def all_rows(database: Database) -> tuple[list[Any], list[Any]]:
    return database.query(RUNS), database.query(ATTEMPTS)


def test_archived_runs_are_deleted_and_come_back_as_they_were(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")
    end(database, result={"n": 2**70}, definition_id=1, scheduled_for=database.now() - 99 * DAY)
    end(database, "dead", error_type="ValueError", last_error="naïve")
    end(database, "cancelled")
    young, waiting = end(database, age=DAY), queue(database, "report")
    count_attempts(database)
    before, stats = all_rows(database), jobrunner("stats", "--since", "300d", "--json").json()["types"]
    file = tmp_path / "runs.jsonl"
    done = jobrunner("archive", "runs", "--until", "90d", file)
    assert done.stdout == f"wrote 3 runs to {file}\ndeleted 3 runs; 0 stay or were gone\n"
    assert [row["id"] for row in database.query(RUNS)] == [young, waiting]
    assert file.stat().st_mode & 0o777 == 0o600
    head, *lines = [json.loads(line) for line in file.read_text("utf-8").rstrip().split("\n")]
    assert head["jobrunner_archive"] == 1
    assert [line["run"]["payload"] for line in lines] == [PAYLOAD] * 3
    assert [len(line["attempts"]) for line in lines] == [2, 2, 2]
    assert "wrote" not in jobrunner("archive", "runs", "--until", "90d", tmp_path / "more.jsonl").stdout
    assert not (tmp_path / "more.jsonl").exists()
    for told in ("restored 3 runs; 0 were", "restored 0 runs; 3 were"):
        assert told in jobrunner("archive", "restore", file).stdout
        assert all_rows(database) == before
    assert jobrunner("stats", "--since", "300d", "--json").json()["types"] == stats
    # Nothing is counted again.
    count_attempts(database)
    assert jobrunner("stats", "--since", "300d", "--json").json()["types"] == stats
    assert [each["job_type"] for each in stats] == ["report"]


def test_archive_can_be_restored_into_another_database(jobrunner: Commands, database: Database, tmp_path: Path) -> None:
    jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")
    run_id = end(database, definition_id=1)
    count_attempts(database)
    file, other = tmp_path / "runs.jsonl", SQLiteDatabase(tmp_path / "other.db")
    jobrunner("archive", "runs", "--until", "90d", "--type", "report", file)
    env = {"JOBRUNNER_DATABASE_URL": other.url}
    jobrunner("migrate", env=env)
    jobrunner("archive", "restore", file, env=env)
    shown = jobrunner("show", run_id, "--json", env=env).json()
    assert (shown["payload"], shown["definition_id"], len(other.query(ATTEMPTS))) == (PAYLOAD, None, 2)
    # The next run gets an id of its own.
    assert int(jobrunner("enqueue", "echo", env=env).stdout) == run_id + 1
    database.execute("DELETE FROM job_runs")
    jobrunner("archive", "restore", file)
    assert int(jobrunner("enqueue", "echo").stdout) == run_id + 1


def test_archive_loses_no_run_wherever_it_is_killed(jobrunner: Commands, database: Database, tmp_path: Path) -> None:
    ids = {end(database) for _ in range(3)}
    count_attempts(database)
    before = all_rows(database)
    for number, point in enumerate(ARCHIVE_POINTS):
        file, trace = tmp_path / f"{number}.jsonl", tmp_path / f"trace{number}"
        env = {"JOBRUNNER_FAULT": f"{point}=kill", "JOBRUNNER_FAULT_TRACE": str(trace)}
        assert jobrunner("archive", "runs", "--until", "90d", file, env=env, check=False, cold=True).returncode == -9
        assert point in trace.read_text()
        held = (
            {json.loads(line)["run"]["id"] for line in file.read_text("utf-8").rstrip().split("\n")[1:]}
            if file.exists()
            else set()
        )
        left = {row["id"] for row in database.query(RUNS)}
        assert held | left == ids
        if file.exists():
            jobrunner("archive", "finish", file)
            assert database.query(RUNS) == []
            jobrunner("archive", "restore", file)
        assert all_rows(database) == before
    # What is left of a killed one is no archive, and is in nobody's way.
    refused = jobrunner("archive", "runs", "--until", "90d", tmp_path / "1.jsonl", check=False)
    assert (refused.returncode, refused.stderr) == (2, f"jobrunner: {tmp_path / '1.jsonl'} exists; give a new name\n")


def retry(jobrunner: Commands, database: Database, run_id: int) -> None:
    jobrunner("retry", run_id)


def refer(jobrunner: Commands, database: Database, run_id: int) -> None:
    database.execute("CREATE TABLE own (run_id BIGINT REFERENCES job_runs (id))")
    database.execute("INSERT INTO own VALUES (?)", [run_id])


def repeat(jobrunner: Commands, database: Database, run_id: int) -> None:
    """It ends as before, and has one attempt more than the file."""
    retry(jobrunner, database, run_id)
    at = database.now()
    database.execute("UPDATE job_runs SET status = 'dead', finished_at = ? WHERE id = ?", [at, run_id])


@pytest.mark.parametrize("change", [retry, repeat, refer], ids=["retried", "retried and ended again", "referred to"])
def test_archived_run_that_is_needed_stays_in_the_database(
    jobrunner: Commands, database: Database, tmp_path: Path, change: Callable[[Commands, Database, int], None]
) -> None:
    needed, _ = end(database, "dead"), end(database, "dead")
    count_attempts(database)
    file = tmp_path / "runs.jsonl"
    jobrunner("archive", "runs", "--until", "90d", "--keep", file)
    change(jobrunner, database, needed)
    done = jobrunner("archive", "finish", file)
    assert "deleted 1 runs; 1 stay" in done.stdout
    assert [row["id"] for row in database.query(RUNS)] == [needed]
    assert ("foreign key" in done.stdout.lower()) == (change is refer)


def test_run_whose_attempts_are_not_counted_yet_is_in_no_archive(database: Database, store: Store) -> None:
    """Put back, it would be counted twice, or never."""
    counted = end(database, "dead")
    count_attempts(database)
    uncounted = end(database, "dead")

    def read(connection: Connection) -> archive.Batch:
        return archive.read(connection, Status.DEAD, database.now(), (), None, 10)

    batch = store.read(read)
    assert ([each.run["id"] for each in batch.runs], batch.left_out) == ([counted], 1)
    count_attempts(database)
    assert [each.run["id"] for each in store.read(read).runs] == [counted, uncounted]


def test_file_that_is_no_whole_archive_is_refused(jobrunner: Commands, database: Database, tmp_path: Path) -> None:
    end(database)
    count_attempts(database)
    file = tmp_path / "runs.jsonl"
    jobrunner("archive", "runs", "--until", "90d", file)
    whole = file.read_bytes()
    for content, said in (
        (b"", "was cut"),
        (b'{"id": 1}\n', "is no archive"),
        (whole[:-20], "line 2"),
        (whole.replace(b'"attempts":[', b'"tries":['), "line 2"),
    ):
        file.write_bytes(content)
        for words in ("restore", "finish"):
            assert said in jobrunner.refused(2, "archive", words, file)
    assert database.query(RUNS) == []
    for words in ([], ["runs"], ["restore", "--type", "x"]):
        assert jobrunner("archive", *words, file, check=False).returncode == 2
