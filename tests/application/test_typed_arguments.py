"""Arguments that JSON has no type for, from each way in, through a tick into the handler's own child."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harness import App, Commands, Database, SQLiteDatabase, typed_jobs
from harness.handlers_rows import queue
from jobrunner import enqueue
from jobrunner.application.enqueueing import Entry
from jobrunner.errors import PayloadMismatch


@pytest.fixture
def module(app: App) -> Any:
    """The handlers of the application, imported here, too."""
    app.imports = "typed_handlers"
    return typed_jobs.load(app.folder)


def connect(database: Database) -> Any:
    path = database.path if isinstance(database, SQLiteDatabase) else None
    return closing(sqlite3.connect(path) if path else psycopg.connect(database.url))


def test_every_kind_of_argument_survives_each_way_into_the_queue(
    jobrunner: Commands, database: Database, module: Any, app: App, tmp_path: Path
) -> None:
    values = module.VALUES
    with connect(database) as connection:
        module.take.enqueue(connection, **values)
        module.take_async.using(priority=5).enqueue(connection, **values)
        module.take.enqueue_many(connection, [values, Entry(values), module.take.using().entry(**values)])
        enqueue(connection, "take", values)
        connection.commit()
    text = json.dumps(database.query("SELECT payload FROM job_runs WHERE id = 1")[0]["payload"])
    queue(database, "take", json.loads(text))
    (tmp_path / "payload").write_text(text)
    jobrunner("enqueue", "take", "--payload", f"@{tmp_path}/payload")
    jobrunner("schedule", "add", "as_added", "--type", "take", "--cron", "@daily", "--payload", text)
    jobrunner("apply")
    for name in ("as_added", "daily"):
        jobrunner("schedule", "trigger", name)
    assert jobrunner.tick().stderr == ""
    runs = database.query("SELECT job_type, status, result, last_error FROM job_runs ORDER BY id")
    assert [(run["status"], run["last_error"]) for run in runs] == [("succeeded", None)] * 10
    assert runs.pop()["result"] == repr((values["day"], module.timedelta(hours=1)))
    expected = {name: repr(value) for name, value in values.items()}
    for run in runs:
        assert run["result"] == expected, run


def test_payload_that_cannot_be_converted_is_refused_by_each_way_in_and_waits_for_a_deploy_otherwise(
    jobrunner: Commands, database: Database, module: Any
) -> None:
    problem = "argument 'day' must be date: Invalid RFC3339 encoded date"
    wrong = {"day": "soon", "wait": "PT1H"}
    with connect(database) as connection:
        for call in (
            lambda: module.daily.enqueue(connection, **wrong),
            lambda: enqueue(connection, "daily", wrong),
            lambda: module.daily.enqueue_many(connection, [wrong]),
        ):
            with pytest.raises(PayloadMismatch, match=problem):
                call()
        connection.commit()
    text = json.dumps(wrong)
    jobrunner(
        "schedule",
        "add",
        "mine",
        "--type",
        "daily",
        "--cron",
        "@daily",
        "--payload",
        '{"day": "2026-01-05", "wait": "PT1H"}',
    )
    for arguments in (
        ("enqueue", "daily", "--payload", text),
        ("schedule", "add", "other", "--type", "daily", "--cron", "@daily", "--payload", text),
        ("schedule", "edit", "mine", "--payload", text),
    ):
        refused = jobrunner(*arguments, check=False)
        assert refused.returncode == 2
        assert refused.stderr == f"jobrunner: the payload does not fit the job type 'daily': {problem}\n"
    assert database.value("SELECT count(*) FROM job_runs") == 0
    # The database cannot know what a handler takes.
    queue(database, "daily", wrong)
    assert jobrunner.tick().stderr == ""
    (run,) = database.query("SELECT status, attempts, last_error FROM job_runs")
    assert (run["status"], run["attempts"]) == ("failed", 0)
    assert problem in run["last_error"]


def test_schedule_of_the_file_whose_payload_cannot_be_converted_is_not_applied(
    jobrunner: Commands, database: Database, module: Any, app: App
) -> None:
    (app.folder / "jobrunner.toml").write_text(
        '[schedules.s]\njob = "daily"\nschedule = "@daily"\npayload = { day = "2026-01-05", wait = "soon" }\n'
    )
    refused = jobrunner("apply", check=False)
    assert refused.returncode == 78
    assert (
        "schedules.s: the payload does not fit the job type 'daily': argument 'wait' must be timedelta"
        in refused.stderr
    )
    assert database.value("SELECT count(*) FROM job_definitions") == 0


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (
            "date | datetime",
            "the parameter 'x' of the handler wrong is datetime.date | datetime.datetime, which a payload",
        ),
        ("Hidden", "an annotation of the handler wrong cannot be resolved: NameError: name 'Hidden' is not defined;"),
    ],
)
def test_annotation_that_cannot_be_used_is_told_when_the_handlers_are_imported(
    jobrunner: Commands, app: App, annotation: str, problem: str
) -> None:
    app.write(
        "handlers",
        f"""
        from __future__ import annotations
        from datetime import date, datetime
        from jobrunner import Context, job

        @job
        def wrong(ctx: Context, x: {annotation}): ...
        """,
    )
    jobrunner.refused(78, "types", says=[problem])
