"""Enqueues runs from an application, in the application's own transaction."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, get_args

from jobrunner import clock
from jobrunner.application import tracing
from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.jobs.options import choice, parse_timeout, whole_number
from jobrunner.jobs.parents import After, parent_ids
from jobrunner.jobs.payload import checked_text
from jobrunner.jobs.policy import declared, encoded
from jobrunner.jobs.trace_context import checked
from jobrunner.model import OnFailure, Taken
from jobrunner.names import check_job_type
from jobrunner.settings import config
from jobrunner.store.callers.borrowed import Transaction, connection_of_caller
from jobrunner.store.drivers.steps import Steps, follow
from jobrunner.store.queue import dependants
from jobrunner.store.queue.enqueue import steps as steps_of_one
from jobrunner.store.queue.enqueue_many import steps as steps_of_many
from jobrunner.store.queue.enqueue_sql import Enqueued, NewRun
from jobrunner.text import storable

__all__ = ["Enqueued", "Entry", "Transaction", "enqueue", "enqueue_many", "new_run"]

T = TypeVar("T")
_TAKEN: tuple[Taken, ...] = get_args(Taken)
Work: TypeAlias = Callable[[str], Steps[T]]
"""What enqueues checked runs: it makes the steps for a database."""


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
    taken: Taken = "existing",
    after: After | None = None,
    on_failure: OnFailure = "cancel",
) -> Enqueued:
    """Insert a run on the caller's connection. This function never commits.

    ``transaction`` is a SQLAlchemy connection or session, Django's ``connection``, or a connection of psycopg or
    sqlite3 on which a transaction is open. The run appears if and only if that transaction commits. If this process has
    a handler for the type, the payload may hold whatever the handler's annotations say, otherwise only what JSON has.
    ``run_at`` is an aware datetime, or a timedelta from now. Of runs of about the same age that of higher ``priority``
    is first: each step (-1000 to 1000) counts like a minute of waiting. Raises UsageError or BadPayload before anything
    is sent, also if the handler cannot take the payload.

    If another run of the type has the ``idempotency_key`` (for how long, the type's ``key_scope`` says), ``taken``
    decides. "existing": the answer has the id of that run. "raise": KeyTaken is raised, and the transaction can still
    be used. "replace": if that run was never begun, it gets this payload and this ``run_at``, and keeps all else. The
    answer's ``outcome`` says what was done.

    With ``after``, the id of a run or several, the run waits until all of them have ended; they are locked until the
    transaction ends. ``on_failure`` says what happens if one of them ends dead or cancelled: "cancel" this run, or
    "run" it. Raises NotFoundError if one of them does not exist.

    If the type has a ``max_waiting`` and that many runs wait, nothing is inserted. Then QueueFull is raised, and the
    transaction can still be used; or with ``when_full="drop"`` the ``id`` of the answer is None. To keep the count
    exact, enqueues of such a type wait for each other until each transaction ends: keep it short.
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
    caller = connection_of_caller(transaction, schema_of_ours())
    return follow(caller, work(caller.database))


def one_run(
    job_type: str,
    payload: Mapping[str, Any],
    *,
    taken: Taken,
    after: After | None = None,
    on_failure: OnFailure = "cancel",
    **options: Any,
) -> Work[Enqueued]:
    """Check everything about a run with the options of ``enqueue``. Returns the steps that enqueue it."""
    new = new_run(job_type, encoded(job_type, payload), payload_limit=_settings().payload_limit, **options)
    policy, taken, parents = declared(job_type), _check_taken(taken), parent_ids(after, on_failure)

    def steps(database: str) -> Steps[Enqueued]:
        enqueued = yield from steps_of_one(database, new, policy, taken)
        if parents and enqueued.created and enqueued.id is not None:
            yield from dependants.attach_steps(database, enqueued.id, parents, on_failure)
        return enqueued

    return steps


@dataclass(frozen=True, slots=True)
class Entry:
    """One run of ``enqueue_many`` with its own options. None means the option of the call."""

    payload: Mapping[str, Any]
    run_at: datetime | timedelta | None = None
    priority: int | None = None
    idempotency_key: str | None = None
    max_attempts: int | None = None
    timeout: Duration | None = None
    taken: Taken | None = None


def enqueue_many(
    transaction: Transaction,
    job_type: str,
    payloads: Iterable[Mapping[str, Any] | Entry],
    *,
    run_at: datetime | timedelta | None = None,
    priority: int = 0,
    max_attempts: int | None = None,
    timeout: Duration | None = None,
    taken: Taken = "existing",
) -> list[Enqueued]:
    """Insert a run for each payload in a few statements, by the rules of ``enqueue``. Returns the answers in order.

    Give a payload that needs an idempotency key or other own options as an ``Entry``. All are checked before anything
    is sent: BadPayload and UsageError name the index in the list. If the type's ``max_waiting`` does not allow all of
    them, QueueFull is raised and nothing is written, or with ``when_full="drop"`` the last ones are dropped. If a key
    is in the list twice, the first one's run has it when the second one comes.
    """
    options: dict[str, Any] = {"run_at": run_at, "priority": priority, "max_attempts": max_attempts, "timeout": timeout}
    work = many_runs(job_type, payloads, options, taken)
    if work is None:
        return []
    caller = connection_of_caller(transaction, schema_of_ours())
    return follow(caller, work(caller.database))


def many_runs(
    job_type: str, payloads: Iterable[Mapping[str, Any] | Entry], options: Mapping[str, Any], taken: Taken
) -> Work[list[Enqueued]] | None:
    """Check everything about these runs. Returns the steps that enqueue them, or None for an empty list."""
    shared, listed, each_taken = _listed(job_type, payloads, options, taken)
    policy = declared(job_type)
    return (lambda database: steps_of_many(database, shared, listed, policy, each_taken)) if listed else None


def _listed(
    job_type: str, payloads: Iterable[Mapping[str, Any] | Entry], options: Mapping[str, Any], taken: Taken
) -> tuple[NewRun, list[dict[str, Any]], list[Taken]]:
    """What all runs of a list share, the columns that each has, and what happens if its key is taken."""
    limit = _settings().payload_limit
    shared = new_run(job_type, {}, payload_limit=limit, **options)
    listed: list[dict[str, Any]] = []
    each_taken: list[Taken] = []
    seen: dict[str, int] = {}
    _check_taken(taken)
    for index, given in enumerate(payloads):
        try:
            listed.append(_own_columns(job_type, given, limit, options))
            own = given.taken if isinstance(given, Entry) else None
            each_taken.append(taken if own is None else _check_taken(own))
            key = listed[-1].get("idempotency_key")
            if key is not None and seen.setdefault(key, index) != index and each_taken[-1] == "raise":
                raise UsageError(f'its key is that of payloads[{seen[key]}], and taken is "raise"')
        except UsageError as error:
            raise type(error)(f"payloads[{index}]: {error}") from None
    if any(len(own) > 1 for own in listed):
        # The statement takes a column from the call or from the list. If one entry has its own options, all get theirs.
        rest = _without_type(shared.columns())
        listed = [own if len(own) > 1 else rest | own for own in listed]
    return shared, listed, each_taken


def _check_taken(taken: Taken) -> Taken:
    return choice("taken", taken, _TAKEN)


def _own_columns(
    job_type: str, given: Mapping[str, Any] | Entry, limit: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    if not isinstance(given, Entry):
        return {"payload": checked_text(encoded(job_type, given), limit)}
    own = {name: getattr(given, name) for name in (*options, "idempotency_key")}
    set_here = {name: value for name, value in own.items() if value is not None}
    payload = encoded(job_type, given.payload)
    return _without_type(new_run(job_type, payload, payload_limit=limit, **{**options, **set_here}).columns())


def _without_type(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in columns.items() if name != "job_type"}


def schema_of_ours() -> str | None:
    """The schema of PostgreSQL that holds our tables; None: the server finds them by its search path."""
    return _settings().schema


def _settings() -> config.EnqueueSettings:
    return _settings_in(int(clock.elapsed()))


@lru_cache(maxsize=1)
def _settings_in(_: int) -> config.EnqueueSettings:
    # The file is read again each second: an application sees a change soon, and most enqueues read no file.
    return config.for_enqueue(os.environ)


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
    traceparent: str | None = None,
) -> NewRun:
    """Check everything about a new run. Every way to enqueue uses it. Raises UsageError or BadPayload.

    Without a ``traceparent`` it is that of the current span, if this process has imported OpenTelemetry.
    """
    check_job_type(job_type)
    check_run_at(run_at)
    whole_number("priority", priority, -1000, 1000)
    if max_attempts is not None:
        whole_number("max_attempts", max_attempts, 1, 1000)
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
        # No timeout is stored as zero.
        timeout=None if timeout is None else parse_timeout(timeout) or timedelta(0),
        traceparent=checked(traceparent) or tracing.current(),
    )


def check_run_at(run_at: object) -> None:
    """Raise UsageError unless a run can be due then."""
    if isinstance(run_at, timedelta):
        parse_duration(run_at)
    elif isinstance(run_at, datetime):
        if run_at.tzinfo is None:
            raise UsageError("run_at has no time zone; write 2026-01-31T09:00:00Z or with an offset such as +01:00")
        # At the ends of the calendar a change of the time zone would give a year that Python cannot represent.
        if not 1970 <= run_at.year <= 9000:
            raise UsageError(f"run_at is in the year {run_at.year}; it must lie between 1970 and 9000")
    elif run_at is not None:
        raise UsageError(f"run_at is of type {type(run_at).__name__}; give an aware datetime, or a timedelta from now")
