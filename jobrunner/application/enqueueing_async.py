"""Enqueues runs from an application with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from jobrunner.application.enqueueing import Enqueued, Entry, Work, many_runs, one_run, schema_of_ours
from jobrunner.application.own_connections import own_connections
from jobrunner.durations import Duration
from jobrunner.jobs.parents import After
from jobrunner.model import OnFailure, Taken
from jobrunner.store.callers.borrowed_async import AsyncTransaction, follow_on
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.steps import follow
from jobrunner.store.queue.enqueue import make_durable

__all__ = ["AsyncTransaction", "enqueue_async", "enqueue_many_async"]

T = TypeVar("T")


async def enqueue_async(
    transaction: AsyncTransaction | None,
    job_type: str,
    payload: Mapping[str, Any] | None = None,
    *,
    run_at: datetime | timedelta | None = None,
    priority: int = 0,
    idempotency_key: str | None = None,
    max_attempts: int | None = None,
    timeout: Duration | None = None,
    taken: Taken = "existing",
    after: After | None = None,
    on_failure: OnFailure = "cancel",
) -> Enqueued:
    """Insert a run on the caller's connection of an event loop, by the rules of ``enqueue``. It never commits.

    ``transaction`` is an AsyncConnection or AsyncSession of SQLAlchemy, or a connection of psycopg, asyncpg or
    aiosqlite, on which a transaction is open. None: a connection of jobrunner's own to the configured database, in a
    transaction that is committed. If the caller is cancelled, the run is in the transaction or is not; with None it may
    still be committed.
    """
    work = one_run(
        job_type,
        payload or {},
        taken=taken,
        after=after,
        on_failure=on_failure,
        run_at=run_at,
        priority=priority,
        idempotency_key=idempotency_key,
        max_attempts=max_attempts,
        timeout=timeout,
    )
    return await _do(transaction, work)


async def enqueue_many_async(
    transaction: AsyncTransaction | None,
    job_type: str,
    payloads: Iterable[Mapping[str, Any] | Entry],
    *,
    run_at: datetime | timedelta | None = None,
    priority: int = 0,
    max_attempts: int | None = None,
    timeout: Duration | None = None,
    taken: Taken = "existing",
) -> list[Enqueued]:
    """Insert a run for each payload by the rules of ``enqueue_many``, on a connection as for ``enqueue_async``."""
    options: dict[str, Any] = {"run_at": run_at, "priority": priority, "max_attempts": max_attempts, "timeout": timeout}
    work = many_runs(job_type, payloads, options, taken)
    return [] if work is None else await _do(transaction, work)


async def _do(transaction: AsyncTransaction | None, work: Work[T]) -> T:
    if transaction is None:
        return await asyncio.wrap_future(own_connections().write(lambda own: _enqueue(own, work)))
    return await follow_on(transaction, schema_of_ours(), work)


def _enqueue(own: Connection, work: Work[T]) -> T:
    answer: Any = follow(own, work(own.database))
    make_durable(own, answer if isinstance(answer, list) else [answer])
    enqueued: T = answer
    return enqueued
