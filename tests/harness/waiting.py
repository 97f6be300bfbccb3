"""Waiting for something to become true: tests say until when, never for how long."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

POLL_SECONDS = 0.02


def wait_for(
    condition: Callable[[], Value], deadline_seconds: float = 20, describe: str | Callable[[], str] = ""
) -> Value:
    """Poll until the condition is truthy and return its value; AssertionError when the deadline passes.

    `describe` says what was waited for; a callable is asked only in the case of failure.
    """
    deadline = time.monotonic() + deadline_seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            text = describe() if callable(describe) else describe
            raise AssertionError(f"not within {deadline_seconds} s: {text or condition}")
        time.sleep(POLL_SECONDS)
