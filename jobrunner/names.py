"""The names of job types and ticks, and the environment variables that are not settings."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from jobrunner.errors import UsageError
from jobrunner.text import shown

LOG_LEVELS = ("info", "warning", "error")
"""The levels of the log's events, the least important first."""
VERIFY = "verify"
"""The job type whose schedule calls ``jobrunner verify``: by this name ``health`` finds what it has said."""
TICK_MARK = "JOBRUNNER_TICK"
"""In the environment of every process that a tick starts, to find the processes that a dead tick left."""
RUN_FIELDS = ("run_id", "job_type", "attempt", "max_attempts", "slot", "late_seconds")
"""What a command can know about its run: as placeholders, and as JOBRUNNER_… in its environment."""
NOTICE_FIELDS = ("event", "subject")
"""What a program that receives notices finds as JOBRUNNER_… in its environment."""
CHECKPOINT_FILE = "JOBRUNNER_CHECKPOINT"
"""In the environment of a command: the file by which it keeps a place to go on from."""
TESTED = "JOBRUNNER_TESTED"
"""What the testing kit tells to the processes that it starts: see ``testing.own_databases``."""

NO_SETTINGS = frozenset(
    {
        CHECKPOINT_FILE,
        "JOBRUNNER_CONFIG",
        "JOBRUNNER_ENV_FILE",
        "JOBRUNNER_FAULT",
        "JOBRUNNER_FAULT_TRACE",
        TESTED,
        TICK_MARK,
        *(f"JOBRUNNER_{name.upper()}" for name in (*RUN_FIELDS, *NOTICE_FIELDS)),
    }
)
"""Variables with the prefix JOBRUNNER_ that are not settings. What a tick starts inherits some of them."""

# Compiled when they are used first, and kept by ``re``: an idle tick needs none of them.
_NAME = r"(?a)[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}"
_SCHEMA_NAME = r"(?a)[A-Za-z_][A-Za-z0-9_-]{0,62}"
_KUBERNETES_SERVICE = r"JOBRUNNER_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)"


def check_job_type(name: str) -> str:
    """Return the name. Raises UsageError if it cannot be a job type."""
    if not isinstance(name, str) or not _can_be_a_type(name):
        raise UsageError(
            f"{shown(name)} cannot be a job type; use up to 200 letters, digits and _ . : / - , starting with a"
            " letter, a digit or _"
        )
    return name


@lru_cache(maxsize=1000)
def _can_be_a_type(name: str) -> bool:
    # Kept, since each enqueue asks this.
    return re.fullmatch(_NAME, name) is not None


def check_schema_name(name: str) -> str:
    """Return the name. Raises UsageError if it cannot be JOBRUNNER_SCHEMA.

    It stands in double quotes wherever it is used, also inside functions of the database. With these characters it
    means the same in all of these texts.
    """
    if not re.fullmatch(_SCHEMA_NAME, name):
        raise UsageError(
            f"{name[:60]!r} cannot be the schema; use up to 63 letters, digits and _ - , starting with a letter or a _"
        )
    if name.startswith("pg_") or name == "information_schema":
        raise UsageError(f"{name!r} belongs to PostgreSQL itself; choose another schema, such as 'jobrunner'")
    return name


def is_orchestrated(variable: str) -> bool:
    """Whether Kubernetes sets this variable, for a service whose name begins with jobrunner."""
    return re.fullmatch(_KUBERNETES_SERVICE, variable, re.ASCII) is not None


def worker(host: str, mark: str) -> str:
    """A name for this process. ``mark`` makes it unique among all processes that ever were."""
    return f"{host}:{os.getpid()}:{mark}"
