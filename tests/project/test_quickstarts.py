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
_OF_CRONTAB = pages.place("quickstart-crontab.md")
CRONTAB_FIRST, CRONTAB = SESSIONS[f"{_OF_CRONTAB} The first job"], SESSIONS[f"{_OF_CRONTAB} By hand, step by step"]
EMPTY = SESSIONS[pages.place("quickstart-empty.md")]
# The settings of Django and Flask name their database; test_django.py and test_flask_fastapi.py have them on both.
ON_POSTGRESQL = [CRONTAB_FIRST, CRONTAB, EMPTY, SESSIONS[f"{pages.place('quickstart-app.md')} FastAPI"]]
_OF_APP = pages.place("quickstart-app.md")
WAYS = {
    "README": SESSIONS["README.md The first job"],
    "crontab": CRONTAB_FIRST,
    "Flask": SESSIONS[f"{_OF_APP} Flask"],
    "FastAPI": SESSIONS[f"{_OF_APP} FastAPI"],
    "Django": SESSIONS[f"{_OF_APP} Django"],
    "nothing": EMPTY,
}
NOT_COUNTED = (
    "python3 -m venv ",
    ". .venv/",
    "pip install ",
    "django-admin startproject ",
    "python manage.py startapp ",
)
"""What installs, and what makes the project that somebody with Django has."""
THERE_ALREADY = ("my.crontab",)
_HAS_SUCCEEDED = re.compile(r"^(== run 1 succeeded|\d\d:\d\d:\d\dZ  succeeded  run 1 )", re.MULTILINE)


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("session", ON_POSTGRESQL, ids=lambda session: session.name)
@postgresql_only
def test_quickstart_on_postgresql_differs_only_in_the_url(session: Session, database: Database, tmp_path: Path) -> None:
    typed = "".join(block.text for block in session.blocks if block.saved_as)
    typed += "".join(command for block in session.blocks if block.is_run for command in block.commands)
    (shown,) = set(re.findall(r"sqlite:///[\w$/]+\.db", typed))
    Reader(tmp_path / "you", {shown: database.url}).check(session)


@pytest.mark.parametrize("way", WAYS)
def test_first_job_takes_at_most_three_commands_and_one_file(way: str) -> None:
    """Each command counts that is typed after the installation, up to the one that shows the end of the first run."""
    commands, files = to_first_job(WAYS[way])
    assert 1 <= len(commands) <= 3, commands
    assert len(files) == 1, files


def to_first_job(session: Session) -> tuple[list[str], list[str]]:
    """The commands and the files of a quick start up to the end of its first run."""
    commands: list[str] = []
    files: list[str] = []
    for block in session.blocks:
        if block.saved_as and block.saved_as not in THERE_ALREADY:
            files.append(block.saved_as)
        if block.is_run:
            parts = block.text.split("\n$ ")
            for command, printed in zip(block.commands, parts, strict=True):
                commands += [] if command.startswith(NOT_COUNTED) else [command]
                if _HAS_SUCCEEDED.search(printed):
                    return commands, files
    raise AssertionError(f"{session.name}: it shows no run that has succeeded")


def test_quickstart_from_a_crontab_begins_with_its_import(tmp_path: Path) -> None:
    """Each command prints what the page shows."""
    Reader(tmp_path / "you").check(CRONTAB_FIRST)


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
