"""Folders that are this user's alone."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path


def home() -> Path | None:
    """The user's home by the password database; not by HOME, in which cron, sudo and a login shell differ."""
    try:
        named = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
    return Path(named) if named and Path(named).is_absolute() else None


def for_state(configured: Path | None) -> list[Path]:
    """Where a tick may note what it has at work: into the first that is usable, and looked for in all of them.

    By the user alone, as the embedded database: cron has none of the variables that a login session has, and a tick
    under cron must find what one in a shell has left.
    """
    if configured is not None:
        return [configured]
    user, found = os.getuid(), home()
    others = [Path(f"/run/user/{user}/jobrunner"), Path(f"/tmp/jobrunner-{user}")]  # noqa: S108 - checked by its user
    return others if found is None else [found / ".local" / "state" / "jobrunner", *others]


def make_private(folder: Path) -> None:
    """Make the folder, and those above it that are missing, mode 0700 whatever the umask. Raises OSError.

    One above that others may write would be enough for them to put another in the folder's place.
    """
    for each in (*reversed(folder.parents), folder):
        each.mkdir(mode=0o700, exist_ok=True)


def files_in(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder whose names match, in their order; none where the folder cannot be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:  # out of descriptors, which the next step of the tick tells
        return []


def is_private(folder: Path) -> bool:
    """Whether the folder is there, is ours, no link, and nobody else may write it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
