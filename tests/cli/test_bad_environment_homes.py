"""Users without a home folder, or with one that cannot be written."""

import os
from pathlib import Path

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.environments import (
    NEEDS_A_DATABASE,
    NO_URL,
    NOBODY,
    all_exit,
    as_nobody,
    check_exit,
    check_exits,
    letters,
    run_in,
    tree,
    with_home,
)


def test_a_user_whom_the_password_database_does_not_know(jobrunner: Commands, app: App, database: Database) -> None:
    """As in a container that was given any user id. Its own folders and database are enough."""
    letters(app)
    check_exits(jobrunner, f'exec {as_nobody()} "$@"', env={"HOME": None})
    check_exit(run_in(jobrunner, f'exec {as_nobody()} "$@"', "retry", "1", env={"HOME": None}), 0)
    assert database.value("SELECT actor FROM job_events").startswith(f"{NOBODY}@")


@sqlite_only
@pytest.mark.long(sample=1)
@pytest.mark.parametrize("home", [None, "/nonexistent", "/"])
def test_a_user_without_a_home_is_told_what_to_set(jobrunner: Commands, app: App, home: str | None) -> None:
    letters(app)
    codes = all_exit(78, NEEDS_A_DATABASE)
    ends = check_exits(jobrunner, f'exec {as_nobody()} "$@"', {**NO_URL, "HOME": home}, codes)
    for name in ends.keys() & NEEDS_A_DATABASE:
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
    ends = check_exits(jobrunner, surroundings, NO_URL, all_exit(69, NEEDS_A_DATABASE))
    for name in ends.keys() & NEEDS_A_DATABASE:
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
    ends = check_exits(jobrunner, surroundings, NO_URL, all_exit(69, NEEDS_A_DATABASE))
    assert "Permission denied" in ends["tick"].stderr
    assert tree(home) == []
