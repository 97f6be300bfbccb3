"""The limit of a call to a server, where no watchdog of a tick ends one that hangs: in an application, in a child."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from jobrunner.store.drivers.waits import Waits


class Cuttable(Protocol):
    """What makes calls to a server, such as a ``Database``. Another thread may look at it, and cut its call."""

    waits: Waits

    def stuck_for(self) -> float:
        """The age of the current call in seconds; 0: there is none."""

    def find_holder(self) -> None:
        """Find out who blocks the call, so that its error can name it."""

    def cut(self) -> None:
        """End the call."""


@contextmanager
def limited(database: Cuttable) -> Iterator[None]:
    """Cut each call of this block that takes longer than its limit. The server limits statements, but no COMMIT."""
    is_over, longest = threading.Event(), database.waits.call

    def ask() -> None:
        with suppress(Exception):
            database.find_holder()

    def watch() -> None:
        while not is_over.wait(longest / 8):
            if database.stuck_for() >= longest:
                # A server that is silent may be silent to this question, too. The call is cut all the same.
                asking = threading.Thread(target=ask, name="jobrunner-inquiry", daemon=True)
                asking.start()
                asking.join(longest / 8)
                database.cut()

    watcher = threading.Thread(target=watch, name="jobrunner-call-limit", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
