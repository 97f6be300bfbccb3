"""Too little memory, libraries that cannot be loaded, and limits of a file's size."""

from pathlib import Path

import pytest

from harness import App, Commands, Database, SQLiteDatabase, postgresql_only, sqlite_only
from harness.commands import describe
from harness.environments import (
    COMMANDS,
    NEEDS_A_CHILD,
    all_exit,
    check_exit,
    check_exits,
    drawn_commands,
    letters,
    nothing_is_lost,
    run_in,
)


def test_a_handler_module_that_wants_more_memory_than_there_is(
    jobrunner: Commands, app: App, database: Database
) -> None:
    letters(app)
    jobrunner(*COMMANDS["enqueue"])
    source = (app.folder / "handlers.py").read_text()
    app.write("handlers", f"{source}\nhuge = bytearray(4 << 30)\n")
    ends = check_exits(jobrunner, 'ulimit -v 1000000 && exec "$@"', codes=all_exit(78, NEEDS_A_CHILD))
    for name in ends.keys() & NEEDS_A_CHILD:
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
    for name, words in drawn_commands().items():
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
    check_exits(jobrunner, 'ulimit -f 0 && exec "$@"')
    assert database.value("SELECT status FROM job_runs") == "dead"
