"""An application that enqueues reads only one setting: the limit of a payload."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harness import Database, SQLiteDatabase
from jobrunner.application import enqueueing
from jobrunner.errors import BadPayload, ConfigurationError

WRONG_FOR_A_TICK = {"LEASE": "nonsense", "CONCURRENCY": "0", "DATABSE_URL": "x", "LINGER": "1y"}


def enqueue(database: Database, payload: dict[str, Any]) -> None:
    enqueueing._settings_in.cache_clear()
    path = database.path if isinstance(database, SQLiteDatabase) else None
    with closing(sqlite3.connect(path) if path else psycopg.connect(database.url)) as connection:
        enqueueing.enqueue(connection, "echo", payload)
        connection.commit()


def test_an_enqueue_in_an_application_does_not_fail_by_a_setting_that_only_a_tick_needs(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in WRONG_FOR_A_TICK.items():
        monkeypatch.setenv(f"JOBRUNNER_{name}", value)
    enqueue(database, {})
    file = tmp_path / "jobrunner.toml"
    file.write_text('[settings]\nlease = "nonsense"\npayload_limit = 20\n[jobs.backup]\ncommand = "no list"\n')
    monkeypatch.setenv("JOBRUNNER_CONFIG", str(file))
    enqueue(database, {"fits": 1})
    with pytest.raises(BadPayload):
        enqueue(database, {"too": "long" * 10})
    # What it does need is still checked.
    file.write_text('[settings]\npayload_limit = "nonsense"\n')
    with pytest.raises(ConfigurationError, match=r"settings\.payload_limit"):
        enqueue(database, {})
    assert database.value("SELECT count(*) FROM job_runs") == 2
