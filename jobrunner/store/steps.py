"""Steps: work on a connection, written once for all connections, those of an event loop included.

A function of steps yields each statement with its values, and gets its result. It knows no connection.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

from jobrunner.store.connection import AsyncExecutor, Executor, Result
from jobrunner.store.statement import Statement, Values

T = TypeVar("T")
Step: TypeAlias = tuple[Statement, Values]
Steps: TypeAlias = Generator[Step, Result, T]


def follow(caller: Executor, steps: Steps[T]) -> T:
    """Execute the statements of the steps on this connection. Returns what the steps return."""
    try:
        step = next(steps)
        while True:
            step = steps.send(caller.execute(*step))
    except StopIteration as end:
        result: T = end.value
        return result


async def follow_async(caller: AsyncExecutor, steps: Steps[T]) -> T:
    """The same on a connection of an event loop."""
    try:
        step = next(steps)
        while True:
            step = steps.send(await caller.execute(*step))
    except StopIteration as end:
        result: T = end.value
        return result
