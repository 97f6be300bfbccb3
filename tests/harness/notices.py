"""Hooks in a file of settings, the ticks that follow them, and what was told."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.invariants import insert_runs
from harness.receivers import Web, web_server

HOUR = timedelta(hours=1)
CHAT = '[notify.receivers.chat]\nurl_env = "CHAT_URL"\n'


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as found:
        yield found


def configure(app: App, text: str, receivers: str = CHAT) -> None:
    app.path("jobrunner.toml").write_text(f"{text}\n{receivers}", encoding="utf-8")


def tick(jobrunner: Commands, web: Web, **env: str) -> str:
    return jobrunner.tick(env={"CHAT_URL": web.url, **env}).stderr


def dead(database: Database, job_type: str = "fail", count: int = 1, **values: Any) -> list[int]:
    """Runs that have just died, and nobody was told."""
    now = database.now()
    columns = {"status": "dead", "finished_at": now, "error_type": "E", "last_error": "as asked", "attempts": 1}
    return insert_runs(database, count, job_type, **{**columns, **values})


def notices(database: Database) -> list[tuple[str, str, str, int]]:
    rows = database.query("SELECT event, receiver, outcome, runs FROM job_notices ORDER BY id")
    return [(row["event"], row["receiver"], row["outcome"], row["runs"]) for row in rows]


def told(web: Web) -> list[tuple[str, int]]:
    return [(each.json()["event"], each.json()["count"]) for each in web.requests]
