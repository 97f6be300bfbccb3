"""Folders that belong to this user only."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path


def home() -> Path | None:
    """The user's home from the password database; cron, sudo and a login shell set different values of HOME."""
    try:
        named = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
    return Path(named) if named and Path(named).is_absolute() else None


def for_state(configured: Path | None) -> list[Path]:
    """The folders for a tick's notes about its processes. A tick writes to the first usable one, and reads all of them.

    They depend on the user only: cron has none of the variables of a login session, and a tick under cron must find the
    notes of a tick that ran in a shell.
    """
    if configured is not None:
        return [configured]
    user, found = os.getuid(), home()
    others = [Path(f"/run/user/{user}/jobrunner"), Path(f"/tmp/jobrunner-{user}")]  # noqa: S108 - checked by its user
    return others if found is None else [found / ".local" / "state" / "jobrunner", *others]


def make_private(folder: Path) -> None:
    """Make the folder and its missing parents with mode 0700, whatever the umask is. Raises OSError.

    If others could write one of the parents, they could replace the folder.
    """
    for each in (*reversed(folder.parents), folder):
        each.mkdir(mode=0o700, exist_ok=True)


def files_in(folder: Path, pattern: str) -> list[Path]:
    """The sorted files of a folder whose names match; none if the folder cannot be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:  # no file descriptor is left; the next step of the tick reports that
        return []


def is_private(folder: Path) -> bool:
    """Whether the folder exists, is no link, belongs to this user, and nobody else may write it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
