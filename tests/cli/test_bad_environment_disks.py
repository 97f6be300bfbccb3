"""Disks that are read-only or full."""

from pathlib import Path

import pytest

from harness import App, Commands, Database, SQLiteDatabase, postgresql_only, sqlite_only
from harness.commands import describe
from harness.environments import (
    NEEDS_A_DATABASE,
    all_exit,
    check_exits,
    drawn_commands,
    letters,
    read_only,
    run_in,
    tree,
    with_mounts,
)


@sqlite_only
def test_a_database_file_on_a_read_only_disk(
    jobrunner: Commands, app: App, database: SQLiteDatabase, tmp_path: Path
) -> None:
    letters(app)
    jobrunner.enqueue("echo")
    disk = tmp_path / "disk"
    disk.mkdir()
    file = database.path.rename(disk / "jobrunner.db")
    content = file.read_bytes()
    env = {"JOBRUNNER_DATABASE_URL": f"sqlite:///{file}"}
    ends = check_exits(jobrunner, read_only(disk), env, all_exit(69, NEEDS_A_DATABASE))
    for name in ends.keys() & NEEDS_A_DATABASE:
        assert "read-only" in ends[name].stderr
    assert (file.read_bytes(), tree(disk)) == (content, ["jobrunner.db"])
    jobrunner.tick(env=env)
    assert '"succeeded"' in jobrunner("show", 1, "--json", env=env).stdout


def test_a_log_file_on_a_read_only_disk_stops_the_tick_before_it_claims(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    letters(app)
    disk = tmp_path / "disk"
    disk.mkdir()
    ends = check_exits(jobrunner, read_only(disk), {"JOBRUNNER_LOG": str(disk / "log")}, {"tick": 78})
    assert f"cannot write the log file {disk}/log: Read-only file system" in ends["tick"].stderr
    assert database.query("SELECT status, attempts FROM job_runs") == [{"status": "queued", "attempts": 0}]
    assert database.query("SELECT id FROM job_ticks") == []


@postgresql_only
def test_tick_works_on_a_read_only_host(jobrunner: Commands, app: App, database: Database, tmp_path: Path) -> None:
    """A container with a read-only root: application, state, home and temporary folder."""
    letters(app)
    env = {"TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    for name, words in drawn_commands().items():
        done = run_in(jobrunner, read_only(tmp_path), *words, env=env)
        assert done.returncode == 0, describe(done)
        # A tick that cannot note what it has at work says so, and works.
        assert ("set JOBRUNNER_STATE_DIR" in done.stderr) == (name == "tick")
        assert len(done.stderr.splitlines()) == (name == "tick")
    assert database.value("SELECT status FROM job_runs") == "dead"
    assert database.value("SELECT output FROM job_attempts").startswith("printed")


@sqlite_only
@pytest.mark.promise("P1", on="sqlite")
def test_disk_that_fills_during_a_run_loses_no_run(
    jobrunner: Commands, app: App, database: SQLiteDatabase, tmp_path: Path
) -> None:
    """The handler itself fills it, so its finalize cannot be written; with room again its attempt is charged."""
    app.add("""
        @job("fills_the_disk")
        def fills_the_disk(ctx: Context, path: str):
            leave_trace(ctx)
            if ctx.attempt == 1:
                with open(path, "wb", buffering=0) as file:
                    try:
                        while file.write(bytes(4096)):
                            pass
                    except OSError:
                        pass
            print("x" * 15_000)
    """)
    disk = tmp_path / "disk"
    disk.mkdir()
    jobrunner.enqueue("fills_the_disk", {"path": str(disk / "ballast")})
    script = f"""
        mount -t tmpfs -o size=1m none "{disk}" && cp "{database.path}" "{disk}/jobrunner.db"
        "$1" tick; echo "tick: $?"
        dd if=/dev/zero of="{disk}/more" bs=1k 2>/dev/null
        for words in "enqueue echo" "schedule list" migrate; do "$1" $words; echo "$words: $?"; done
        rm "{disk}/ballast" "{disk}/more"
        until "$1" show 1 --json | grep -q "error_type.: .lease_expired"; do "$1" tick || exit; done
        "$1" enqueue echo && "$1" retry 1 && "$1" tick && cp "{disk}/jobrunner.db" "{database.path}"
    """
    env = {"JOBRUNNER_DATABASE_URL": f"sqlite:///{disk}/jobrunner.db", "JOBRUNNER_LEASE": "3s"}
    done = run_in(jobrunner, with_mounts("true").replace('exec "$@"', script), env=env)
    assert [line for line in done.stdout.splitlines() if ": " in line] == [
        "tick: 69",
        "enqueue echo: 69",
        "schedule list: 69",
        "migrate: 69",
        "run 1: queued again",
    ]
    problems = done.stderr.splitlines()
    assert len(problems) == 4
    assert [line for line in problems if not line.startswith("jobrunner: ") or "full" not in line] == []
    runs = database.query("SELECT id, status, attempts FROM job_runs ORDER BY id")
    assert [tuple(run.values()) for run in runs] == [(1, "succeeded", 2), (2, "succeeded", 1)]
    outcomes = database.query("SELECT outcome FROM job_attempts WHERE run_id = 1 ORDER BY sequence")
    assert [row["outcome"] for row in outcomes] == ["lease_expired", "succeeded"]
