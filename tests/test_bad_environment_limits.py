"""Limits that a shell, a unit file or a container sets: descriptors, processes, memory, file sizes."""

import os
from pathlib import Path

import pytest

from harness import App, Commands, Database, SQLiteDatabase, postgresql_only, sqlite_only
from harness.commands import describe
from harness.environments import COMMANDS, NEEDS_A_CHILD, all_exit, check_all_exits, check_exit, letters, run_in


def nothing_is_lost(jobrunner: Commands, database: Database, enqueued: int) -> None:
    """Every run that was enqueued is there, and ends once the limit is gone."""
    assert database.value("SELECT count(*) FROM job_runs") == enqueued
    assert database.value("SELECT count(*) FROM job_runs WHERE status NOT IN ('queued', 'dead')") == 0
    jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'dead'") == enqueued


@pytest.mark.either_database
def test_commands_work_or_report_too_few_file_descriptors(jobrunner: Commands, app: App, database: Database) -> None:
    """Enough for a database, not for a child beside it."""
    letters(app)
    jobrunner(*COMMANDS["enqueue"])
    ends = check_all_exits(jobrunner, 'ulimit -n 12 && exec "$@"', codes=all_exit(78, NEEDS_A_CHILD))
    for name in NEEDS_A_CHILD:
        assert "Too many open files" in ends[name].stderr
    nothing_is_lost(jobrunner, database, 1)


@pytest.mark.either_database
def test_commands_with_almost_no_file_descriptors_end_in_one_line(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """What it is that cannot be opened depends on the system's libraries; that it ends in one line does not."""
    letters(app)
    jobrunner(*COMMANDS["enqueue"])
    for words in COMMANDS.values():
        done = run_in(jobrunner, 'ulimit -n 6 && exec "$@"', *words)
        assert done.returncode in (0, 1, 69, 78), describe(done)
        check_exit(done, done.returncode)
    nothing_is_lost(jobrunner, database, 1)


def few_processes(limit: int) -> str:
    """A line of shell that runs the command as a user who may have so many processes and threads."""
    prlimit = f"exec prlimit --nproc={limit}"
    if os.geteuid() != 0:
        return f'{prlimit} "$@"'
    # The limit does not hold for root. The one capability stands for owning the files of the test.
    capable = "--inh-caps=+dac_override --ambient-caps=+dac_override"
    user = 100_000 + os.getpid()  # not shared with the same test in another worker
    return f'{prlimit} setpriv --reuid={user} --regid={user} --clear-groups {capable} "$@"'


@pytest.mark.either_database
@pytest.mark.long(sample=1)
@pytest.mark.parametrize(("limit", "fails"), [(1, NEEDS_A_CHILD), (2, ["tick"]), (3, ["tick"])])
def test_commands_work_or_report_too_few_processes(
    jobrunner: Commands, app: App, database: Database, limit: int, fails: list[str]
) -> None:
    """1: no thread and no child; 2: the watch but no heartbeat; 3: both threads of a tick, but no child beside."""
    if os.geteuid() != 0:
        fails = NEEDS_A_CHILD  # who runs the tests has more processes already
    letters(app)
    jobrunner(*COMMANDS["enqueue"])
    env = {"JOBRUNNER_STATE_DIR": str(jobrunner.home / "state of that user")}
    check_all_exits(jobrunner, few_processes(limit), env, codes=all_exit(78, fails))
    nothing_is_lost(jobrunner, database, 1 if "enqueue" in fails else 2)


@pytest.mark.either_database
def test_a_handler_module_that_wants_more_memory_than_there_is(
    jobrunner: Commands, app: App, database: Database
) -> None:
    letters(app)
    jobrunner(*COMMANDS["enqueue"])
    source = (app.folder / "handlers.py").read_text()
    app.write("handlers", f"{source}\nhuge = bytearray(4 << 30)\n")
    ends = check_all_exits(jobrunner, 'ulimit -v 1000000 && exec "$@"', codes=all_exit(78, NEEDS_A_CHILD))
    for name in NEEDS_A_CHILD:
        assert "importing the handler module 'handlers' failed: MemoryError" in ends[name].stderr
    app.write("handlers", source)
    nothing_is_lost(jobrunner, database, 1)


def test_a_handler_that_wants_more_memory_than_there_is(jobrunner: Commands, app: App, database: Database) -> None:
    letters(app)
    app.write(
        "greedy",
        """
        from jobrunner import Context, job

        @job("greedy", max_attempts=1)
        def greedy(ctx: Context):
            bytearray(4 << 30)
        """,
    )
    app.imports = "handlers,greedy"
    jobrunner.enqueue("greedy")
    jobrunner.enqueue("echo")
    check_exit(run_in(jobrunner, 'ulimit -v 1000000 && exec "$@"', "tick"), 0)
    runs = database.query("SELECT status, error_type FROM job_runs ORDER BY id")
    assert [tuple(run.values()) for run in runs] == [("dead", "MemoryError"), ("succeeded", None)]


@sqlite_only
@pytest.mark.parametrize("library", ["alembic", "sqlite3", "cronsim"])
def test_a_library_that_cannot_be_loaded_is_one_line(jobrunner: Commands, tmp_path: Path, library: str) -> None:
    """Too little memory to load one, or an installation of which a part is gone."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{library!r}] = None\n")
    words = {
        "alembic": ["migrate"],
        "sqlite3": ["status"],
        "cronsim": ["schedule", "add", "n", "--type", "echo", "--cron", "@daily"],
    }
    done = run_in(jobrunner, 'exec "$@"', *words[library], env={"PYTHONPATH": str(tmp_path)})
    check_exit(done, 78)
    assert library in done.stderr


@sqlite_only
@pytest.mark.promise("P1", on="sqlite")
@pytest.mark.long(sample=1)
@pytest.mark.parametrize("blocks", [0, 8, 64])
def test_file_size_limit_is_reported_in_one_line(
    jobrunner: Commands, app: App, database: SQLiteDatabase, blocks: int
) -> None:
    """`ulimit -f`: the write fails, or the kernel kills; either way the file is whole and the run is there."""
    letters(app)
    jobrunner(*COMMANDS["enqueue"])
    for name, words in COMMANDS.items():
        done = run_in(jobrunner, f'ulimit -f {blocks} && exec "$@"', *words)
        assert done.returncode in (0, 69), describe(done)
        check_exit(done, done.returncode)
        assert blocks > 8 or name not in ("enqueue", "tick") or done.returncode == 69
    assert database.value("PRAGMA integrity_check") == "ok"
    jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE status <> 'dead'") == 0
    assert database.value("SELECT count(*) FROM job_runs") >= 1


@postgresql_only
def test_file_size_limit_does_not_affect_a_database_server(jobrunner: Commands, app: App, database: Database) -> None:
    letters(app)
    check_all_exits(jobrunner, 'ulimit -f 0 && exec "$@"')
    assert database.value("SELECT status FROM job_runs") == "dead"
