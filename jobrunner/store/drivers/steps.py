"""Steps: work on a connection, written once for all connections, those of an event loop included.

A function of steps yields each statement with its values, and gets its result. It knows no connection.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from jobrunner.store.drivers.connection import AsyncExecutor, Executor, Result
from jobrunner.store.sql.statement import Statement, Values

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


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Do what has nothing to wait for, because it is done without an event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        done: T = end.value
        return done
    work.close()
    raise RuntimeError("this waits for an event loop")


async def follow_async(caller: AsyncExecutor, steps: Steps[T]) -> T:
    """The same on a connection of an event loop.

    A cancellation interrupts the first statement only. After that all steps are done before it is raised, so that a
    caller who goes on with the transaction has no run without its key.
    """
    try:
        step = steps.send(await caller.execute(*next(steps)))
    except StopIteration as end:
        result: T = end.value
        return result
    return await uninterrupted(_others(caller, steps, step))


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Do this work to its end, also if the task is cancelled meanwhile; then that is raised at its end."""
    # Only here: the import takes a tenth of a short command.
    import asyncio

    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled():
            # Looked at, so that the event loop does not report it as forgotten.
            task.exception()
        raise


async def _others(caller: AsyncExecutor, steps: Steps[T], step: Step) -> T:
    try:
        while True:
            step = steps.send(await caller.execute(*step))
    except StopIteration as end:
        result: T = end.value
        return result
