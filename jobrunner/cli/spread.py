"""The spread: when in its minute the tick of a host begins, so that cron does not start those of all hosts at once."""

from __future__ import annotations

import zlib
from datetime import timedelta

from jobrunner import clock
from jobrunner.settings.config import Config

_has_waited = False


def delay_seconds(host: str, spread: timedelta) -> float:
    """How long the ticks of this host wait: the same for each of them, and less than ``spread``."""
    return spread.total_seconds() * zlib.crc32(host.encode()) / 2**32


def wait(config: Config) -> None:
    """Wait until it is the turn of this host. Only the first call of a process waits."""
    global _has_waited  # noqa: PLW0603 - a process has one tick, which may take the short way and then the long one
    if not _has_waited:
        _has_waited = True
        clock.sleep(delay_seconds(config.host, config.spread))
