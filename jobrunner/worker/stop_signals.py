"""SIGTERM and SIGINT: noted, and acted on by the loop when it next turns."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jobrunner import clock


class StopRequest:
    """Whether the tick was told to stop: ``at`` is when (``clock.elapsed``), ``times`` how often."""

    def __init__(self) -> None:
        self.at: float | None = None
        self.times = 0

    def note(self, *_: Any) -> None:
        """Be told once more. A second time means: now."""
        self.times += 1
        if self.at is None:
            self.at = clock.elapsed()

    @contextmanager
    def waking(self, descriptor: int) -> Iterator[None]:
        """While the block runs, each stop signal and each end of a child writes to the (non-blocking) descriptor."""
        # With a handler of its own, SIGCHLD ends the wait for the other children.
        before = signal.signal(signal.SIGCHLD, lambda *_: None)
        wake_before = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wake_before)
            signal.signal(signal.SIGCHLD, before)


@contextmanager
def noting_stop_signals() -> Iterator[StopRequest]:
    """Note stop signals while the block runs, instead of dying of them."""
    request = StopRequest()
    before = {number: signal.signal(number, request.note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
