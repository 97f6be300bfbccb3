"""What may be the name of a job type, and what a tick calls itself."""

from __future__ import annotations

import os
import re

from jobrunner.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}", re.ASCII)


def check_job_type(name: str) -> str:
    """Return a name that can be a job type, or raise UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:60]!r} cannot be a job type; use up to 200 letters, digits and _ . : / - , starting with a"
            " letter, a digit or _"
        )
    return name


def worker(host: str, mark: str) -> str:
    """The name of this process among all that ever were, with a mark that no other has."""
    return f"{host}:{os.getpid()}:{mark}"
