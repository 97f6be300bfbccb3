"""An alarm that any thread, and a signal, may ring to end a wait of the main thread."""

from __future__ import annotations

import os
import select
from contextlib import suppress

from jobrunner import clock

_SHORTEST_POLL_SECONDS = 0.001
"""A poll waits for whole milliseconds: it would make a shorter wait longer."""


class Alarm:
    """A pipe. ``descriptor`` is its end for writing, for ``signal.set_wakeup_fd``."""

    def __init__(self) -> None:
        self._read, self.descriptor = os.pipe()
        for end in (self._read, self.descriptor):
            os.set_blocking(end, False)
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)

    def fileno(self) -> int:
        """The descriptor that is readable while the alarm rings."""
        return self._read

    def ring(self) -> None:
        """End the wait that is going on, or the next one."""
        with suppress(BlockingIOError):
            os.write(self.descriptor, b"\0")

    def watch(self, descriptor: int) -> None:
        """End a wait also when this descriptor is readable."""
        self._poll.register(descriptor, select.POLLIN)

    def unwatch(self, descriptor: int) -> None:
        """Undo ``watch``."""
        self._poll.unregister(descriptor)

    def wait(self, seconds: float) -> list[int]:
        """Wait at most for so long; returns the descriptors that have ended it, its own or watched ones.

        A wait of less than a millisecond is not cut short.
        """
        if seconds >= _SHORTEST_POLL_SECONDS:
            return [descriptor for descriptor, _ in self._poll.poll(1000 * seconds)]
        clock.sleep(seconds)
        return []

    def silence(self) -> None:
        """Let the next wait begin anew."""
        with suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._read)
        os.close(self.descriptor)
