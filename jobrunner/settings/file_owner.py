"""Whose a file is that says what to run: as cron judges its crontabs (docs/adr/0024-files-that-others-may-write.md)."""

from __future__ import annotations

import os
import stat

from jobrunner.errors import ConfigurationError


def check(found: os.stat_result, name: str) -> None:
    """Raise ConfigurationError where somebody else could change the file, and with it what this user runs.

    As root, the owner must be root and nobody else may write. For others the owner may be anybody: who deploys often is
    not who runs. Then only a group of one's own may write beside the owner, which is what a umask of 002 leaves.
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
