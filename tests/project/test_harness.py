"""The test harness itself."""

import ast
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
import pytest_timeout

from harness import (
    App,
    Commands,
    Database,
    PostgresDatabase,
    PrivatePostgres,
    SQLiteDatabase,
    postgresql_only,
    sqlite_only,
    wait_for,
)
from harness.database import translated
from harness.handlers_rows import queue
from harness.postgres import EXTERNAL
from harness.processes import marked_processes
from jobrunner.store.callers import testing_kit
from jobrunner.store.drivers.database import Database as Store

TESTS = Path(__file__).parents[1]
MODULES_HERE = {"tests", *(each.stem for each in TESTS.iterdir())}
SLEEPER = [sys.executable, "-c", "import time; time.sleep(300)"]


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            origin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from (origin + alias.name for alias in node.names)


def may_import(path: Path, name: str) -> bool:
    """Nothing of this folder but the harness; within four of its folders also what lies there and is no test."""
    top, _, rest = name.partition(".")
    if top in ("unit", "typed", "models", "simulator") and path.parent.name == top:
        return not rest.startswith("test_")
    return top == "harness" or top not in MODULES_HERE


def test_shared_test_helpers_are_in_the_harness() -> None:
    """A test module that another one imports is run twice, and its dependencies are not visible."""
    modules = list(TESTS.rglob("*.py"))
    assert len(modules) > 150
    pairs = [(path, name) for path in modules for name in imported(path)]
    assert [(path.name, name) for path, name in pairs if not may_import(path, name)] == []


def test_whatever_uses_hypothesis_loads_its_profile() -> None:
    """An example that takes long on a loaded machine would fail. tests/unit/conftest.py does so for its folder."""
    imports = {path: set(imported(path)) for path in TESTS.rglob("*.py") if "hypothesis" in path.read_text()}
    users = [path for path, names in imports.items() if any(name.startswith("hypothesis.") for name in names)]
    assert len(users) > 20
    left = [
        path.name for path in users if path.parent.name != "unit" and "harness.hypothesis_profile" not in imports[path]
    ]
    assert left == ["hypothesis_profile.py"]


def limits(path: Path) -> Iterator[str]:
    """The calls of a module with a limit of time that does not grow with the load, and processes waited for so."""
    for call in [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]:
        name = ast.unparse(call.func)
        given = [each.value for each in call.keywords if each.arg == "timeout"]
        if name.endswith((".join", ".result")) and len(call.args) == 1:
            given += [each for each in call.args if isinstance(each, ast.Constant) and not isinstance(each.value, str)]
        if name.endswith((".join", ".result", ".run", ".check_output", "urlopen", "HTTPConnection", ".notifies")):
            yield from (ast.unparse(call) for each in given if not ast.unparse(each).startswith("stretched("))
        if name == "subprocess.Popen":
            yield ast.unparse(call)


def test_every_limit_of_time_grows_with_the_load_of_the_machine() -> None:
    """Where a command took six times as long for six times the load, tests were red without a fault.

    `subprocess.run` needs no limit: pytest's own ends a test that hangs.
    """
    own = {"watchdog.py", "warm.py", "siblings.py", "postgres.py", "hostile_jobs.py", "slow_jobs.py"}
    modules = [path for path in TESTS.rglob("*.py") if path.name not in own]
    assert [(path.name, call) for path in modules for call in limits(path)] == []


SHORT = re.compile(r"""JOBRUNNER_(?:LEASE|PATIENCE|START_LIMIT)"?[:=] ?"(\d+(?:\.\d+)?)s?\"""")
# Their messages name the seconds; the demo has no lease that a test has set; a script waits for the end of one.
NAME_SECONDS = {"test_hanging.py", "test_hanging_pooler.py", "test_bad_environment_disks.py", "test_demo.py"}


def test_no_tick_of_a_test_has_a_lease_or_a_patience_that_a_busy_machine_uses_up() -> None:
    """A stopped or busy tick lost its lease of two seconds, and its run ended as the test did not expect."""
    modules = [path for path in TESTS.rglob("*.py") if path.name not in NAME_SECONDS]
    found = [
        (path.name, each[0]) for path in modules for each in SHORT.finditer(path.read_text()) if float(each[1]) < 20
    ]
    assert found == []


def test_every_test_gets_an_empty_migrated_database(database: Database) -> None:
    assert database.query("SELECT * FROM job_runs") == []
    assert queue(database, "echo") == 1  # so does the next test: see below


def test_ids_begin_at_one_again(database: Database) -> None:
    assert queue(database, "echo") == 1


def test_values_come_back_the_same_from_both_databases(database: Database) -> None:
    at = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
    run_id = queue(database, "echo", {"text": "it's 100 % ?"}, run_at=at)
    rows = database.query("SELECT id, run_at, payload FROM job_runs WHERE run_at = ? AND job_type LIKE 'ec%'", [at])
    assert rows == [{"id": run_id, "run_at": at, "payload": {"text": "it's 100 % ?"}}]
    assert database.execute("UPDATE job_runs SET priority = 3 WHERE id = ?", [run_id]) == 1
    assert database.execute("UPDATE job_runs SET priority = 3 WHERE id = ?", [run_id + 1]) == 0
    assert database.value("SELECT sum(priority) AS total FROM job_runs") == 3


def test_placeholders_inside_quotes_are_text() -> None:
    assert translated("a = ? AND b = 'what?' AND c LIKE '5%'") == "a = %s AND b = 'what?' AND c LIKE '5%%'"


def test_database_clock_can_be_moved_and_restored(database: Database) -> None:
    assert abs(database.now() - datetime.now(UTC)) < timedelta(seconds=10)
    database.move_clock(timedelta(hours=3, microseconds=500))
    database.move_clock(timedelta(hours=-1))
    assert abs(database.now() - datetime.now(UTC) - timedelta(hours=2)) < timedelta(seconds=10)
    database.set_clock_offset(timedelta(hours=-5))
    assert abs(database.now() - datetime.now(UTC) + timedelta(hours=5)) < timedelta(seconds=10)
    database.set_clock_offset(timedelta(0))
    assert abs(database.now() - datetime.now(UTC)) < timedelta(seconds=10)


def test_an_instant_that_a_test_takes_is_never_still_to_come_in_the_database(database: Database, store: Store) -> None:
    """A row "two minutes ago" was a part of a millisecond younger for SQLite: what stops after two minutes went on."""
    for _ in range(50):
        taken = database.now()
        assert store.read(testing_kit.database_now) >= taken


def test_wait_until_shows_the_tables_when_it_gives_up(database: Database) -> None:
    run_id = queue(database, "echo", last_error="the reason")
    statement = "SELECT status = 'dead' AS ended FROM job_runs WHERE id = ?"
    with pytest.raises(AssertionError, match=r"(?s)the run ends.*job_runs: 1 rows.*the reason.*job_ticks: empty"):
        database.wait_until(statement, [run_id], deadline_seconds=0.1, describe="the run ends")
    database.execute("UPDATE job_runs SET status = 'dead', finished_at = ? WHERE id = ?", [datetime.now(UTC), run_id])
    assert database.wait_until(statement, [run_id])


@sqlite_only
def test_the_copied_file_is_in_wal_mode(database: SQLiteDatabase) -> None:
    assert database.value("PRAGMA journal_mode") == "wal"
    assert database.url == f"sqlite:///{database.path}"


@postgresql_only
def test_cut_connections_fail_at_their_next_statement(database: PostgresDatabase) -> None:
    with contextlib.closing(psycopg.connect(database.url)) as victim:
        assert [row["state"] for row in database.sessions()] == ["idle"]
        assert database.cut_connections() == 1
        with pytest.raises(psycopg.OperationalError):
            victim.execute("SELECT 1")


@postgresql_only
@pytest.mark.skipif(EXTERNAL in os.environ, reason="that server's passwords are not ours to know")
def test_a_wrong_password_is_refused(database: PostgresDatabase) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(database.url.replace("@127", "x@127"))


def test_a_private_server_stops_and_comes_back_with_its_data(private_postgres: PrivatePostgres) -> None:
    database = private_postgres.database
    queue(database, "echo")
    before = private_postgres.postmaster_pid
    private_postgres.stop()
    assert private_postgres.postmaster_pid is None
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(private_postgres.url)
    private_postgres.start()
    assert private_postgres.postmaster_pid not in (None, before)
    assert database.value("SELECT count(*) FROM job_runs") == 1


def test_a_frozen_backend_does_not_outlive_its_server(private_postgres: PrivatePostgres) -> None:
    with contextlib.closing(psycopg.connect(private_postgres.url)) as connection:
        frozen = connection.info.backend_pid
        os.kill(frozen, signal.SIGSTOP)
        private_postgres.restart()
        assert not Path(f"/proc/{frozen}").exists()
    assert private_postgres.database.value("SELECT 1") == 1


def test_a_killed_server_comes_back_with_what_was_committed(private_postgres: PrivatePostgres) -> None:
    queue(private_postgres.database, "echo")
    assert private_postgres.postmaster_pid is not None
    os.kill(private_postgres.postmaster_pid, signal.SIGKILL)
    private_postgres.restart()
    assert private_postgres.database.value("SELECT count(*) FROM job_runs") == 1


def test_the_watchdog_removes_the_server_of_a_killed_owner() -> None:
    script = (
        "import os, signal, psycopg\n"
        "from harness.postgres import Lifeline\n"
        "lifeline = Lifeline()\n"
        "server = lifeline.server()\n"
        "access = server.start()\n"
        "connection = access.admin()\n"
        "print(lifeline.folder, lifeline.data, lifeline.process.pid, server.postmaster_pid, flush=True)\n"
        "os.kill(connection.info.backend_pid, signal.SIGSTOP)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    folder, data, watchdog, postmaster = done.stdout.split()

    def all_gone() -> bool:
        return not any(Path(path).exists() for path in (folder, data, f"/proc/{watchdog}", f"/proc/{postmaster}"))

    wait_for(all_gone, 15, lambda: f"{folder}, {data}, {watchdog} and {postmaster} should be gone")
    titles = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [title for title in titles if Path(folder).name.encode() in title]


def test_commands_run_in_an_empty_environment(jobrunner: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBRUNNER_SOMETHING", "of the developer's own")
    seen = jobrunner.environment({"EXTRA": "1", "TRACE_FILE": None})
    assert set(seen) == {"PATH", "HOME", "TMPDIR", "LANG", "EXTRA", "TEST_ID_OF_JOBRUNNER"} | {
        f"JOBRUNNER_{name}" for name in ("APP_DIR", "IMPORT", "DATABASE_URL", "STATE_DIR")
    }


def test_failing_command_shows_its_output(jobrunner: Commands) -> None:
    with pytest.raises(AssertionError, match=r"(?s)jobrunner no-such-command: exit 2\n.*stderr: .*no-such-command"):
        jobrunner("no-such-command")
    assert jobrunner("no-such-command", check=False).returncode == 2


def test_leftover_processes_are_found_and_ended(jobrunner: Commands) -> None:
    script = f"import subprocess; subprocess.Popen({SLEEPER}, start_new_session=True)"
    subprocess.run([sys.executable, "-c", script], env=jobrunner.environment(), check=True)
    (orphan,) = jobrunner.leftover_processes()
    assert "time.sleep(300)" in jobrunner.describe_leftovers()
    jobrunner.close()
    assert jobrunner.leftover_processes() == []
    assert orphan not in marked_processes([b"PATH="])


def test_a_started_command_is_killed_at_the_end_of_the_test(jobrunner: Commands) -> None:
    process = jobrunner.start("tick")
    os.kill(process.pid, signal.SIGSTOP)
    jobrunner.close()
    assert process.returncode is not None
    assert jobrunner.leftover_processes() == []


def test_application_records_each_attempt(app: App) -> None:
    assert app.trace() == []
    app.trace_file.write_text("1 1 4711\n1 2 4712\n")
    assert [(line.run_id, line.attempt, line.pid) for line in app.trace()] == [(1, 1, 4711), (1, 2, 4712)]
    assert "@job" in app.add("x = 1").read_text()


def test_wait_for_returns_the_value_and_names_what_did_not_come() -> None:
    assert wait_for(lambda: "here", 1) == "here"
    before = time.monotonic()
    with pytest.raises(AssertionError, match=r"not within 0.1 s: the moon"):
        wait_for(lambda: None, 0.1, "the moon")
    assert time.monotonic() - before < 5


def test_on_a_busy_machine_waits_and_tests_have_as_much_more_time(
    jobrunner: Commands, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = 8.0 * (os.cpu_count() or 1)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    before = time.monotonic()
    with pytest.raises(AssertionError, match=r"not within 0.1 s: the moon"):
        wait_for(lambda: None, 0.1, "the moon")
    assert time.monotonic() - before > 0.8
    late = jobrunner.start_python("import time; time.sleep(2)")
    assert late.wait(0.3) == 0
    assert jobrunner.start("--version", cold=True).communicate(timeout=10)[1] == ""
    settings = pytest_timeout._get_item_settings(request.node)
    request.config.hook.pytest_timeout_set_timer(item=request.node, settings=settings)
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 7 * settings.timeout


def test_json_of_a_command_that_printed_no_json_shows_the_output(jobrunner: Commands) -> None:
    with pytest.raises(AssertionError, match="not JSON"):
        jobrunner("no-such-command", check=False).json()
    assert json.loads("{}") == {}
