"""What one run does in the database through its context."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from jobrunner.effects.database import ChildDatabase
from jobrunner.effects.once import Call, EffectRun, Once, execute, execute_async
from jobrunner.effects.transaction import RunTransaction
from jobrunner.errors import UsageError
from jobrunner.jobs.effect import Effect, OnUncertain, check_key, check_on_uncertain


class RunEffects:
    """The guarded effects of a run, and its own transaction."""

    def __init__(self, database: ChildDatabase, run: EffectRun, shield: Callable[[], Any]) -> None:
        self._once = Once(database, run)
        self._transaction = RunTransaction(database, run, shield)
        self._shield = shield

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

    def transaction(self, given: object, result: Callable[[], object]) -> AbstractContextManager[Any]:
        """As ``Context.transaction``."""
        return self._transaction.block(given, result)

    @property
    def is_committed(self) -> bool:
        """Whether the run has ended with its own transaction."""
        return self._transaction.is_committed

    def close(self) -> None:
        """Raise UsageError if the handler has left its transaction open."""
        self._transaction.close()

    def _call(self, key: str, on_uncertain: OnUncertain) -> Call:
        if self._transaction.is_open:
            raise UsageError(
                "no effect inside the run's own transaction: it would stay open meanwhile; call once before"
            )
        if self._transaction.is_committed:
            raise UsageError("the run has ended with its own transaction; call once before")
        return Call(check_key(key), check_on_uncertain(on_uncertain))
