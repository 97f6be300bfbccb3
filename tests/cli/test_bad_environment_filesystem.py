"""Temporary folders that cannot be written, and umasks that let everyone read."""

import stat
import subprocess
from pathlib import Path

import pytest

from harness import App, Commands, Database, sqlite_only, wait_for
from harness.commands import COMMAND
from harness.environments import (
    NO_URL,
    as_nobody,
    check_exit,
    check_exits,
    letters,
    run_in,
    tree,
    with_home,
    with_mounts,
)
from harness.processes import Patient

WHILE_AT_WORK = {"jobrunner.db", "jobrunner.db-wal", "jobrunner.db-shm"}


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
    check_exits(jobrunner, surroundings, {"JOBRUNNER_STATE_DIR": "/var/tmp/state", "TMPDIR": "/var/tmp"})
    assert database.value("SELECT status FROM job_runs") == "dead"
    assert tree(disk) == []


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
    tick = Patient(
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
