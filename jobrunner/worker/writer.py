"""The writer: a thread with its own connection, which writes while the main loop goes on."""

from __future__ import annotations

import queue
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from jobrunner.store.database import Database
from jobrunner.worker.watchdog import TickThread, Watchdog

T = TypeVar("T")


class Writer(TickThread, Generic[T]):
    """Does one write at a time. Call every method but ``run`` in the main thread. ``wake`` ends that thread's wait."""

    def __init__(self, main: Database, watchdog: Watchdog, wake: Callable[[], None]) -> None:
        super().__init__(name="jobrunner-writer", daemon=True)
        self._database = main.twin()
        self._watchdog = watchdog
        self._wake = wake
        self._asked: queue.SimpleQueue[Callable[[Database], T] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[T | Exception] = queue.SimpleQueue()
        watchdog.add(self._database)

    def ask(self, work: Callable[[Database], T]) -> None:
        """Start this work. Take its answer before you ask again."""
        self._asked.put(work)

    def answer(self) -> T | Exception | None:
        """What the work has returned or raised. None means that it is not finished."""
        with suppress(queue.Empty):
            return self._answers.get_nowait()
        return None

    def close(self) -> None:
        """Wait for the current work, then end the thread and close its connection."""
        self._asked.put(None)
        if self.is_alive():
            self.join(timeout=1)
        if self.is_alive():
            self._database.cut()
            self.join(timeout=5)
        self._watchdog.remove(self._database)
        self._database.close()

    def run(self) -> None:
        """Work until closed."""
        while (work := self._asked.get()) is not None:
            answer: Any
            try:
                answer = work(self._database)
            except Exception as error:  # noqa: BLE001 - the error is the answer
                answer = error
            self._answers.put(answer)
            self._wake()
