"""A tick without work: it takes a short way, and has the same visible effects as a full tick."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only
from harness.handlers_rows import queue
from harness.idle_ticks import HEAVY, IN_FULL, quiet_hour, tick, trails

pytestmark = pytest.mark.cold


@pytest.fixture(autouse=True)
def nothing_to_do(database: Database) -> None:
    quiet_hour(database)


def test_an_idle_tick_imports_no_heavy_library(jobrunner: Commands, database: Database) -> None:
    # The first one also makes the note of which database it has used.
    assert tick(jobrunner).was_short
    short = tick(jobrunner)
    assert (short.was_short, short.said) == (True, "")
    costly = {"asyncio", "dataclasses", "inspect", "logging", "pathlib", "psycopg", "socket", "subprocess", "tomllib"}
    costly |= {"typing", "zoneinfo"}
    # Only the library of a server is loaded by ctypes, and only the URL of a server has parts.
    costly |= {"ctypes", "urllib.parse"} if isinstance(database, SQLiteDatabase) else set()
    assert not short.imported & costly
    assert not tick(jobrunner, *IN_FULL).was_short, "the test would not see a heavy library"


def test_idle_tick_compiles_no_type_of_a_field(jobrunner: Commands, app: App) -> None:
    """The first type in quotes that is compiled costs as much as the import of a library."""
    app.write(
        "sitecustomize",
        "import sys\ndef say(event, seen):\n    if event == 'compile' and seen[1] == '<string>':\n"
        "        print('compiled:', seen[0], file=sys.stderr)\nsys.addaudithook(say)\n",
    )
    env = {"PYTHONPATH": str(app.folder)}
    assert tick(jobrunner, env=env).was_short
    said = tick(jobrunner, env=env).said.splitlines()
    # The tuples themselves are made of a text, without a tree of their syntax.
    assert [line for line in said if "compiled: b'lambda _cls, " not in line] == []
    assert said, "the test would not see a compilation"


def test_a_child_imports_little_before_the_handlers() -> None:
    """Twenty of them start for twenty slow runs, and their imports are most of that."""
    code = "import sys, jobrunner.children.inside.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    costly = {*HEAVY, "asyncio", "dataclasses", "logging", "pathlib", "psycopg", "sqlite3", "subprocess"}
    assert costly.intersection(done.stdout.split()) == set()


@postgresql_only
def test_idle_tick_without_libpq_is_as_short_through_psycopg(jobrunner: Commands, app: App) -> None:
    app.write("sitecustomize", "import ctypes\ndef none(name):\n    raise OSError\nctypes.CDLL = none\n")
    short = tick(jobrunner, env={"PYTHONPATH": str(app.folder)})
    assert (short.was_short, short.said, "psycopg" in short.imported) == (True, "", True)
    assert len(trails(jobrunner.database)) == 1


@postgresql_only
def test_idle_tick_sends_values_that_look_like_sql_as_values(jobrunner: Commands, database: Database) -> None:
    host = "it's %s \\' $1"
    assert tick(jobrunner, env={"JOBRUNNER_HOST": host}).was_short
    assert [trail["host"] for trail in trails(database)] == [host]


def test_idle_tick_writes_the_same_row_as_a_full_tick(jobrunner: Commands, database: Database) -> None:
    began_at = database.now() - timedelta(seconds=1)
    assert tick(jobrunner, env={"JOBRUNNER_HOST": "here"}).was_short
    assert not tick(jobrunner, *IN_FULL, env={"JOBRUNNER_HOST": "here"}).was_short
    short, full = trails(database)
    for row in (short, full):
        assert began_at <= row.pop("started_at") <= row.pop("finished_at") <= database.now()
        host, pid, mark = row.pop("worker").split(":")
        assert (host, pid.isdigit(), len(mark), row.pop("id") > 0) == ("here", True, 8, True)
    assert short == full
    assert (short["host"], short["counts"], short["error"]) == ("here", {}, None)
    assert [each["host"] for each in jobrunner.status()["ticks"]] == ["here"]


def test_tick_row_uses_the_database_clock(jobrunner: Commands, database: Database) -> None:
    database.set_clock_offset(timedelta(days=-3))
    quiet_hour(database)
    assert tick(jobrunner).was_short
    (trail,) = trails(database)
    assert abs(trail["started_at"] - database.now()) < timedelta(minutes=1)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("how", ["flag", "joined flag", "environment", "env file", "configuration file"])
def test_an_idle_tick_writes_the_same_line_to_its_log(jobrunner: Commands, tmp_path: Path, how: str) -> None:
    log = tmp_path / "log"
    (tmp_path / "app.env").write_text(f"JOBRUNNER_LOG={log}\n")
    (tmp_path / "other.toml").write_text('[settings]\nlog = "log"\n')
    words: dict[str, list[object]] = {
        "flag": ["--log", log],
        "joined flag": [f"--log={log}"],
        "environment": [],
        "env file": ["--env-file", tmp_path / "app.env"],
        "configuration file": ["--config", tmp_path / "other.toml"],
    }
    env = {"JOBRUNNER_LOG": str(log)} if how == "environment" else {}
    assert tick(jobrunner, *words[how], env=env).was_short
    assert log.stat().st_mode & 0o777 == 0o600
    assert not tick(jobrunner, *words[how], *IN_FULL, env=env).was_short
    short, full = lines(log)
    assert list(short) == list(full)
    for line in (short, full):
        assert isinstance(line.pop("seconds"), float)
        assert len(str(line.pop("at"))) == len("2026-01-01T00:00:00.000+00:00")
    assert short == full


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (IN_FULL, {}),
        (["--type", "echo"], {}),
        (["-v"], {}),
        (["--batch", "1", "--type", "echo"], {}),
        (["--log", "/dev/null", "--log", "/dev/null"], {}),
        ([], {"JOBRUNNER_FAULT": "tick.before_close=cut"}),
        ([], {"JOBRUNNER_LINGER": "1s"}),
        (["--linger", "1s"], {}),
    ],
    ids=str,
)
def test_unknown_options_make_an_idle_check_a_full_tick(
    jobrunner: Commands, database: Database, words: list[str], env: dict[str, str]
) -> None:
    assert not tick(jobrunner, *words, env=env).was_short
    assert len(trails(database)) == 1


def test_settings_on_the_command_line_keep_the_idle_check(jobrunner: Commands, database: Database) -> None:
    words = ["--budget", "30s", "--grace=5s", "--concurrency", "2", "--batch", "10"]
    assert tick(jobrunner, *words).was_short
    assert len(trails(database)) == 1


@pytest.mark.parametrize("words", [["--budget", "soon"], ["--grace=-1s"], ["--concurrency", "0"], ["--batch", "1.5"]])
def test_wrong_setting_on_the_command_line_is_reported_by_an_idle_tick(
    jobrunner: Commands, database: Database, words: list[str]
) -> None:
    refused = tick(jobrunner, *words, check=False)
    assert refused.done.returncode == 2
    assert refused.said.startswith(f"jobrunner: {words[0].partition('=')[0]}: ")
    assert trails(database) == []


def test_idle_check_starts_a_full_tick_for_due_work(jobrunner: Commands, database: Database) -> None:
    run_id = queue(database, "echo")
    full = tick(jobrunner)
    assert not full.was_short
    # psycopg imports them.
    by_psycopg = {"dataclasses", "importlib.metadata", "email", "zipfile"}
    spared = {*HEAVY, *(() if isinstance(database, PostgresDatabase) else by_psycopg)}
    assert not full.imported & spared, "a plain tick needs none of them for a run"
    assert database.value("SELECT status FROM job_runs WHERE id = ?", [run_id]) == "succeeded"
    assert tick(jobrunner).was_short
    assert [row["counts"] for row in trails(database)][-1] == {}


def test_every_ten_minutes_an_idle_tick_prunes(jobrunner: Commands, database: Database) -> None:
    assert tick(jobrunner, env={"JOBRUNNER_KEEP_TICKS": "1s"}).was_short
    database.move_clock(timedelta(minutes=11))
    assert not tick(jobrunner, env={"JOBRUNNER_KEEP_TICKS": "1s"}).was_short
    (left,) = trails(database)
    assert left["counts"] == {"pruned": 1}


@pytest.mark.parametrize(
    ("env", "setting"),
    [
        ({"JOBRUNNER_LEASE": "soon"}, "JOBRUNNER_LEASE"),
        ({"JOBRUNNER_HEARTBEAT": "59s"}, "JOBRUNNER_HEARTBEAT"),
        ({"JOBRUNNER_CONCURRENCY": "0"}, "JOBRUNNER_CONCURRENCY"),
        ({"JOBRUNNER_CONFIG": "/nonexistent/file.toml"}, "/nonexistent/file.toml"),
        ({"JOBRUNNER_ENV_FILE": "/nonexistent/file.env"}, "/nonexistent/file.env"),
        ({"JOBRUNNER_LOG": "/nonexistent/log"}, "/nonexistent/log"),
    ],
)
def test_wrong_setting_is_reported_by_an_idle_tick(
    jobrunner: Commands, database: Database, env: dict[str, str], setting: str
) -> None:
    wrong = tick(jobrunner, env=env, check=False)
    assert (wrong.done.returncode, len(wrong.said.splitlines())) == (78, 1)
    assert setting in wrong.said
    assert trails(database) == []


def test_idle_tick_checks_commands_but_writes_no_limits(jobrunner: Commands, app: App, database: Database) -> None:
    app.path("jobrunner.toml").write_text('[jobs.sweep]\ncommand = ["true"]\nmax_waiting = 1\n')
    assert "sqlalchemy" not in tick(jobrunner).imported
    assert database.query("SELECT job_type FROM job_types") == []
    jobrunner.tick(*IN_FULL)
    assert database.query("SELECT job_type FROM job_types") == []
    queue(database, "sweep")
    jobrunner.tick()
    assert database.value("SELECT max_waiting FROM job_types WHERE job_type = 'sweep'") == 1
    app.path("jobrunner.toml").write_text('[jobs.sweep]\ncommand = "true"\n')
    wrong = tick(jobrunner, check=False)
    assert (wrong.done.returncode, len(wrong.said.splitlines())) == (78, 1)
