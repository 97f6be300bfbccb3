"""When `jobrunner loop` says that it is ready, what ends it, and what does not."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from psycopg import sql

from harness import App, Commands, Database, PostgresDatabase, SQLiteDatabase, debian, sqlite_only, wait_for
from harness.handlers_rows import queue, status_of
from harness.loops import READY, check_stopped, manager, ready_file, ready_loop, start_loop, stop_loop
from harness.processes import Patient
from harness.stops import wait_until_at_work


def take_away(database: Database) -> Callable[[], object]:
    """Nobody can use the database. Returns what gives it back."""
    if isinstance(database, SQLiteDatabase):
        away = database.path.with_name("away")
        database.path.rename(away)
        return lambda: away.rename(database.path)
    assert isinstance(database, PostgresDatabase)
    allow = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    name, access = sql.Identifier(database.database), database.access
    access.execute(allow.format(name, sql.SQL("false")))
    return lambda: access.execute(allow.format(name, sql.SQL("true")))


def test_loop_is_ready_when_the_database_has_come(jobrunner: Commands, database: Database, tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    database.query("SELECT 1")
    give_back = take_away(database)
    with manager(address) as systemd:
        loop = start_loop(jobrunner, NOTIFY_SOCKET=address)
        systemd.wait_for("STATUS=the first check ended with exit code 69")
        assert (READY in systemd.lines(), ready_file(jobrunner).exists()) == (False, False)
        give_back()
        systemd.wait_for(READY)
        wait_for(ready_file(jobrunner).exists)
        said = stop_loop(jobrunner, loop)
        assert systemd.lines().count(READY) == 1
        assert systemd.messages()[-1].startswith("STOPPING=1\n")
    assert "jobrunner: ready: a tick each 1s" in said.splitlines()


@sqlite_only
@pytest.mark.parametrize("address", ["@jobrunner-{id}", "{folder}/notify"])
def test_watchdog_of_systemd_hears_of_the_loop(address: str, jobrunner: Commands, tmp_path: Path) -> None:
    address = address.format(id=jobrunner.test_id, folder=tmp_path)
    with manager(address) as systemd:
        loop = ready_loop(jobrunner, every="1m", NOTIFY_SOCKET=address, WATCHDOG_USEC="200000")
        wait_for(lambda: systemd.lines().count("WATCHDOG=1") > 3, 20, lambda: str(systemd.lines()))
        stop_loop(jobrunner, loop)


@sqlite_only
def test_variables_of_the_service_manager_are_not_passed_on(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    app.add("""
    @job("look")
    def look(ctx: Context):
        return {"found": sorted(set(os.environ) & {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})}
    """)
    queue(database, "look")
    loop = ready_loop(jobrunner, NOTIFY_SOCKET=str(tmp_path / "none"), WATCHDOG_USEC="9000000", WATCHDOG_PID="1")
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs")
    assert database.query("SELECT result FROM job_runs") == [{"result": {"found": []}}]
    stop_loop(jobrunner, loop)


@sqlite_only
def test_failing_ticks_are_said_once_and_end_nothing(jobrunner: Commands, app: App, database: Database) -> None:
    loop = ready_loop(jobrunner)
    source = (app.folder / "handlers.py").read_text()
    app.write("handlers", "raise RuntimeError('a bad deploy')")
    queue(database, "append")
    wait_for(lambda: not ready_file(jobrunner).exists(), 30, "it is not ready any more")
    database.wait_until("SELECT count(*) >= 2 AS failed FROM job_ticks WHERE error IS NOT NULL")
    app.write("handlers", source)
    wait_for(ready_file(jobrunner).exists, 30, "it is ready again")
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs")
    said = stop_loop(jobrunner, loop).splitlines()
    assert said.count("jobrunner: ticks fail: one ended with exit code 78") == 1
    assert said.count("jobrunner: ticks do their work again") == 1


@sqlite_only
@pytest.mark.parametrize(
    ("code", "words", "env", "says"),
    [
        (78, [], {"JOBRUNNER_CONCURRENCY": "none"}, "JOBRUNNER_CONCURRENCY: "),
        (78, [], {"JOBRUNNER_IMPORT": "nothing_of_this_name"}, "nothing_of_this_name"),
        (2, ["--concurrency", "none"], {}, "--concurrency: "),
        (2, ["--every", "0s"], {}, "--every"),
        (2, ["--every", "2h"], {}, "must lie between 1s and 1h"),
        (78, ["--ready-file", "/nowhere/ready"], {}, "cannot write the ready file /nowhere/ready"),
        (78, ["--env-file", "/nowhere/env"], {}, "/nowhere/env"),
    ],
)
def test_wrong_configuration_ends_the_loop_at_once_with_one_line(
    code: int, words: list[str], env: dict[str, str], says: str, jobrunner: Commands
) -> None:
    jobrunner.refused(code, "loop", *words, env=env, says=[says])
    assert jobrunner.leftover_processes() == []


@sqlite_only
def test_database_without_tables_ends_the_loop_and_says_what_to_do(jobrunner: Commands, tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch(0o600)
    jobrunner.refused(78, "loop", env={"JOBRUNNER_DATABASE_URL": f"sqlite:///{empty}"}, says=["jobrunner migrate"])


@sqlite_only
def test_file_that_somebody_has_written_is_not_taken_for_a_ready_file(jobrunner: Commands, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    jobrunner.refused(78, "loop", "--ready-file", other, says=["is not empty"])
    assert other.read_text() == "mine"


@sqlite_only
def test_ready_file_of_a_killed_loop_is_removed_before_the_check(
    jobrunner: Commands, app: App, database: Database
) -> None:
    ready_file(jobrunner).touch()
    app.write("handlers", f"import os, time\nwhile not os.path.exists({str(app.path('go'))!r}):\n    time.sleep(0.01)")
    loop = start_loop(jobrunner)
    wait_for(lambda: not ready_file(jobrunner).exists(), 20, "the old file is gone")
    app.release("go")
    wait_for(ready_file(jobrunner).exists, 30, "it is ready")
    stop_loop(jobrunner, loop)


@sqlite_only
def test_loop_is_stopped_while_it_waits_for_the_database(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    loop = start_loop(jobrunner, every="1m", JOBRUNNER_DATABASE_URL=f"sqlite:///{tmp_path}/none/jobs.db")
    assert loop.stderr
    assert "there is no database at" in loop.stderr.readline()
    stop_loop(jobrunner, loop)


def foreign(jobrunner: Commands, *before: str) -> "subprocess.Popen[str]":
    """A loop that another program becomes, once it is ready."""
    words = ["loop", "--every", "1m", "--ready-file", str(ready_file(jobrunner))]
    loop = Patient(
        [*before, jobrunner.command, *words],
        env=jobrunner.environment(),
        start_new_session=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(ready_file(jobrunner).exists, 60, "the loop is ready")
    return loop


@sqlite_only
def test_sighup_is_ignored_under_nohup(jobrunner: Commands) -> None:
    loop = foreign(jobrunner, "nohup")
    loop.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        loop.wait(1)
    stop_loop(jobrunner, loop)


@sqlite_only
@pytest.mark.cold
def test_loop_needs_little_memory_and_loads_no_library_of_a_database(jobrunner: Commands) -> None:
    loop = ready_loop(jobrunner, every="1m")
    resident = int(Path(f"/proc/{loop.pid}/status").read_text().split("VmRSS:")[1].split()[0])
    assert resident < 25_000, "KiB; it was 17 000"
    maps = Path(f"/proc/{loop.pid}/maps").read_text()
    assert [library for library in ("sqlite", "libpq", "psycopg", "sqlalchemy") if library in maps] == []
    stop_loop(jobrunner, loop)


ORPHANS = """
import subprocess

@job("orphans")
def orphans(ctx: Context):
    # It leaves its session and its parent, and ends a moment later.
    subprocess.run(["sh", "-c", "setsid sh -c 'echo $$ >> $TRACE_FILE; sleep 0.2' >/dev/null 2>&1 &"])
"""
AS_SUBREAPER = "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"


@sqlite_only
def test_orphans_are_reaped(jobrunner: Commands, app: App, database: Database) -> None:
    """The loop gets the orphans of all its descendants, as process 1 of a container does."""
    app.add(ORPHANS)
    for _ in range(3):
        queue(database, "orphans")
    loop = foreign(jobrunner, sys.executable, "-c", AS_SUBREAPER)
    database.wait_until("SELECT count(*) = 3 AS done FROM job_runs WHERE status = 'succeeded'")
    wait_for(lambda: app.trace_file.exists() and len(app.trace_file.read_text().split()) == 3, 20, "they have begun")
    orphans = app.trace_file.read_text().split()
    # A zombie has its entry, too.
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in orphans), 20, "the orphans are gone")
    stop_loop(jobrunner, loop)


@sqlite_only
@pytest.mark.skipif(not debian.can_unshare(), reason="no namespaces here: the test above has a subreaper in its place")
def test_process_1_of_a_container_ends_on_sigterm(jobrunner: Commands, app: App, database: Database) -> None:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    outside = foreign(jobrunner, *debian.UNSHARE)
    wait_until_at_work(app, run_id)
    (process_1,) = Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text().split()
    assert Path(f"/proc/{process_1}/status").read_text().split("NSpid:")[1].split()[1] == "1"
    os.kill(int(process_1), signal.SIGTERM)
    wait_for(lambda: not ready_file(jobrunner).exists(), 20, "it stops")
    app.release("go")
    check_stopped(jobrunner, outside)
    assert status_of(database, run_id) == "succeeded"
