"""The only file of a tick that starts threads, and that makes what they wait for.

So there is one place to look for what may happen at the same time, and one to replace where a test decides the order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread

from jobrunner.errors import ConfigurationError

__all__ = ["Event", "SimpleQueue", "TickThread", "start"]


def start(work: Callable[[], object], name: str) -> Thread:
    """Start a thread, for which the end of the process does not wait. Raises RuntimeError if the host cannot."""
    thread = Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


class TickThread(ABC):
    """A thread that a tick needs: from ``start`` to the end of ``run``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: Thread | None = None

    @abstractmethod
    def run(self) -> None:
        """What the thread does."""

    def start(self) -> None:
        """Start the thread. Raises ConfigurationError when the host cannot start any more."""
        try:
            self._thread = start(self.run, self._name)
        except RuntimeError as error:
            raise ConfigurationError(f"{error}: this user has too many processes, or too little memory") from None

    def is_alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._thread is not None and self._thread.is_alive()

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, at most for so many seconds."""
        if self._thread is not None:
            self._thread.join(timeout)
