"""Folders that are missing, read-only, full, or writable by all: users without a home, disks, umasks."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from harness import App, Commands, Database, SQLiteDatabase, postgresql_only, sqlite_only, wait_for
from harness.commands import COMMAND, describe
from harness.environments import (
    COMMANDS,
    NEEDS_A_DATABASE,
    NOBODY,
    all_exit,
    as_nobody,
    check_all_exits,
    check_exit,
    letters,
    read_only,
    run_in,
    with_home,
    with_mounts,
)

NO_URL = {"JOBRUNNER_DATABASE_URL": None}
WHILE_AT_WORK = {"jobrunner.db", "jobrunner.db-wal", "jobrunner.db-shm"}


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.either_database
def test_a_user_whom_the_password_database_does_not_know(jobrunner: Commands, app: App, database: Database) -> None:
    """As in a container that was given any user id. Its own folders and database are enough."""
    letters(app)
    check_all_exits(jobrunner, f'exec {as_nobody()} "$@"', env={"HOME": None})
    check_exit(run_in(jobrunner, f'exec {as_nobody()} "$@"', "retry", "1", env={"HOME": None}), 0)
    assert database.value("SELECT actor FROM job_events").startswith(f"{NOBODY}@")


@sqlite_only
@pytest.mark.long(sample=1)
@pytest.mark.parametrize("home", [None, "/nonexistent", "/"])
def test_a_user_without_a_home_is_told_what_to_set(jobrunner: Commands, app: App, home: str | None) -> None:
    letters(app)
    codes = all_exit(78, NEEDS_A_DATABASE)
    ends = check_all_exits(jobrunner, f'exec {as_nobody()} "$@"', {**NO_URL, "HOME": home}, codes)
    for name in NEEDS_A_DATABASE:
        assert f"user {NOBODY} has no home folder" in ends[name].stderr
        assert "set JOBRUNNER_DATABASE_URL" in ends[name].stderr


@sqlite_only
@pytest.mark.long(sample=1)
@pytest.mark.parametrize("where", ["home", "missing home"])
def test_a_home_on_a_read_only_disk(jobrunner: Commands, app: App, tmp_path: Path, where: str) -> None:
    letters(app)
    disk = tmp_path / "disk"
    disk.mkdir()
    home = disk if where == "home" else disk / "me"
    surroundings = with_home(disk, f'mount --bind "{disk}" "{disk}" && mount -o remount,bind,ro "{disk}"')
    (tmp_path / "passwd").write_text(f"me:x:{os.geteuid()}:0::{home}:/bin/sh\nroot:x:0:0::{home}:/bin/sh\n")
    ends = check_all_exits(jobrunner, surroundings, NO_URL, all_exit(69, NEEDS_A_DATABASE))
    for name in NEEDS_A_DATABASE:
        creates = name in ("migrate", "enqueue", "tick")
        told = "cannot create the database" if creates else "there is no database at"
        assert f"{told} {home}/.local/share/jobrunner/jobrunner.db" in ends[name].stderr
        assert ("Read-only file system" in ends[name].stderr) == creates
    assert tree(disk) == []


@sqlite_only
def test_a_home_that_may_not_be_written(jobrunner: Commands, app: App, tmp_path: Path) -> None:
    letters(app)
    home = tmp_path / "locked"
    home.mkdir(mode=0o500)
    surroundings = with_home(home, f'set -- {as_nobody()} "$@"')
    ends = check_all_exits(jobrunner, surroundings, NO_URL, all_exit(69, NEEDS_A_DATABASE))
    assert "Permission denied" in ends["tick"].stderr
    assert tree(home) == []


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
    ends = check_all_exits(jobrunner, read_only(disk), env, all_exit(69, NEEDS_A_DATABASE))
    for name in NEEDS_A_DATABASE:
        assert "read-only" in ends[name].stderr
    assert (file.read_bytes(), tree(disk)) == (content, ["jobrunner.db"])
    jobrunner.tick(env=env)
    assert '"succeeded"' in jobrunner("show", 1, "--json", env=env).stdout


@pytest.mark.either_database
def test_a_log_file_on_a_read_only_disk_stops_the_tick_before_it_claims(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    letters(app)
    disk = tmp_path / "disk"
    disk.mkdir()
    ends = check_all_exits(jobrunner, read_only(disk), {"JOBRUNNER_LOG": str(disk / "log")}, {"tick": 78})
    assert f"cannot write the log file {disk}/log: Read-only file system" in ends["tick"].stderr
    assert database.query("SELECT status, attempts FROM job_runs") == [{"status": "queued", "attempts": 0}]
    assert database.query("SELECT id FROM job_ticks") == []


@postgresql_only
def test_tick_works_on_a_read_only_host(jobrunner: Commands, app: App, database: Database, tmp_path: Path) -> None:
    """A container with a read-only root: application, state, home and temporary folder."""
    letters(app)
    env = {"TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    for name, words in COMMANDS.items():
        done = run_in(jobrunner, read_only(tmp_path), *words, env=env)
        assert done.returncode == 0, describe(done)
        # A tick that cannot note what it has at work says so, and works.
        assert ("set JOBRUNNER_STATE_DIR" in done.stderr) == (name == "tick")
        assert len(done.stderr.splitlines()) == (name == "tick")
    assert database.value("SELECT status FROM job_runs") == "dead"
    assert database.value("SELECT output FROM job_attempts").startswith("printed")


@pytest.mark.either_database
def test_tick_works_without_a_writable_temporary_folder(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    """Nor is there a /proc; the state folder is where it is when nothing is set."""
    letters(app)
    disk = tmp_path / "disk"
    disk.mkdir()
    surroundings = with_mounts(
        f'mount -t tmpfs none /proc && mount --bind "{disk}" /var/tmp && mount -o remount,bind,ro /var/tmp'
    )
    check_all_exits(jobrunner, surroundings, {"JOBRUNNER_STATE_DIR": "/var/tmp/state", "TMPDIR": "/var/tmp"})
    assert database.value("SELECT status FROM job_runs") == "dead"
    assert tree(disk) == []


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


@sqlite_only
@pytest.mark.long(sample=1)
@pytest.mark.parametrize("umask", ["000", "777"])
def test_created_files_are_private_whatever_the_umask(
    jobrunner: Commands, app: App, tmp_path: Path, umask: str
) -> None:
    """000: the folders above the database's, writable for all, let anybody put another in its place. 777: nothing
    could be opened a second time by its owner."""
    home = tmp_path / "me"
    home.mkdir()
    log, state = home / "log", home / "var" / "state"
    env = {**NO_URL, "JOBRUNNER_LOG": str(log), "JOBRUNNER_STATE_DIR": str(state)}
    surroundings = with_home(home, f'umask {umask} && set -- {as_nobody()} "$@"')
    done = run_in(
        jobrunner, surroundings, "enqueue", "wait_for", "--payload", f'{{"path": "{app.path("go")}"}}', env=env
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    tick = subprocess.Popen(
        ["sh", "-c", surroundings, "sh", COMMAND, "tick"], env=jobrunner.environment(env), stderr=subprocess.PIPE
    )
    wait_for(app.trace, 30, "the handler is at work")
    modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in home.rglob("*")}
    app.release("go")
    assert tick.communicate(timeout=30)[1] == b""
    notes = {name for name in modes if name.startswith(("tick-", "last-"))}
    assert {Path(name).suffix for name in notes} == {".json", ".page"}
    assert modes == dict.fromkeys({"log", *WHILE_AT_WORK, *notes}, "0o600") | dict.fromkeys(
        {".local", "share", "jobrunner", "var", "state"}, "0o700"
    )
    for words in (["tick"], ["status"], ["show", "1"], ["migrate"]):
        check_exit(run_in(jobrunner, surroundings, *words, env=env), 0)
    assert len(log.read_text().splitlines()) == 4
