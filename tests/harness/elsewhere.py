"""A database of the other kind beside the one of a test, and a bit of everything to bring into it."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from harness.app import App
from harness.commands import Commands
from harness.database import Database, PostgresDatabase, SQLiteDatabase
from harness.databases import Copies, url
from harness.tallying import count_all
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate


@pytest.fixture
def elsewhere(database: Database, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated database of the other kind."""
    if isinstance(database, PostgresDatabase):
        found = SQLiteDatabase(tmp_path / "elsewhere.db")
        jobrunner: Commands = request.getfixturevalue("jobrunner")
        jobrunner("migrate", env=url(found))
        yield found
        return
    copies: Copies = request.getfixturevalue("postgres_copies")
    made = copies.make()
    yield made
    made.forget_sessions()
    copies.drop(made.database)


def target_of(database: Database, tmp_path: Path) -> str:
    """The argument that names a database, whose password is in a file."""
    file = tmp_path / "target"
    file.write_text(database.url)
    return f"@{file}"


def fill(jobrunner: Commands, app: App, database: Database) -> None:
    """A bit of everything, with an order of the numbers that another database does not have."""
    app.write(
        "more",
        """
        from jobrunner import job

        @job("pay")
        def pay(ctx, order):
            ctx.checkpoint({"order": order, "é\\u2028": [1.50, 12345678901234567890, None]})
            return ctx.once(f"charge:{order}", lambda: {"paid": order})
        """,
    )
    app.imports = "handlers,more"
    add = ("schedule", "add")
    jobrunner(*add, "gone", "--type", "echo", "--cron", "@daily")
    jobrunner(*add, "nightly", "--type", "echo", "--cron", "0 2 * * *", "--payload", '{"size": 12345678901234567890}')
    jobrunner("schedule", "remove", "gone")
    jobrunner("schedule", "pause", "nightly", "--reason", "a move")
    jobrunner("pause", "--type", "sleep", "--reason", "too hot")
    jobrunner("limit", "sleep", "--max-running", "2", "--until", "2h", "--reason", "still hot")
    for order in (7, 8):
        jobrunner("enqueue", "pay", "--payload", json.dumps({"order": order}), "--key", f"order:{order}")
    jobrunner("schedule", "trigger", "nightly")
    jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 3
    with closing(Store(locate(database.url), patience=timedelta(seconds=20))) as store:
        count_all(database, store)
