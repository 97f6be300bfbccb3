"""What may be the name of a job type, what a tick calls itself, and the variables that are no settings."""

from __future__ import annotations

import os
import re

from jobrunner.errors import UsageError

TICK_MARK = "JOBRUNNER_TICK"
"""In the environment of all that a tick starts: by it what a dead tick left at work is found."""
RUN_FIELDS = ("run_id", "job_type", "attempt", "max_attempts", "slot", "late_seconds")
"""What a command is told about its run: each as JOBRUNNER_… in its environment, too."""
NO_SETTINGS = frozenset(
    {
        "JOBRUNNER_CONFIG",
        "JOBRUNNER_ENV_FILE",
        "JOBRUNNER_FAULT",
        "JOBRUNNER_FAULT_TRACE",
        TICK_MARK,
        *(f"JOBRUNNER_{name.upper()}" for name in RUN_FIELDS),
    }
)
"""The other variables of that prefix which may be in our environment, also when a job calls jobrunner."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}", re.ASCII)
_OF_A_SERVICE = r"JOBRUNNER_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)"


def check_job_type(name: str) -> str:
    """Return a name that can be a job type, or raise UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:60]!r} cannot be a job type; use up to 200 letters, digits and _ . : / - , starting with a"
            " letter, a digit or _"
        )
    return name


def is_orchestrated(variable: str) -> bool:
    """Whether Kubernetes gives this variable to every container beside a service whose name begins with jobrunner."""
    return re.fullmatch(_OF_A_SERVICE, variable, re.ASCII) is not None


def worker(host: str, mark: str) -> str:
    """The name of this process among all that ever were, with a mark that no other has."""
    return f"{host}:{os.getpid()}:{mark}"
