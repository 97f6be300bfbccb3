"""Questions on a connection of an event loop, as ``asking`` has them.

The questions are written without await. SQLAlchemy itself makes its connections such ones. For the others a thread
asks, and each of its statements is executed in the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import Any, TypeVar

from jobrunner.store.callers.asking import Question, ask
from jobrunner.store.callers.borrowed import ASK, unscoped
from jobrunner.store.callers.borrowed_async import AsyncTransaction, DriverOfLoop, async_connection_below
from jobrunner.store.drivers.connection import NO_VALUES, Executor, Result
from jobrunner.store.sql.statement import Statement, Values

T = TypeVar("T")
_BEGIN_OR_END = ("BEGIN", "SET TRANSACTION", "SAVEPOINT", "ROLLBACK", "RELEASE")


async def ask_async(transaction: AsyncTransaction, schema: str | None, work: Callable[[Question], T]) -> T:
    """What ``work`` reads on this connection of an event loop. ``work`` may run in another thread. Raises as ``ask``.

    A cancellation ends the statement that is under way, and the question. On a connection of SQLAlchemy, SQLAlchemy
    closes the connection.
    """
    given: Any = unscoped(transaction)
    if hasattr(given, "run_sync"):
        asked: T = await given.run_sync(lambda each: ask(each, schema, work))
        return asked
    bridge = _Bridge(async_connection_below(given, schema, ASK), asyncio.get_running_loop())
    question = Question(bridge, bridge.below.driver, bridge.rollback)
    context, found = copy_context(), Future[T]()
    # Not one of the loop's own threads: an application may keep all of these at work.
    Thread(target=_do, args=(found, lambda: context.run(question.answer, work)), daemon=True).start()
    waiting = asyncio.wrap_future(found)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        bridge.interrupt()
        while not waiting.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([waiting])
        if not waiting.cancelled():
            # Looked at, so that the event loop does not report it as forgotten.
            waiting.exception()
        raise


def _do(found: Future[T], work: Callable[[], T]) -> None:
    try:
        found.set_result(work())
    except BaseException as error:  # noqa: BLE001 - it is raised in the loop
        found.set_exception(error)


class _Bridge(Executor):
    """Executes in the loop what a thread asks, one statement after the other."""

    def __init__(self, below: DriverOfLoop, loop: asyncio.AbstractEventLoop) -> None:
        self.below = below
        self.loop = loop
        self.database, self.schema = below.database, below.schema
        self._task: asyncio.Task[Any] | None = None
        self._is_over = False
        self._is_interruptible = False

    def execute(self, statement: Statement, values: Values = NO_VALUES) -> Result:
        """Execute a statement with these parameters, and read all of its rows."""
        words = statement if isinstance(statement, str) else ""
        # Without an answer it would not be known whether there is something to end.
        self._is_interruptible = not words.startswith(_BEGIN_OR_END)
        return self._wait(self.below.execute(statement, values))

    def rollback(self) -> None:
        """Roll back, as a driver does that begins its transactions by itself."""
        self._is_interruptible = False
        self._wait(self.below.driver.rollback())

    def interrupt(self) -> None:
        """End the statement that is under way. Call it in the loop. What comes then ends the question."""
        self._is_over = True
        if self._task is not None and self._is_interruptible:
            self._task.cancel()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        answer = Future[T]()

        def end(task: asyncio.Task[T]) -> None:
            # Also one that was cancelled before its first step.
            _do(answer, task.result)

        def begin() -> None:
            self._task = self.loop.create_task(work)
            self._task.add_done_callback(end)
            if self._is_over and self._is_interruptible:
                # The question was interrupted before this statement: it is not sent.
                self._task.cancel()

        self.loop.call_soon_threadsafe(begin)
        return answer.result()
