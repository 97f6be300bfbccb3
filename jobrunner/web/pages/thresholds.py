"""The threshold of ``health`` by which a page judges whether ticks have stopped."""

from __future__ import annotations

import os
from datetime import timedelta

from jobrunner.errors import ConfigurationError
from jobrunner.settings import config
from jobrunner.settings.health import TICK_AGE


def tick_age() -> timedelta:
    """That of the settings of this process, or the usual one if they cannot be read."""
    try:
        return config.load(os.environ).health.tick_age
    except ConfigurationError:
        return TICK_AGE
