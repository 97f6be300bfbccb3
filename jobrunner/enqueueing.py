"""Enqueue from an application, inside its own transaction."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from jobrunner import config
from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.names import check_job_type
from jobrunner.payload import check_payload
from jobrunner.policies import declared
from jobrunner.store.dialect.borrowed import Transaction, connection_of
from jobrunner.store.runs import Enqueued, NewRun
from jobrunner.store.runs import enqueue as insert_run
from jobrunner.text import storable

__all__ = ["Enqueued", "Transaction", "enqueue", "new_run"]


def enqueue(
    transaction: Transaction,
    job_type: str,
    payload: Mapping[str, Any] | None = None,
    *,
    run_at: datetime | timedelta | None = None,
    priority: int = 0,
    idempotency_key: str | None = None,
    max_attempts: int | None = None,
    timeout: Duration | None = None,
) -> Enqueued:
    """Insert a run through the caller's own connection, and never commit it.

    ``transaction`` is a SQLAlchemy connection or session, Django's ``connection``, or a connection of psycopg or
    sqlite3 on which a transaction is open. The run appears if and only if that transaction commits. ``run_at`` is an
    aware datetime, or a timedelta from now. A higher ``priority`` runs first (-1000 to 1000). A key that was ever used
    for this job type gives the id it was used for, with ``created`` False. Raises UsageError or BadPayload before
    anything is sent.

    Where the type has a ``max_waiting`` and as many runs wait, nothing is inserted: QueueFull is raised, and the
    transaction is as good as before, or with ``when_full="drop"`` the answer's ``id`` is None. To be exact, enqueues of
    such a type wait for each other until the transaction of each ends: make it a short one.
    """
    limit = config.load(os.environ).payload_limit
    new = new_run(
        job_type,
        payload or {},
        payload_limit=limit,
        run_at=run_at,
        priority=priority,
        idempotency_key=idempotency_key,
        max_attempts=max_attempts,
        timeout=timeout,
    )
    with connection_of(transaction) as connection:
        return insert_run(connection, new, declared(job_type))


def new_run(
    job_type: str,
    payload: Mapping[str, Any],
    *,
    payload_limit: int,
    run_at: datetime | timedelta | None = None,
    priority: int = 0,
    idempotency_key: str | None = None,
    max_attempts: int | None = None,
    timeout: Duration | None = None,
) -> NewRun:
    """Check everything about a run to be: the same rules on every way in. Raises UsageError or BadPayload."""
    check_job_type(job_type)
    _check_run_at(run_at)
    _check_number("priority", priority, -1000, 1000)
    if max_attempts is not None:
        _check_number("max_attempts", max_attempts, 1, 1000)
    if idempotency_key is not None:
        if not isinstance(idempotency_key, str):
            raise UsageError(f"an idempotency key is text, not {type(idempotency_key).__name__}")
        if not idempotency_key or len(idempotency_key) > 500:
            raise UsageError("an idempotency key has 1 to 500 characters")
        if storable(idempotency_key) != idempotency_key:
            raise UsageError("the idempotency key holds a NUL character or a lone surrogate")
    return NewRun(
        job_type=job_type,
        payload=check_payload(payload, payload_limit),
        run_at=run_at,
        priority=priority,
        idempotency_key=idempotency_key,
        max_attempts=max_attempts,
        timeout=None if timeout is None else _timeout(timeout),
    )


def _check_number(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{name} must be a whole number from {least} to {most}, not {value!r}")


def _check_run_at(run_at: object) -> None:
    if isinstance(run_at, timedelta):
        parse_duration(run_at)
    elif isinstance(run_at, datetime):
        if run_at.tzinfo is None:
            raise UsageError("run_at has no time zone; write 2026-01-31T09:00:00Z or with an offset such as +01:00")
        # In another zone the ends of the calendar are in years that nothing can read back.
        if not 1970 <= run_at.year <= 9000:
            raise UsageError(f"run_at is in the year {run_at.year}; it must lie between 1970 and 9000")
    elif run_at is not None:
        raise UsageError(f"run_at is of type {type(run_at).__name__}; give an aware datetime, or a timedelta from now")


def _timeout(timeout: Duration) -> timedelta:
    if timeout == "none":
        return timedelta(0)
    limit = parse_duration(timeout)
    if not limit:
        raise UsageError('a timeout of 0 stops the run at once; say "none" for no limit')
    return limit
