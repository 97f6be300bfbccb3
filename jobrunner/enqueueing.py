"""Enqueue from an application, inside its own transaction."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from jobrunner import clock
from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.jobs.payload import checked_text
from jobrunner.jobs.policy import check_declared, declared
from jobrunner.names import check_job_type
from jobrunner.settings import config
from jobrunner.store.dialect.callers import Transaction, connection_of_caller
from jobrunner.store.enqueue import enqueue as insert_run
from jobrunner.store.enqueue_many import enqueue as insert_runs
from jobrunner.store.enqueue_sql import Enqueued, NewRun
from jobrunner.text import storable

__all__ = ["Enqueued", "Entry", "Transaction", "enqueue", "enqueue_many", "new_run"]


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
    anything is sent, also where this process has a handler of that type which cannot take the payload.

    Where the type has a ``max_waiting`` and as many runs wait, nothing is inserted: QueueFull is raised, and the
    transaction is as good as before, or with ``when_full="drop"`` the answer's ``id`` is None. To be exact, enqueues of
    such a type wait for each other until the transaction of each ends: make it a short one.
    """
    new = new_run(
        job_type,
        payload or {},
        payload_limit=_payload_limit(),
        run_at=run_at,
        priority=priority,
        idempotency_key=idempotency_key,
        max_attempts=max_attempts,
        timeout=timeout,
    )
    check_declared(job_type, payload or {})
    return insert_run(connection_of_caller(transaction), new, declared(job_type))


@dataclass(frozen=True, slots=True)
class Entry:
    """One of the many of ``enqueue_many``, with options of its own. What is None is as the call says."""

    payload: Mapping[str, Any]
    run_at: datetime | timedelta | None = None
    priority: int | None = None
    idempotency_key: str | None = None
    max_attempts: int | None = None
    timeout: Duration | None = None


def enqueue_many(
    transaction: Transaction,
    job_type: str,
    payloads: Iterable[Mapping[str, Any] | Entry],
    *,
    run_at: datetime | timedelta | None = None,
    priority: int = 0,
    max_attempts: int | None = None,
    timeout: Duration | None = None,
) -> list[Enqueued]:
    """Insert a run for each payload, under the rules of ``enqueue``, in a few statements; one answer each, in order.

    A payload that needs an idempotency key or other options of its own comes as an ``Entry``. All are checked before
    anything is sent: BadPayload and UsageError name the place in the list. Where the type's ``max_waiting`` has not
    room for all, QueueFull is raised with nothing written, or with ``when_full="drop"`` the last ones are dropped. A
    key that comes twice in the list stands for the first one's run.
    """
    options: dict[str, Any] = {"run_at": run_at, "priority": priority, "max_attempts": max_attempts, "timeout": timeout}
    limit = _payload_limit()
    shared = new_run(job_type, {}, payload_limit=limit, **options)
    listed: list[dict[str, Any]] = []
    for place, given in enumerate(payloads):
        try:
            listed.append(_own_columns(job_type, given, limit, options))
            check_declared(job_type, given.payload if isinstance(given, Entry) else given)
        except UsageError as error:
            raise type(error)(f"payloads[{place}]: {error}") from None
    if any(len(own) > 1 for own in listed):
        # A column is either the call's or the list's: where one says it for itself, each does.
        rest = _without_type(shared.columns())
        listed = [own if len(own) > 1 else rest | own for own in listed]
    return insert_runs(connection_of_caller(transaction), shared, listed, declared(job_type)) if listed else []


def _own_columns(
    job_type: str, given: Mapping[str, Any] | Entry, limit: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    if not isinstance(given, Entry):
        return {"payload": checked_text(given, limit)}
    own = {name: getattr(given, name) for name in (*options, "idempotency_key")}
    said = {name: value for name, value in own.items() if value is not None}
    return _without_type(new_run(job_type, given.payload, payload_limit=limit, **{**options, **said}).columns())


def _without_type(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in columns.items() if name != "job_type"}


def _payload_limit() -> int:
    return _payload_limit_in(int(clock.elapsed()))


@lru_cache(maxsize=1)
def _payload_limit_in(_: int) -> int:
    # Read again each second: an application sees a changed file soon, and a thousand enqueues do not read it each.
    return config.payload_limit(os.environ)


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
        payload=checked_text(payload, payload_limit),
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
