"""archive restore: each line is checked before one is kept, and what is done once stays done in another database."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import Commands, Database, PostgresDatabase
from harness.databases import url
from harness.declarations import deploy
from harness.handlers_rows import queue
from harness.invariants import insert_runs
from harness.tallying import count_all
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate

TABLES = ("job_runs", "job_attempts", "job_keys")
Line = dict[str, Any]


@pytest.fixture
def elsewhere(jobrunner: Commands, empty: Database) -> Iterator[Database]:
    """Another database, migrated."""
    jobrunner("migrate", env=url(empty))
    yield empty
    if isinstance(empty, PostgresDatabase):
        empty.forget_sessions()


def count_attempts(database: Database) -> None:
    with closing(Store(locate(database.url), patience=timedelta(seconds=20))) as store:
        count_all(database, store)


def archived(jobrunner: Commands, database: Database, file: Path, count: int = 3) -> list[Line]:
    """The lines of an archive of some runs."""
    for number in range(count):
        jobrunner("enqueue", "echo", "--key", f"once:{number}", "--payload", json.dumps({"n": number}))
    jobrunner.tick()
    place = {"value": {"é": [1.5, 12345678901234567890]}, "steps": {"load": None}}
    database.execute("UPDATE job_runs SET checkpoint = ? WHERE id = 1", [place])
    count_attempts(database)
    jobrunner("archive", "runs", "--until", "0s", file)
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def write(file: Path, lines: list[Line]) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def setting(name: str, value: object) -> Callable[[Line], object]:
    return lambda line: line["run"].update({name: value})


def of_attempt(name: str, value: object) -> Callable[[Line], object]:
    return lambda line: line["attempts"][0].update({name: value})


def without(name: str) -> Callable[[Line], object]:
    return lambda line: line["run"].pop(name)


def with_id(value: object) -> Callable[[Line], object]:
    def change(line: Line) -> None:
        line["run"]["id"] = value
        for attempt in line["attempts"]:
            attempt["run_id"] = value

    return change


WRONG: dict[str, tuple[Callable[[Line], object], str]] = {
    "the highest id": (with_id(2**63 - 1), "9223372036854775807 is not from 1 to 9007199254740991"),
    "an id too large for a column": (with_id(2**64), "is not from 1 to"),
    "no id": (with_id(None), "is not from 1 to"),
    "id 0": (with_id(0), "is not from 1 to"),
    "an id that is text": (with_id("7"), "is not from 1 to"),
    "the highest id of an attempt": (of_attempt("id", 2**63 - 1), "is not from 1 to"),
    "an attempt of another run": (of_attempt("run_id", 77), "an attempt is not of run"),
    "queued": (setting("status", "queued"), "is 'queued', but an archive holds runs that have ended"),
    "running": (setting("status", "running"), "is 'running', but an archive holds runs that have ended"),
    "waiting for its next try": (setting("status", "failed"), "is 'failed', but"),
    "an unknown status": (setting("status", "done"), "is 'done', but"),
    "ended at no time": (setting("finished_at", None), "the database refuses it"),
    "a lease": (setting("lease_token", "x"), "the database refuses it"),
    "no type": (without("job_type"), "job_type is missing"),
    "an unknown column": (setting("colour", "red"), "has no column 'colour' in this version"),
    "an instant without a zone": (setting("created_at", "2026-01-01T00:00:00"), "naive"),
    "an instant that is none": (setting("created_at", "soon"), "RFC3339"),
    "text for a number": (setting("attempts", "many"), "the database refuses it"),
    "an outcome that is no text": (of_attempt("outcome", None), "the database refuses it"),
}


def test_line_that_jobrunner_cannot_have_written_is_refused_with_its_number_and_nothing_is_restored(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "runs.jsonl"
    whole = archived(jobrunner, database, file)
    before = {name: database.query(f"SELECT * FROM {name}") for name in TABLES}
    for case, (change, said) in WRONG.items():
        lines = json.loads(json.dumps(whole))
        change(lines[2])
        write(file, lines)
        told = jobrunner.refused(2, "archive", "restore", file)
        assert told.startswith(f"jobrunner: {file}, line 3: "), case
        assert said in told, (case, told)
        assert {name: database.query(f"SELECT * FROM {name}") for name in TABLES} == before, case
    # The ids go on where they were.
    assert int(jobrunner("enqueue", "echo").stdout) == 4


def test_archive_of_a_version_without_newer_columns_is_restored(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    file = tmp_path / "runs.jsonl"
    lines = archived(jobrunner, database, file)
    for line in lines[1:]:
        del (
            line["run"]["checkpoint"],
            line["attempts"][0]["peak_memory_bytes"],
            line["attempts"][0]["processor_seconds"],
        )
    write(file, lines)
    assert jobrunner("archive", "restore", file, env=url(elsewhere)).stdout.startswith("restored 3 runs")


def test_run_whose_slot_another_run_has_is_refused_and_both_are_named(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "@daily")
    slot = {"definition_id": 1, "scheduled_for": database.now() - timedelta(days=9)}
    (first,) = insert_runs(database, 1, "echo", status="succeeded", finished_at=database.now(), **slot)
    file = tmp_path / "runs.jsonl"
    jobrunner("archive", "runs", "--until", "0s", "--keep", file)
    database.execute("DELETE FROM job_runs")
    insert_runs(database, 1, "echo", status="succeeded", finished_at=database.now(), **slot)
    told = jobrunner.refused(2, "archive", "restore", file)
    assert f"line 2: the slot of run {first} is that of another run of nightly" in told


def test_a_run_of_another_database_is_not_taken_for_the_one_that_is_there(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    file = tmp_path / "runs.jsonl"
    archived(jobrunner, database, file)
    queue(elsewhere, "echo")
    done = jobrunner("archive", "restore", file, env=url(elsewhere), check=False)
    assert (done.returncode, done.stderr) == (
        2,
        f"jobrunner: {file}, line 2: another run in the database has the id 1; nothing was restored\n",
    )
    assert len(elsewhere.query("SELECT id FROM job_runs")) == 1


@pytest.mark.promise("P4")
def test_restored_run_keeps_its_key_so_that_its_work_is_not_done_again(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    file = tmp_path / "runs.jsonl"
    archived(jobrunner, database, file)
    for target in (elsewhere, database):
        jobrunner("archive", "restore", file, env=url(target))
        again = jobrunner("enqueue", "echo", "--key", "once:1", "--json", env=url(target)).json()
        assert (again["id"], again["created"]) == (2, False)
        held = target.query("SELECT idempotency_key, run_id FROM job_keys ORDER BY run_id")
        assert held == [{"idempotency_key": f"once:{number}", "run_id": number + 1} for number in range(3)]


def test_newest_run_of_a_key_has_it_after_a_restore(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    """A key may have been free again between two runs; the archive is in the order of their ends."""
    file = tmp_path / "runs.jsonl"
    lines = archived(jobrunner, database, file)
    for line in lines[1:]:
        line["run"]["idempotency_key"] = "same"
    write(file, [lines[0], lines[2], lines[3], lines[1]])
    jobrunner("archive", "restore", file, env=url(elsewhere))
    (key,) = elsewhere.query("SELECT idempotency_key, run_id FROM job_keys")
    assert key == {"idempotency_key": "same", "run_id": 3}


def test_restored_run_belongs_to_the_schedule_of_its_name_and_to_no_other(
    jobrunner: Commands, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    """In another database another schedule has the id that this one had."""
    add = ("schedule", "add")
    words = ("--type", "echo", "--cron", "@hourly")
    jobrunner(*add, "first", *words)
    jobrunner("schedule", "trigger", "first")
    jobrunner.tick()
    count_attempts(database)
    file = tmp_path / "runs.jsonl"
    jobrunner("archive", "runs", "--until", "0s", "--keep", file)
    jobrunner(*add, "other", *words, env=url(elsewhere))
    jobrunner("archive", "restore", file, env=url(elsewhere))
    named = "SELECT job_runs.definition_id FROM job_runs"
    assert elsewhere.value(named) is None
    elsewhere.execute("DELETE FROM job_runs")
    jobrunner(*add, "first", *words, env=url(elsewhere))
    jobrunner("archive", "restore", file, env=url(elsewhere))
    assert (
        elsewhere.value(f"{named} JOIN job_definitions ON job_definitions.id = definition_id AND name = 'first'") == 2
    )


def test_restored_run_belongs_to_its_schedule_also_if_that_was_renamed_meanwhile(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    """With its type, or by hand; and no run belongs to a schedule that nobody has renamed."""
    code = (
        "from jobrunner import Schedule\n@job({!r}, schedule=Schedule('@hourly'), formerly={})\ndef clean(ctx): pass\n"
    )
    deploy(jobrunner, code=code.format("clean", []))
    for name in ("by hand", "another"):
        jobrunner("schedule", "add", name, "--type", "clean", "--cron", "@hourly")
    for name in ("clean", "by hand", "another"):
        jobrunner("schedule", "trigger", name)
    jobrunner.tick()
    count_attempts(database)
    file = tmp_path / "runs.jsonl"
    jobrunner("archive", "runs", "--until", "0s", file)
    deploy(jobrunner, code=code.format("tidy", ["clean"]))
    deploy(jobrunner, code=code.format("sweep", ["clean", "tidy"]))
    jobrunner("schedule", "edit", "by hand", "--name", "at night")
    database.execute("UPDATE job_definitions SET name = 'unknown' WHERE name = 'another'")
    jobrunner("archive", "restore", file)
    named = (
        "SELECT name FROM job_runs LEFT JOIN job_definitions ON job_definitions.id = definition_id ORDER BY job_runs.id"
    )
    assert [row["name"] for row in database.query(named)] == ["sweep", "at night", None]
