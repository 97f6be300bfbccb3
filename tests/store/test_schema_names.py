"""The names that JOBRUNNER_SCHEMA may have, and a schema where there can be none."""

import json
from pathlib import Path

import pytest

from harness import Commands, Database, sqlite_only
from jobrunner.errors import ConfigurationError
from jobrunner.settings import config

HOSTILE = [
    'jobs"; DROP TABLE job_runs; --',
    "jobs.public",
    "a b",
    "1st",
    "ä",
    "x" * 64,
    "pg_jobs",
    "information_schema",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_name_that_cannot_be_a_schema_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "jobrunner.toml"
    file.write_text(f"[settings]\nschema = {json.dumps(name)}\n")
    for environ in ({"JOBRUNNER_SCHEMA": name}, {"JOBRUNNER_CONFIG": str(file)}):
        for read in (config.load, config.for_enqueue):
            with pytest.raises(ConfigurationError, match="schema"):
                read(environ)


def test_schema_is_read_from_the_environment_and_the_file(tmp_path: Path) -> None:
    file = tmp_path / "jobrunner.toml"
    file.write_text('[settings]\nschema = "filed"\n')
    environ = {"JOBRUNNER_CONFIG": str(file)}
    assert (config.load(environ).schema, config.for_enqueue(environ).schema) == ("filed", "filed")
    environ["JOBRUNNER_SCHEMA"] = "select"
    assert (config.load(environ).schema, config.for_enqueue(environ).schema) == ("select", "select")
    assert (config.load({}).schema, config.for_enqueue({}).schema) == (None, None)


@sqlite_only
def test_tick_with_a_schema_and_an_sqlite_file_is_refused(jobrunner: Commands, database: Database) -> None:
    """The URL is missing, most likely: such a cron would look at an empty file for ever."""
    for words in (["tick"], ["status"], ["migrate"]):
        jobrunner.refused(
            78, *words, env={"JOBRUNNER_SCHEMA": "jobs"}, says=["JOBRUNNER_SCHEMA", "JOBRUNNER_DATABASE_URL"]
        )
    assert database.query("SELECT * FROM job_ticks") == []
