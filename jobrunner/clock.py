"""The only file that may read this host's clock.

Instants come from the database (promise P10). What is read here are durations, and the wall
clock for what never meets the database: log lines, and a question that needs none.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

# CLOCK_MONOTONIC stands still while a laptop sleeps; a lease in the database does not. Counting
# on the boot clock, an owner that was suspended knows at once that its lease is over.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed() -> float:
    """Seconds on a clock that never steps and that counts suspended time. Only differences mean anything."""
    return time.clock_gettime(_SINCE_BOOT)


def utc_now() -> datetime:
    """This host's idea of now, aware, UTC. Never compared with the database's instants."""
    return datetime.now(UTC)
