"""The questions of an application, on a connection of an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from jobrunner.admin.findings import Health
from jobrunner.admin.status import Status
from jobrunner.application.enqueueing import schema_of_ours
from jobrunner.application.own_connections import own_connections
from jobrunner.ask import works
from jobrunner.ask.works import Work
from jobrunner.store.callers.asking_async import ask_async
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.runs.run_list import Page
from jobrunner.store.questions.runs.shown_run import ShownRun

if TYPE_CHECKING:
    from jobrunner.store.callers.borrowed_async import AsyncTransaction

T = TypeVar("T")


async def counts_async(connection: AsyncTransaction | None) -> dict[str, int]:
    """How many runs there are in each status, by the rules of ``counts``.

    ``connection`` is what ``jobrunner.enqueue_async`` takes, and may be in autocommit mode. None: a connection of
    jobrunner's own. If the call is cancelled, the question ends, and the transaction is as after any call of the
    library that was cancelled: SQLAlchemy closes the connection.
    """
    return await _do(connection, works.counts_of_statuses)


async def status_async(connection: AsyncTransaction | None) -> Status:
    """The state of everything, by the rules of ``status``, on a connection as for ``counts_async``."""
    return await _do(connection, works.status())


async def run_async(connection: AsyncTransaction | None, run_id: int) -> ShownRun:
    """A run with its attempts and events, by the rules of ``run``, on a connection as for ``counts_async``."""
    return await _do(connection, works.run(run_id))


async def runs_async(
    connection: AsyncTransaction | None,
    *,
    status: str | Iterable[str] | None = None,
    job_type: str | Iterable[str] | None = None,
    schedule: str | None = None,
    since: datetime | timedelta | None = None,
    until: datetime | timedelta | None = None,
    key: str | None = None,
    concurrency_key: str | None = None,
    error_like: str | None = None,
    waiting_for: str | Iterable[str] | None = None,
    limit: int = 50,
    before: int | None = None,
) -> Page:
    """Runs, the newest first, by the rules of ``runs``, on a connection as for ``counts_async``."""
    work = works.runs(
        status=status,
        job_type=job_type,
        waiting_for=waiting_for,
        since=since,
        until=until,
        limit=limit,
        before=before,
        schedule=schedule,
        key=key,
        concurrency_key=concurrency_key,
        error=error_like,
    )
    return await _do(connection, work)


async def explain_async(connection: AsyncTransaction | None, subject: int | str) -> Explanation:
    """Why something does not run, by the rules of ``explain``, on a connection as for ``counts_async``."""
    return await _do(connection, works.explain(subject))


async def health_async(connection: AsyncTransaction | None) -> Health:
    """What is wrong, by the rules of ``health``, on a connection as for ``counts_async``."""
    return await _do(connection, works.health())


async def _do(connection: AsyncTransaction | None, work: Work[T]) -> T:
    if connection is None:
        own = own_connections()
        return await asyncio.wrap_future(own.read(works.on_own(work, own.label)))
    return await ask_async(connection, schema_of_ours(), works.on_callers(work))
