"""Stop signals (SIGTERM and SIGINT): they are only noted. The loop acts on them in its next step."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jobrunner import clock


class StopRequest:
    """The stop signals so far: ``at`` is when the first came (``clock.elapsed``), ``times`` is how many came."""

    def __init__(self) -> None:
        self.at: float | None = None
        self.times = 0

    def note(self, *_: Any) -> None:
        """Note a signal. The second one means that the grace period ends now."""
        self.times += 1
        if self.at is None:
            self.at = clock.elapsed()

    @contextmanager
    def noting(self) -> Iterator[None]:
        """While the block runs, stop signals are noted and do not end the process."""
        before = {number: signal.signal(number, self.note) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def waking(self, descriptor: int) -> Iterator[None]:
        """While the block runs, each stop signal and each end of a child writes to the (non-blocking) descriptor."""
        # SIGCHLD writes to the descriptor only if it has a handler.
        before = signal.signal(signal.SIGCHLD, lambda *_: None)
        wake_before = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wake_before)
            signal.signal(signal.SIGCHLD, before)
