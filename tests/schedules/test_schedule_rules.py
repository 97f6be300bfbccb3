"""An invalid schedule is refused with the same words by commands, file, code and SQL."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import Commands, Database
from harness.slots import NO_HANDLERS, go_to, utc
from jobrunner.errors import JobrunnerError
from jobrunner.schedules.declare import Schedule, declare_all
from jobrunner.settings import toml_file, toml_schedules

GOOD: Mapping[str, Any] = {"expression": "0 3 * * *", "timezone": "UTC"}
# What is said of a schedule instead, and the words of the refusal.
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a jitter longer than the interval": (
        {"expression": "*/5 * * * *", "jitter": "6m"},
        "jitter: 6m is longer than the shortest time between two slots, 5m",
    ),
    "a jitter with a start deadline shorter than a tick": (
        {"jitter": "10m", "start_deadline": "40s"},
        "start_deadline: 40s can be over before the next tick",
    ),
    "a start deadline of slots between ticks": (
        {"expression": "every 90s", "start_deadline": "30s"},
        "start_deadline: 30s can be over before the next tick",
    ),
    "a zone that is none": ({"timezone": "Factory"}, "bad time zone 'Factory': not a known zone"),
    "a description without end": ({"description": "x" * 1001}, "the description of a schedule is a text of up to 1000"),
}
_COLUMNS = {"expression": "schedule"}


def said_by_code(said: dict[str, Any]) -> str:
    with pytest.raises(JobrunnerError) as refused:
        declare_all(Schedule(**said), None, "echo", lambda payload: None)
    return str(refused.value)


def said_of_file(said: dict[str, Any], folder: Path) -> str:
    path = folder / "jobrunner.toml"
    pairs = {"schedule" if key == "expression" else key: value for key, value in said.items()}
    path.write_text("\n".join(["[schedules.n]", 'job = "echo"', *(f"{k} = {json.dumps(v)}" for k, v in pairs.items())]))
    with pytest.raises(JobrunnerError) as refused:
        toml_schedules.declarations(path, toml_file.read(path).schedules, 1000)
    return str(refused.value)


def options(said: dict[str, Any]) -> list[str]:
    expression = "schedule" if str(said.get("expression")).startswith("every") else "cron"
    words = {expression if key == "expression" else key.replace("_", "-"): value for key, value in said.items()}
    return [word for key, value in words.items() for word in (f"--{key}", str(value))]


@pytest.mark.parametrize(("said", "words"), BAD.values(), ids=BAD.keys())
def test_invalid_schedule_options_are_refused_by_code_and_file(
    said: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert words in said_by_code({**GOOD, **said})
    assert words in said_of_file({**GOOD, **said}, tmp_path)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("said", "words"), BAD.values(), ids=BAD.keys())
def test_invalid_schedule_options_are_refused_by_add_and_edit(
    jobrunner: Commands, database: Database, said: dict[str, Any], words: str
) -> None:
    """Before anything reaches a database, whichever it is."""
    jobrunner("schedule", "add", "old", "--type", "echo", *options(dict(GOOD)))
    before = database.query("SELECT * FROM job_definitions")
    jobrunner.refused(2, "schedule", "add", "n", "--type", "echo", *options({**GOOD, **said}), says=[words])
    jobrunner.refused(2, "schedule", "edit", "old", *options(said), says=[words])
    assert database.query("SELECT * FROM job_definitions") == before


@pytest.mark.promise("P12")
def test_invalid_schedule_options_written_by_sql_are_shown_as_a_problem(
    jobrunner: Commands, database: Database
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    jobrunner("schedule", "add", "good", "--type", "echo", *options(dict(GOOD)))
    columns = "job_type, payload, timezone, source, misfire, overlap, misfire_most, runs_made, application"
    for name, (said, _) in BAD.items():
        database.execute(
            f"INSERT INTO job_definitions (name, schedule, {columns}, last_slot_at, created_at, updated_at)"
            f" SELECT ?, schedule, {columns}, last_slot_at, created_at, updated_at FROM job_definitions"
            " WHERE name = 'good'",
            [name],
        )
        for key, value in said.items():
            is_duration = key in ("jitter", "start_deadline")
            given = (
                timedelta(**{"minutes" if value[-1] == "m" else "seconds": int(value[:-1])}).total_seconds()
                if is_duration
                else value
            )
            column = _COLUMNS.get(key, key)
            database.execute(f"UPDATE job_definitions SET {column} = ? WHERE name = ?", [given, name])
    assert jobrunner.tick(env=NO_HANDLERS).stderr == ""
    problems = {row["name"]: row["last_error"] for row in jobrunner("schedule", "list", "--json").json()}
    assert problems.pop("good") is None
    for name, (_, words) in BAD.items():
        assert words in problems[name]
