"""Files that people name: how one is read, and who may write those that say what to run."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from jobrunner.errors import ConfigurationError, UsageError


def read_file(path: Path, most: int, check: Callable[[os.stat_result], None] = lambda _: None) -> bytes:
    """The file, cut at one byte more than ``most``; ``check`` may refuse it. Raises UsageError with the reason."""
    try:
        check_regular(path.stat())
        with path.open("rb") as file:
            check(os.fstat(file.fileno()))
            return file.read(most + 1)
    except (OSError, ValueError) as error:
        raise UsageError(str(error.strerror if isinstance(error, OSError) else error)) from None


def check_regular(found: os.stat_result) -> None:
    """Raise UsageError for what is no regular file: a FIFO would hang until somebody writes."""
    if not stat.S_ISREG(found.st_mode):
        raise UsageError("it is not a regular file")


def check_owner(found: os.stat_result, name: str) -> None:
    """Raise ConfigurationError where somebody else could change the file, and with it what this user runs.

    As cron judges its crontabs (docs/adr/0024-files-that-others-may-write.md). As root, the owner must be root and
    nobody else may write. For others the owner may be anybody: who deploys often is not who runs. Then only a group of
    one's own may write beside the owner, which is what a umask of 002 leaves.
    """
    user, mode = os.geteuid(), stat.S_IMODE(found.st_mode)
    if user == 0 and found.st_uid != 0:
        raise ConfigurationError(
            f"{name} belongs to user {found.st_uid}, who could have root run anything; run as that user, or chown it"
        )
    has_own_group = user != 0 and found.st_gid in (os.getegid(), found.st_uid)
    if mode & (stat.S_IWOTH if has_own_group else stat.S_IWOTH | stat.S_IWGRP):
        raise ConfigurationError(
            f"{name} may be written by others (mode {mode:04o}), who could have this user run anything; chmod go-w it"
        )
