"""The quick starts, followed from an empty folder: each command prints what its page shows."""

import os
import re
import sqlite3
import subprocess
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from harness import Database, SQLiteDatabase, pages, postgresql_only
from harness.commands import COMMAND
from harness.pages import Reader, Session
from harness.processes import Patient

# Some twenty commands one after the other, on a machine that has other things to do.
pytestmark = pytest.mark.timeout(300)

SESSIONS = {session.name: session for session in pages.sessions()}
CRONTAB = SESSIONS[pages.place("quickstart-crontab.md")]
EMPTY = SESSIONS[pages.place("quickstart-empty.md")]
# The settings of Django and Flask name their database; test_django.py and test_flask_fastapi.py have them on both.
ON_POSTGRESQL = [CRONTAB, EMPTY, SESSIONS[f"{pages.place('quickstart-app.md')} FastAPI"]]


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("session", ON_POSTGRESQL, ids=lambda session: session.name)
@postgresql_only
def test_quickstart_on_postgresql_differs_only_in_the_url(session: Session, database: Database, tmp_path: Path) -> None:
    typed = "".join(command for block in session.blocks if block.is_run for command in block.commands)
    (shown,) = set(re.findall(r"sqlite:///\$PWD/\w+\.db", typed))
    Reader(tmp_path / "you", {shown: database.url}).check(session)


def test_quickstart_from_nothing_needs_about_ten_commands() -> None:
    commands = [command for block in EMPTY.blocks if block.language == "console" for command in block.commands]
    assert len(commands) <= 11


@pytest.mark.parametrize(("session", "folder"), [(CRONTAB, "/srv/app"), (EMPTY, "/home/you/app")], ids=lambda _: "")
def test_crontab_lines_run_from_home_with_crons_own_environment(session: Session, folder: str, tmp_path: Path) -> None:
    """Each command prints what the page shows; and the last thing that it asks for: runs come by themselves."""
    reader = Reader(tmp_path / "you")
    reader.check(session)
    database = SQLiteDatabase(reader.folder / "jobs.db")
    database.move_clock(timedelta(days=7, minutes=1))
    name = "tests/project/test_quickstarts.py::test_crontab_lines_run_from_home_with_crons_own_environment"
    (line,) = [block.text for block in session.blocks if block.checked_by == name]
    done = as_cron(line.replace(f"{folder}/.venv/bin/jobrunner", COMMAND).replace(folder, str(reader.folder)), reader)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    scheduled = database.query("SELECT status FROM job_runs WHERE scheduled_for IS NOT NULL")
    assert scheduled
    assert {row["status"] for row in scheduled} == {"succeeded"}


def as_cron(line: str, reader: Reader) -> "subprocess.CompletedProcess[str]":
    every_minute = "* * * * * "
    assert line.startswith(every_minute)
    environment = {"HOME": str(reader.home), "LOGNAME": "you", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        ["/bin/sh", "-c", line.removeprefix(every_minute)],
        cwd=reader.home,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_sqlalchemys_recipe_for_sqlite_begins_writing_transactions(tmp_path: Path) -> None:
    """A transaction that has read can still write, even if another one wanted to write in between."""
    (block,) = pages.checked_by(
        "tests/project/test_quickstarts.py::test_sqlalchemys_recipe_for_sqlite_begins_writing_transactions"
    )
    file = tmp_path / "app.db"
    engine = create_engine(f"sqlite:///{file}")
    exec(block.text, {"engine": engine})
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE numbers (n INTEGER)"))
    with engine.begin() as connection:
        connection.execute(text("SELECT * FROM numbers")).all()
        assert is_held(file)
        connection.execute(text("INSERT INTO numbers VALUES (1)"))
    assert not is_held(file)
    engine.dispose()


def test_djangos_setting_for_sqlite_begins_writing_transactions(tmp_path: Path) -> None:
    (block,) = pages.checked_by(
        "tests/project/test_quickstarts.py::test_djangos_setting_for_sqlite_begins_writing_transactions"
    )
    file = tmp_path / "app.db"
    script = f"""
import django, sys, time
from django.conf import settings
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {str(file)!r}}}}}
{block.text}
settings.configure(DATABASES=DATABASES)
django.setup()
from django.db import connection, transaction
with transaction.atomic():
    connection.introspection.table_names()
    print("open", flush=True)
    sys.stdin.readline()
"""
    process = Patient(
        [Path(COMMAND).with_name("python"), "-c", script],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "open\n"
        assert is_held(file)
        process.stdin.write("\n")
    assert process.returncode == 0
    assert not is_held(file)


def is_held(file: Path) -> bool:
    """Whether another connection has begun to write."""
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        other.execute("ROLLBACK")
    return False
