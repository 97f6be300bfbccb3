"""What ``ctx.transaction`` returns. Standard library only."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any


class TransactionBlock(AbstractContextManager[Any], AbstractAsyncContextManager[Any]):
    """A run's own transaction: ``with`` it in a plain handler, ``async with`` it in an async one."""

    def __init__(self, plain: AbstractContextManager[Any], awaited: AbstractAsyncContextManager[Any]) -> None:
        self._plain = plain
        self._awaited = awaited

    def __enter__(self) -> Any:
        return self._plain.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._plain.__exit__(kind, error, trace)

    async def __aenter__(self) -> Any:
        return await self._awaited.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._awaited.__aexit__(kind, error, trace)
