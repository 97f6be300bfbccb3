"""A handler's own transaction for ``async with``, on a connection of the event loop.

It ends as a plain one does. A request to stop cancels the handler's task: before the end of the block all is rolled
back; from then on the end and the COMMIT are done first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from jobrunner import failpoints
from jobrunner.effects.ending import RunEnd
from jobrunner.store.callers.transactions import OwnTransaction, begin
from jobrunner.store.drivers.steps import uninterrupted

_INTERRUPTION_SECONDS = 1.0


class AwaitedTransaction:
    """A handler's own transaction for ``async with``. ``shield`` as of a plain one: a plain handler may have a loop."""

    def __init__(self, end: RunEnd, shield: Callable[[], Any]) -> None:
        self._end = end
        self._shield = shield

    @asynccontextmanager
    async def block(self, given: object, result: Callable[[], object]) -> AsyncIterator[Any]:
        """The transaction, on ``given`` or on a connection of our own. ``result`` is asked for at its end."""
        end = self._end
        end.check_is_first()
        own = end.open = await begin(
            end.database.async_engine() if given is None else given, end.database.location.schema, is_awaited=True
        )
        try:
            async with self._time_limit(own):
                yield own.handle
            with self._shield():
                await uninterrupted(end.commit(own, result(), asyncio.to_thread))
        except BaseException:
            if end.open is own:
                await uninterrupted(own.rollback())
            raise
        finally:
            end.open = None
        failpoints.hit("transaction.committed")

    @asynccontextmanager
    async def _time_limit(self, own: OwnTransaction) -> AsyncIterator[None]:
        if not own.holds_only_lock():
            yield
            return
        limit = _Limit(own, self._end.longest.total_seconds())
        try:
            async with limit.cancellation:
                yield
        except Exception as raised:
            if limit.is_over():
                raise self._end.too_long() from raised
            raise
        finally:
            limit.task.cancel()
        if limit.is_over():
            # Nothing could interrupt what never awaited.
            raise self._end.too_long()


class _Limit:
    """Ends a block after some time: first its statement, which a cancellation would leave at work in its thread."""

    def __init__(self, own: OwnTransaction, seconds: float) -> None:
        self._own = own
        self._ends_at = asyncio.get_running_loop().time() + seconds
        self.cancellation = asyncio.timeout(None)
        self.task = asyncio.ensure_future(self._wait())

    def is_over(self) -> bool:
        """Whether the time is over."""
        return asyncio.get_running_loop().time() > self._ends_at

    async def _wait(self) -> None:
        await asyncio.sleep(self._ends_at - asyncio.get_running_loop().time())
        with suppress(Exception):
            await asyncio.wait_for(self._own.interrupt(), _INTERRUPTION_SECONDS)
        self.cancellation.reschedule(0)
