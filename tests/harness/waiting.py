"""Waiting for something to become true: tests say until when, never for how long."""

import math
import os
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

POLL_SECONDS = 0.02


def stretched(seconds: float, usual_load: float = 1.0) -> float:
    """So much time on a quiet machine, and as much more as it is busy: with six processes for each core, six times.

    ``usual_load`` is the load of each core beside which the time was chosen.
    """
    return seconds * max(1.0, os.getloadavg()[0] / (usual_load * (os.cpu_count() or 1)))


def span(seconds: float) -> str:
    """The same as the value of a setting, such as a lease that a busy tick must not use up."""
    return f"{stretched(seconds):.2f}s"


def whole(seconds: float) -> int:
    """The same in whole seconds: for the time limit of a handler, which counts before the handler has begun."""
    return math.ceil(stretched(seconds))


def wait_for(
    condition: Callable[[], Value], deadline_seconds: float = 20, describe: str | Callable[[], str] = ""
) -> Value:
    """Poll until the condition is truthy and return its value; AssertionError when the deadline passes.

    The deadline is that of a quiet machine, see `stretched`. `describe` says what was waited for; a callable is asked
    only in the case of failure.
    """
    began = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() - began >= stretched(deadline_seconds):
            text = describe() if callable(describe) else describe
            raise AssertionError(f"not within {deadline_seconds} s: {text or condition}")
        time.sleep(POLL_SECONDS)
