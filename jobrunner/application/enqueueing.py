"""Enqueues runs from an application, in the application's own transaction."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, Unpack

from jobrunner import clock
from jobrunner.application import tracing
from jobrunner.errors import UsageError
from jobrunner.jobs.payload import checked_text
from jobrunner.jobs.policy import declared, encoded
from jobrunner.jobs.run_options import (
    COLUMNS,
    OF_ENTRY,
    OF_MANY,
    OF_RUN,
    EntryOptions,
    ManyOptions,
    RunOptions,
    check_names,
    checked,
)
from jobrunner.jobs.trace_context import checked as checked_trace
from jobrunner.model import Policy, Taken
from jobrunner.names import check_job_type
from jobrunner.settings import config
from jobrunner.store.callers.borrowed import Transaction, connection_of_caller
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.steps import Steps, follow
from jobrunner.store.queue import dependants
from jobrunner.store.queue.enqueue import make_durable
from jobrunner.store.queue.enqueue import steps as steps_of_one
from jobrunner.store.queue.enqueue_many import steps as steps_of_many
from jobrunner.store.queue.enqueue_sql import Enqueued, NewRun

__all__ = ["Enqueued", "Entry", "HandlerEntry", "Transaction", "enqueue", "enqueue_many", "new_run"]

P = ParamSpec("P")
T = TypeVar("T")
Work: TypeAlias = Callable[[str], Steps[T]]
"""What enqueues checked runs: it makes the steps for a database."""


def enqueue(
    transaction: Transaction | None,
    job_type: str,
    payload: Mapping[str, Any] | None = None,
    **options: Unpack[RunOptions],
) -> Enqueued:
    """Insert a run on the caller's connection. This function never commits.

    ``transaction`` is a SQLAlchemy connection or session, Django's ``connection``, or a connection of psycopg or
    sqlite3 on which a transaction is open. The run appears if and only if that transaction commits. None: a connection
    of jobrunner's own to the configured database, in a transaction that is committed. If this process has
    a handler for the type, the payload may hold whatever the handler's annotations say, otherwise only what JSON has.
    ``run_at`` is an aware datetime, or a timedelta from now. Of runs of about the same age that of higher ``priority``
    is first: each step (-1000 to 1000) counts like a minute of waiting. ``max_attempts`` and ``timeout`` are those of
    the job type if they are not given. With ``expires``, such as "10m", no attempt begins later than so long after
    run_at: a run that waits then becomes dead. Raises UsageError or BadPayload before anything is sent, also if the
    handler cannot take the payload.

    If another run of the type has the ``key`` (for how long, the type's ``key_scope`` says), ``if_taken`` decides.
    "existing": the answer has the id of that run. "raise": KeyTaken is raised, and the transaction can still be used.
    "replace": if that run was never begun, it gets this payload, this ``run_at`` and this ``expires``, and keeps all
    else. The answer's ``outcome`` says what was done.

    With ``after``, the id of a run or several, the run waits until all of them have ended; they are locked until the
    transaction ends. ``if_parent_fails`` says what happens if one of them ends dead or cancelled: "cancel" this run, or
    "run" it. Raises NotFoundError if one of them does not exist: then roll back, since the run itself is inserted.

    If the type has a ``max_waiting`` and that many runs wait, nothing is inserted. Then QueueFull is raised, and the
    transaction can still be used; or with ``when_full="drop"`` the ``id`` of the answer is None. To keep the count
    exact, enqueues of such a type wait for each other until each transaction ends: keep it short.
    """
    return _do(transaction, one_run(job_type, payload or {}, options))


def one_run(job_type: str, payload: Mapping[str, Any], options: RunOptions) -> Work[Enqueued]:
    """Check everything about a run with the options of ``enqueue``. Returns the steps that enqueue it."""
    values = checked(options)
    new = new_run(job_type, encoded(job_type, payload), _settings().payload_limit, values)
    return steps_of_run(new, declared(job_type), values)


def steps_of_run(new: NewRun, policy: Policy | None, values: Mapping[str, Any]) -> Work[Enqueued]:
    """The steps that enqueue a run by these checked options."""

    def steps(database: str) -> Steps[Enqueued]:
        enqueued = yield from steps_of_one(database, new, policy, values["if_taken"])
        if values["after"] and enqueued.created and enqueued.id is not None:
            yield from dependants.attach_steps(database, enqueued.id, values["after"], values["if_parent_fails"])
        return enqueued

    return steps


class Entry:
    """One run of ``enqueue_many`` with its own options. None means the option of the call."""

    __slots__ = ("options", "payload")

    def __init__(self, payload: Mapping[str, Any], **options: Unpack[EntryOptions]) -> None:
        check_names(options, OF_ENTRY)
        self.payload = payload
        self.options = options


@dataclass(frozen=True, slots=True)
class HandlerEntry(Generic[P]):
    """An ``Entry`` for one handler. ``handler.using(...).entry(...)`` makes it, with arguments that are checked."""

    job_type: str
    entry: Entry


Payload: TypeAlias = Mapping[str, Any] | Entry | HandlerEntry[P]
"""A run of ``enqueue_many``: its payload, alone or with its own options."""


def enqueue_many(
    transaction: Transaction | None,
    job_type: str,
    payloads: Iterable[Payload[...]],
    **options: Unpack[ManyOptions],
) -> list[Enqueued]:
    """Insert a run for each payload in a few statements, by the rules of ``enqueue``. Returns the answers in order.

    Give a payload that needs a key or other own options as an ``Entry``. All are checked before anything
    is sent: BadPayload and UsageError name the index in the list. If the type's ``max_waiting`` does not allow all of
    them, QueueFull is raised and nothing is written, or with ``when_full="drop"`` the last ones are dropped. If a key
    is in the list twice, the first one's run has it when the second one comes.
    """
    work = many_runs(job_type, payloads, options)
    return [] if work is None else _do(transaction, work)


def many_runs(job_type: str, payloads: Iterable[Payload[...]], options: ManyOptions) -> Work[list[Enqueued]] | None:
    """Check everything about these runs. Returns the steps that enqueue them, or None for an empty list."""
    shared, listed, each_if_taken = _listed(job_type, payloads, options)
    policy = declared(job_type)
    return (lambda database: steps_of_many(database, shared, listed, policy, each_if_taken)) if listed else None


def _listed(
    job_type: str, payloads: Iterable[Payload[...]], options: ManyOptions
) -> tuple[NewRun, list[dict[str, Any]], list[Taken]]:
    """What all runs of a list share, the columns that each has, and what happens if its key is taken."""
    limit = _settings().payload_limit
    values = checked(options, OF_MANY)
    shared = new_run(job_type, {}, limit, values)
    listed: list[dict[str, Any]] = []
    each_if_taken: list[Taken] = []
    seen: dict[str, int] = {}
    for index, given in enumerate(payloads):
        try:
            entry = _entry(job_type, given)
            if isinstance(entry, Entry):
                own = checked(
                    {**options, **{name: value for name, value in entry.options.items() if value is not None}}
                )
                listed.append(_without_type(new_run(job_type, encoded(job_type, entry.payload), limit, own).columns()))
            else:
                own = values
                listed.append({"payload": checked_text(encoded(job_type, entry), limit)})
            each_if_taken.append(own["if_taken"])
            key = own.get("key")
            if key is not None and seen.setdefault(key, index) != index and each_if_taken[-1] == "raise":
                raise UsageError(f'its key is that of payloads[{seen[key]}], and if_taken is "raise"')
        except UsageError as error:
            raise type(error)(f"payloads[{index}]: {error}") from None
    if any(len(own) > 1 for own in listed):
        # The statement takes a column from the call or from the list. If one entry has its own options, all get theirs.
        rest = _without_type(shared.columns())
        listed = [own if len(own) > 1 else rest | own for own in listed]
    return shared, listed, each_if_taken


def _entry(job_type: str, given: Payload[...]) -> Mapping[str, Any] | Entry:
    if not isinstance(given, HandlerEntry):
        return given
    if given.job_type != job_type:
        raise UsageError(f"it is an entry of {given.job_type!r}, and the call enqueues {job_type!r}")
    return given.entry


def _without_type(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in columns.items() if name != "job_type"}


def _do(transaction: Transaction | None, work: Work[T]) -> T:
    if transaction is None:
        # Not at the top: an application that gives its own connections needs none of this.
        from jobrunner.application.own_connections import own_connections

        return own_connections().write(lambda own: on_own(own, work)).result()
    caller = connection_of_caller(transaction, schema_of_ours())
    return follow(caller, work(caller.database))


def on_own(own: Connection, work: Work[T]) -> T:
    """Enqueue in a transaction of jobrunner's own that is about to be committed."""
    answer: Any = follow(own, work(own.database))
    make_durable(own, answer if isinstance(answer, list) else [answer])
    enqueued: T = answer
    return enqueued


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
    payload_limit: int,
    values: Mapping[str, Any],
    traceparent: str | None = None,
) -> NewRun:
    """Check a new run, whose options are checked already. Every way to enqueue uses it.

    Raises UsageError or BadPayload. Without a ``traceparent`` it is that of the current span, if this process has
    imported OpenTelemetry.
    """
    check_job_type(job_type)
    columns = {COLUMNS[name]: value for name, value in values.items() if name in COLUMNS}
    return NewRun(
        job_type=job_type,
        payload=checked_text(payload, payload_limit),
        traceparent=checked_trace(traceparent) or tracing.current(),
        **columns,
    )


def check_run_at(run_at: datetime | timedelta) -> None:
    """Raise UsageError unless a run can be due then."""
    OF_RUN["run_at"].check("run_at", run_at)
