"""The only file that may read this host's clock, or wait for it.

Instants come from the database (promise P10). This file measures durations. It reads the wall clock only for log lines,
for questions that need no database, and for the full minute at which a tick is started in the place of cron.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

# CLOCK_MONOTONIC stops while a laptop sleeps, but a lease in the database goes on. By the boot clock an owner that was
# suspended knows at once that its lease is over.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed() -> float:
    """Seconds of a clock that never steps and that counts suspended time. Only differences have a meaning."""
    return time.clock_gettime(_SINCE_BOOT)


def processor_seconds() -> float:
    """The processor time that this process has used, in all its threads."""
    return time.process_time()


def sleep(seconds: float) -> None:
    """Let this thread wait for so long, where there is nothing else to wait for."""
    time.sleep(seconds)


def utc_now() -> datetime:
    """The time by this host's clock, aware, in UTC. Only ``doctor`` compares it with the database's."""
    return datetime.now(UTC)
