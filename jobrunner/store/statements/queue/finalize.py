"""The writes that end attempts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Insert,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    func,
    insert,
    literal_column,
    null,
    select,
    update,
)

from jobrunner.lifecycle import FINISHED, Event, Outcome, Status, target
from jobrunner.store.schema import job_attempts, job_runs
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import UtcTime, now
from jobrunner.store.sql.traits import databases
from jobrunner.store.statements.queue.holding import IS_AT_WORK, LEASE, NO_LOCK, is_held, unlocked

VARIANTS: dict[str, list[tuple[Any, ...]]] = {"succeed": [(False,), (True,)]}
ONLY_ON = {
    **dict.fromkeys(("succeed", "show_warnings"), databases(has_functions=True)),
    **dict.fromkeys(("record_success", "leave_as_succeeded"), databases(has_functions=False)),
}

_COST = ("peak_memory_bytes", "processor_seconds")
_ENDING = ("outcome", "status", "error_type", "error_class", "error", "traceback", "output", "exit_signal")
_OF_ATTEMPT = {name: job_attempts.c[name].type for name in (*_ENDING, *_COST)}
_OF_END = {name: _OF_ATTEMPT[name] for name in ("output", *_COST)}
_OF_SUCCESS = {"result": job_runs.c.result.type} | _OF_END
_NEXT = {
    "event": Text(),
    **{
        name: job_runs.c[name].type for name in ("status", "attempts", "releases", "lease_expiries", "run_at", "result")
    },
    **{name: _OF_ATTEMPT[name] for name in ("error_type", "error")},
}
_READ = (
    "id", "lease_token", "job_type", "attempts", "max_attempts", "releases", "lease_expiries", "incompatible_at",
    "run_at", "has_dependants",
)  # fmt: skip


def _running(*more: ColumnElement[Any]) -> Select[Any]:
    """Reads what decides the next status of running runs. In any order, because all statements skip locked rows."""
    columns = job_runs.c
    return select(
        *(columns[name] for name in _READ),
        columns.cancel_requested_at.is_not(None).label("cancel_requested"),
        now().label("now"),
        *more,
    ).where(IS_AT_WORK)


def locked() -> Select[Any]:
    """Lock the runs of leases, and read what decides their next status."""
    given = rows("given", LEASE)
    return (
        _running()
        .join_from(given, job_runs, is_held(given))
        .with_for_update(of=job_runs, skip_locked=True, key_share=True)
    )


def ended() -> Select[Any]:
    """The attempts of these leases that have ended, whoever ended them."""
    columns, given = job_attempts.c, rows("given", LEASE)
    of_lease = and_(columns.run_id == given.c.id, columns.lease_token == given.c.lease_token)
    named = (columns[name] for name in ("run_id", "lease_token", "worker", "outcome", "error_type", "output"))
    return select(*named).join_from(given, job_attempts, of_lease)


def complete() -> Update:
    """Write the output and the cost of attempts that their handlers' own transactions have ended."""
    columns, given = job_attempts.c, rows("given", LEASE | _OF_END)
    of_lease = and_(columns.run_id == given.c.id, columns.lease_token == given.c.lease_token)
    return update(job_attempts).where(of_lease).values({name: given.c[name] for name in _OF_END})


def record() -> Insert:
    """Record the attempts of locked runs."""
    given, at = rows("given", LEASE | _OF_ATTEMPT), bindparam("at", type_=UtcTime())
    values = _attempt(given, at) | {name: given.c[name] for name in _OF_ATTEMPT}
    ended = select(*values.values()).join_from(given, job_runs, is_held(given))
    return insert(job_attempts).from_select(list(values), ended)


def _attempt(given: FromClause, at: ColumnElement[Any]) -> dict[str, Any]:
    """What the row of an attempt takes from that of its run."""
    columns, attempts = job_runs.c, job_attempts.c
    last = select(func.coalesce(func.max(attempts.sequence), 0)).where(attempts.run_id == given.c.id)
    return {
        "run_id": columns.id,
        "sequence": last.correlate(given).scalar_subquery() + 1,
        "attempt": columns.attempts,
        "lease_token": columns.lease_token,
        "worker": columns.locked_by,
        # Only a row written by hand has no host. Without this it could never be recovered.
        "host": func.coalesce(columns.host, literal_column("''")),
        "due_at": columns.run_at,
        "started_at": func.coalesce(columns.started_at, columns.claimed_at, at),
        "finished_at": at,
    }


def leave() -> Update:
    """Writes all columns that change when a run leaves ``running``, for every event."""
    columns, given, at = job_runs.c, rows("given", LEASE | _NEXT), bindparam("at", type_=UtcTime())

    succeeded = _is_one_of(given.c.event, Event.SUCCEED)
    failed = _is_one_of(given.c.event, Event.FAIL, Event.POSTPONE, Event.GIVE_UP)
    blamed = _is_one_of(given.c.event, Event.FAIL, Event.POSTPONE, Event.GIVE_UP, Event.DROP)
    postponed = _is_one_of(given.c.event, Event.POSTPONE)
    return (
        update(job_runs)
        .where(is_held(given))
        .values(
            **{name: given.c[name] for name in ("status", "attempts", "releases", "lease_expiries")},
            run_at=func.coalesce(given.c.run_at, columns.run_at),
            finished_at=case((_is_one_of(given.c.status, *FINISHED), at), else_=columns.finished_at),
            failed_at=case((failed, at), else_=columns.failed_at),
            # Since the first of the last attempts that all found the run incompatible with the code.
            incompatible_at=case(
                # A clock may have been ahead.
                (and_(postponed, columns.incompatible_at > at), at),
                (postponed, func.coalesce(columns.incompatible_at, at)),
                else_=null(),
            ),
            error_type=case((succeeded, null()), (blamed, given.c.error_type), else_=columns.error_type),
            last_error=case((succeeded, null()), (blamed, given.c.error), else_=columns.last_error),
            result=case((succeeded, given.c.result), else_=columns.result),
            output=null(),
            updated_at=at,
            **NO_LOCK,
        )
    )


def record_success() -> Insert:
    """Record the attempts of these leases, as far as they are held, as successes."""
    given = rows("given", LEASE | _OF_SUCCESS)
    values = _successful_attempt(given)
    ended = select(*values.values()).join_from(given, job_runs, is_held(given))
    recorded = insert(job_attempts).from_select(list(values), ended)
    columns = job_attempts.c
    return recorded.returning(columns.run_id, columns.lease_token, columns.finished_at)


def leave_as_succeeded() -> Update:
    """Write the columns of the runs of these leases, as far as they are held."""
    columns, given = job_runs.c, rows("given", LEASE | _OF_SUCCESS)
    at = bindparam("at", type_=UtcTime())
    succeeded = update(job_runs).where(is_held(given)).values(_succeeded(given.c.result, at))
    return succeeded.returning(columns.id, columns.job_type, columns.attempts, columns.run_at, columns.has_dependants)


def show_warnings() -> Select[Any]:
    """Have the server send its warnings until the end of the transaction, whatever the role or the database has set."""
    words = ("'client_min_messages'", "'warning'", "true")
    return select(func.pg_catalog.set_config(*(literal_column(word, Text()) for word in words)))


def succeed(waits: bool) -> Update:
    """Both in one statement. PostgreSQL only: SQLite cannot write in a WITH.

    It skips rows that another transaction has locked. If it ``waits``, it waits for those: a heartbeat locks its rows.
    """
    columns, given = job_runs.c, rows("given", LEASE | _OF_SUCCESS)
    found = select(columns.id, columns.lease_token, given.c.result.label("given_result"), *_labelled(given))
    of_leases = found.join_from(given, job_runs, is_held(given))
    held = of_leases.with_for_update(of=job_runs, key_share=True).cte("held") if waits else unlocked(of_leases)
    names = list(_successful_attempt(given))
    recorded = insert(job_attempts).from_select(names, select(*(held.c[f"new_{name}"] for name in names)))
    return (
        update(job_runs)
        .where(columns.id == held.c.id)
        .values(_succeeded(held.c.given_result, now()))
        .returning(
            columns.id, held.c.lease_token, columns.job_type, columns.attempts, columns.run_at, columns.has_dependants
        )
        .add_cte(recorded.cte("recorded"))
    )


def _labelled(given: FromClause) -> Iterator[ColumnElement[Any]]:
    for name, value in _successful_attempt(given).items():
        yield value.label(f"new_{name}")


def _successful_attempt(given: FromClause) -> dict[str, Any]:
    decided: dict[str, ColumnElement[str]] = {
        "outcome": literal_column(f"'{Outcome.SUCCEEDED}'"),
        "status": literal_column(f"'{target(Event.SUCCEED, Status.RUNNING)}'"),
    }
    return _attempt(given, now()) | decided | {name: given.c[name] for name in _OF_END}


def _succeeded(result: ColumnElement[Any], at: ColumnElement[Any]) -> dict[str, Any]:
    """The columns that ``leave`` writes for a success."""
    empty = ("incompatible_at", "error_type", "last_error", "output")
    return {
        "status": literal_column(f"'{target(Event.SUCCEED, Status.RUNNING)}'"),
        "releases": literal_column("0"),
        "lease_expiries": literal_column("0"),
        "finished_at": at,
        "result": result,
        "updated_at": at,
        **dict.fromkeys(empty, null()),
        **NO_LOCK,
    }


def _is_one_of(column: ColumnElement[Any], *values: str) -> ColumnElement[bool]:
    return column.in_([literal_column(f"'{value}'") for value in values])


def running_of() -> Select[Any]:
    """The runs of a list of ids as recovery ends them."""
    columns, given = job_runs.c, rows("given", {"id": job_runs.c.id.type})
    # This is also the order of the results.
    return (
        _running(columns.locked_by, columns.host, columns.output)
        .join_from(given, job_runs, columns.id == given.c.id)
        .order_by(columns.id)
    )
