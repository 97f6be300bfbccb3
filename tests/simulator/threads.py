"""What a tick's threads wait for, in simulated time: in the place of ``jobrunner.worker.threads`` and the clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from queue import Empty
from typing import Any

from simulator.scheduler import Scheduler, Task


class Event:
    """As ``threading.Event``."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._is_set = False
        self._waiting: list[Task] = []

    def set(self) -> None:
        self._is_set = True
        for task in self._waiting:
            self._scheduler.wake(task)

    def clear(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        if not self._is_set:
            task = self._scheduler.task()
            self._waiting.append(task)
            try:
                self._scheduler.wait("wait", timeout)
            finally:
                self._waiting.remove(task)
        return self._is_set


class SimpleQueue:
    """As ``queue.SimpleQueue``."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._items: deque[Any] = deque()
        self._arrived = Event(scheduler)

    def put(self, item: Any) -> None:
        self._items.append(item)
        self._arrived.set()

    def empty(self) -> bool:
        return not self._items

    def get(self) -> Any:
        while not self._items:
            self._arrived.clear()
            self._arrived.wait()
        return self._items.popleft()

    def get_nowait(self) -> Any:
        if not self._items:
            raise Empty
        return self._items.popleft()


class Thread:
    """As a started ``threading.Thread``, in the process of the task that starts it."""

    def __init__(self, scheduler: Scheduler, work: Callable[[], object], name: str) -> None:
        self._ended = Event(scheduler)

        def run() -> None:
            try:
                work()
            finally:
                self._ended.set()

        scheduler.start(scheduler.task().process, name.removeprefix("jobrunner-"), run)

    def is_alive(self) -> bool:
        return not self._ended.is_set()

    def join(self, timeout: float | None = None) -> None:
        self._ended.wait(timeout)
