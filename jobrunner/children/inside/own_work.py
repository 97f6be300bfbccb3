"""What handlers do in the database through their context: guarded effects, and a transaction of their own.

Nothing of it is imported, and no connection is opened, before a handler uses it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from jobrunner.children.messages import Hello, StartRun
from jobrunner.errors import UsageError

if TYPE_CHECKING:
    from jobrunner.effects.database import ChildDatabase
    from jobrunner.effects.run import RunEffects
    from jobrunner.jobs.effect import Effect, OnUncertain
    from jobrunner.jobs.transaction_block import TransactionBlock


class DatabaseAccess:
    """The database of a child. ``shield`` makes a block in which a request to stop does not interrupt the handler."""

    def __init__(
        self, hello: Hello | None = None, shield: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self.shield = shield
        self._hello = hello
        self._database: ChildDatabase | None = None

    def database(self) -> ChildDatabase:
        """The one connection of this child. Raises UsageError in a process that only imports the handlers."""
        if self._database is None:
            from jobrunner.effects.database import ChildDatabase

            hello = self._hello
            if hello is None or hello.database_url is None:
                raise UsageError("this process runs no handlers, so it has no database")
            self._database = ChildDatabase(hello.database_url, hello.lease_seconds, hello.schema, hello.state_folder)
        return self._database


class OwnWork:
    """The work of one run."""

    __slots__ = ("_access", "_effects", "_start")

    def __init__(self, start: StartRun, access: DatabaseAccess) -> None:
        self._start = start
        self._access = access
        self._effects: RunEffects | None = None

    def once(
        self, key: str, send: Callable[..., Any], on_uncertain: OnUncertain, /, *args: Any, **kwargs: Any
    ) -> Effect:
        """As ``Context.once``."""
        return self._open().once(key, send, on_uncertain, *args, **kwargs)

    async def once_async(
        self, key: str, send: Callable[..., Any], on_uncertain: OnUncertain, /, *args: Any, **kwargs: Any
    ) -> Effect:
        """As ``Context.once_async``."""
        return await self._open().once_async(key, send, on_uncertain, *args, **kwargs)

    def transaction(self, given: object, result: Callable[[], object]) -> TransactionBlock:
        """As ``Context.transaction``."""
        return self._open().transaction(given, result)

    def close(self, returned: object) -> None:
        """Call it when the handler has returned. Raises UsageError if it has left its transaction open."""
        if self._effects is not None:
            self._effects.close()
            self._tell(returned)

    async def close_async(self, returned: object) -> None:
        """As ``close``, in an event loop."""
        if self._effects is not None:
            await self._effects.close_async()
            self._tell(returned)

    def _tell(self, returned: object) -> None:
        if self._effects is not None and self._effects.is_committed and returned is not None:
            sys.stderr.write(
                "jobrunner: the return value was not kept: the run ended with its transaction; set ctx.result in it\n"
            )

    def _open(self) -> RunEffects:
        if self._effects is None:
            from jobrunner.effects.once import EffectRun
            from jobrunner.effects.run import RunEffects
            from jobrunner.model import Lease

            start = self._start
            lease = Lease(start.run_id, start.token)
            run = EffectRun(lease, start.job_type, start.attempt, start.result_limit)
            self._effects = RunEffects(self._access.database(), run, self._access.shield)
        return self._effects
