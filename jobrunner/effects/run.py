"""What one run does in the database through its context."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from jobrunner.effects.async_transaction import AwaitedTransaction
from jobrunner.effects.database import ChildDatabase
from jobrunner.effects.ending import RunEnd
from jobrunner.effects.once import Call, EffectRun, Once, execute, execute_async
from jobrunner.effects.transaction import PlainTransaction
from jobrunner.errors import UsageError
from jobrunner.jobs.effect import Effect, OnUncertain, check_key, check_on_uncertain
from jobrunner.jobs.transaction_block import TransactionBlock


class RunEffects:
    """The guarded effects of a run, and its own transaction."""

    def __init__(self, database: ChildDatabase, run: EffectRun, shield: Callable[[], Any]) -> None:
        self._once = Once(database, run)
        self._end = RunEnd(database, run)
        self._shield = shield
        # A block that is forgotten while it is open would be closed by the garbage collector, beside what it does.
        self._blocks: list[TransactionBlock] = []

    def once(
        self, key: str, send: Callable[..., Any], on_uncertain: OnUncertain, /, *args: Any, **kwargs: Any
    ) -> Effect:
        """As ``Context.once``."""
        if inspect.iscoroutinefunction(send):
            raise UsageError("the function of an effect is async: write await ctx.once_async(...)")
        return execute(self._once.steps(self._call(key, on_uncertain), partial(send, *args, **kwargs)), self._shield)

    async def once_async(
        self, key: str, send: Callable[..., Any], on_uncertain: OnUncertain, /, *args: Any, **kwargs: Any
    ) -> Effect:
        """As ``Context.once_async``."""
        return await execute_async(self._once.steps(self._call(key, on_uncertain), partial(send, *args, **kwargs)))

    def transaction(self, given: object, result: Callable[[], object]) -> TransactionBlock:
        """As ``Context.transaction``."""
        plain, awaited = PlainTransaction(self._end, self._shield), AwaitedTransaction(self._end, self._shield)
        self._blocks.append(TransactionBlock(plain.block(given, result), awaited.block(given, result)))
        return self._blocks[-1]

    @property
    def is_committed(self) -> bool:
        """Whether the run has ended with its own transaction."""
        return self._end.is_committed

    async def close_async(self) -> None:
        """Roll back what a handler that returns has left open. Raises UsageError then."""
        left, self._end.open = self._end.open, None
        if left is None:
            return
        await left.rollback()
        raise UsageError("the handler has returned inside its own transaction, which was rolled back; use `with`")

    def close(self) -> None:
        """As ``close_async``, in a child without an event loop."""
        if self._end.open is not None:
            asyncio.run(self.close_async())

    def _call(self, key: str, on_uncertain: OnUncertain) -> Call:
        if self._end.open is not None:
            raise UsageError(
                "no effect inside the run's own transaction, which would stay open meanwhile; call ctx.once before it"
            )
        if self._end.is_committed:
            raise UsageError("the run has ended with its own transaction; call ctx.once before ctx.transaction")
        return Call(check_key(key), check_on_uncertain(on_uncertain))
