"""Enqueues runs from an application with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, Unpack

from jobrunner.application.enqueueing import Enqueued, Payload, Work, many_runs, on_own, one_run, schema_of_ours
from jobrunner.application.own_connections import own_connections
from jobrunner.jobs.run_options import ManyOptions, RunOptions
from jobrunner.store.callers.borrowed_async import AsyncTransaction, follow_on

__all__ = ["AsyncTransaction", "enqueue_async", "enqueue_many_async"]

T = TypeVar("T")


async def enqueue_async(
    transaction: AsyncTransaction | None,
    job_type: str,
    payload: Mapping[str, Any] | None = None,
    **options: Unpack[RunOptions],
) -> Enqueued:
    """Insert a run on the caller's connection of an event loop, by the rules of ``enqueue``. It never commits.

    ``transaction`` is an AsyncConnection or AsyncSession of SQLAlchemy, or a connection of psycopg, asyncpg or
    aiosqlite, on which a transaction is open. None: a connection of jobrunner's own to the configured database, in a
    transaction that is committed. If the caller is cancelled, the run is in the transaction or is not; with None it may
    still be committed.
    """
    return await _do(transaction, one_run(job_type, payload or {}, options))


async def enqueue_many_async(
    transaction: AsyncTransaction | None,
    job_type: str,
    payloads: Iterable[Payload[...]],
    **options: Unpack[ManyOptions],
) -> list[Enqueued]:
    """Insert a run for each payload by the rules of ``enqueue_many``, on a connection as for ``enqueue_async``."""
    work = many_runs(job_type, payloads, options)
    return [] if work is None else await _do(transaction, work)


async def _do(transaction: AsyncTransaction | None, work: Work[T]) -> T:
    if transaction is None:
        return await asyncio.wrap_future(own_connections().write(lambda own: on_own(own, work)))
    return await follow_on(transaction, schema_of_ours(), work)
