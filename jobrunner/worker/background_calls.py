"""Database calls beside the main loop: in another thread, with a connection of its own, while the loop goes on."""

from __future__ import annotations

import queue
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from jobrunner.errors import ConfigurationError, DatabaseUnavailable
from jobrunner.store.drivers.database import Database
from jobrunner.worker import threads
from jobrunner.worker.context import TickContext
from jobrunner.worker.threads import TickThread
from jobrunner.worker.watchdog import Watchdog

T = TypeVar("T")
_SWITCH_SECONDS = 0.0005
"""After Python's default of 5 ms the children would have no work left: the main thread waits for so long after each of
its system calls while another thread computes."""


class BackgroundCalls(Generic[T]):
    """Makes one call at a time in its thread, which starts at the first use. Main thread only.

    ``wake`` ends the wait of the main thread. Where the host can start no thread, or the server accepts no further
    connection, it is not usable, and the main thread makes the call itself.
    """

    def __init__(self, context: TickContext, wake: Callable[[], None], thread: _Thread | None = None) -> None:
        self._context = context
        self._wake = wake
        self._thread = thread or _Thread(context.database, context.watchdog, wake)
        self._answers: queue.SimpleQueue[T | Exception] = threads.SimpleQueue()
        self._is_usable = True

    def another(self) -> BackgroundCalls[Any]:
        """A second one. Where writers starve each other, both use one thread, which makes one call after the other."""
        return BackgroundCalls(
            self._context, self._wake, self._thread if self._context.database.waits_unfairly else None
        )

    def is_usable(self) -> bool:
        """Whether ``ask`` may be called. Starts the thread."""
        if self._is_usable and not self._thread.is_alive():
            try:
                self._thread.start()
            except ConfigurationError:
                self._is_usable = False
            else:
                sys.setswitchinterval(_SWITCH_SECONDS)
        return self._is_usable

    def ask(self, call: Callable[[Database], T]) -> None:
        """Make this call. Take its answer before you ask again."""
        self._thread.asked.put((call, self._answers))

    def answer(self) -> T | Exception | None:
        """What the call has returned or raised. None means that it is not finished, or that there is none."""
        with suppress(queue.Empty):
            answer = self._answers.get_nowait()
            # Perhaps the server accepts no more connections. The main thread has one.
            self._is_usable = not isinstance(answer, DatabaseUnavailable)
            return answer
        return None

    def close(self) -> None:
        """Wait for the current call, then end the thread and close its connection."""
        self._thread.close()


class _Thread(TickThread):
    def __init__(self, main: Database, watchdog: Watchdog, wake: Callable[[], None]) -> None:
        super().__init__("jobrunner-background")
        self.asked: queue.SimpleQueue[tuple[Callable[[Database], Any], queue.SimpleQueue[Any]] | None] = (
            threads.SimpleQueue()
        )
        self._database = main.second_connection()
        self._watchdog = watchdog
        self._wake = wake

    def start(self) -> None:
        super().start()
        # It makes no call before it is asked to. A thread that could not start is not watched.
        self._watchdog.add(self._database)

    def close(self) -> None:
        self.asked.put(None)
        if self.is_alive():
            self.join(timeout=1)
        if self.is_alive():
            self._database.cut()
            self.join(timeout=5)
        self._watchdog.remove(self._database)
        self._database.close()

    def run(self) -> None:
        while (asked := self.asked.get()) is not None:
            call, answers = asked
            try:
                answers.put(call(self._database))
            except Exception as error:  # noqa: BLE001 - the error is the answer
                answers.put(error)
            self._wake()
