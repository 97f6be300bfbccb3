"""Reads files whose paths users give, and checks who may write the files that decide what is run."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.settings.paths import StrPath


def read_file(path: StrPath, most: int, check: Callable[[os.stat_result], None] = lambda _: None) -> bytes:
    """At most ``most`` + 1 bytes of the file; ``check`` may refuse it. Raises UsageError with the reason."""
    try:
        check_regular(os.stat(path))
        with open(path, "rb") as file:
            check(os.fstat(file.fileno()))
            return file.read(most + 1)
    except (OSError, ValueError) as error:
        raise UsageError(str(error.strerror if isinstance(error, OSError) else error)) from None


def check_regular(found: os.stat_result) -> None:
    """Raise UsageError unless it is a regular file: reading a FIFO would wait for a writer."""
    if not stat.S_ISREG(found.st_mode):
        raise UsageError("it is not a regular file")


def check_owner(found: os.stat_result, name: str) -> None:
    """Raise ConfigurationError if another user could change the file, and so what this user runs.

    It is cron's rule for crontabs (docs/adr/0024-files-that-others-may-write.md). For root, the owner must be root, and
    nobody else may write. For other users any owner is allowed, because often one user deploys and another runs;
    besides the owner only the own group of the user or of the owner may write, as a umask of 002 leaves it.
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
