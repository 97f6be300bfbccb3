"""The keys of runs: their rows in job_keys, who holds them, and the rules of their types."""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Executable,
    Integer,
    Select,
    TableValuedAlias,
    and_,
    bindparam,
    case,
    delete,
    exists,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    update,
)

from jobrunner.lifecycle import FINISHED
from jobrunner.store.schema import IS_UNFINISHED, job_keys, job_runs, job_types
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import later, now
from jobrunner.store.statements.queue.backpressure import is_limited

VARIANTS = {"take_key": [("any",), ("forever",), ("other",)]}


def take_key(rules: str) -> Executable:
    """Insert the key of ``NewRun.key``. Returns no row if the key exists already, or the type has a limit.

    ``rules``: "any", or "forever" or "other" for a type that must be stored with that scope of its keys. For "other"
    the parameters are ``scope`` and ``window``.
    """
    of_type, its_key = _key_parameters()
    source = select(of_type, its_key, now()).where(_has_rules(of_type, rules))
    insert_key = inserting(job_keys).from_select(["job_type", "idempotency_key", "created_at"], source)
    insert_key = insert_key.on_conflict_do_nothing().returning(job_keys.c.job_type)
    return cast(Executable, insert_key)


def _has_rules(of_type: ColumnElement[Any], rules: str) -> ColumnElement[bool]:
    columns = job_types.c
    if rules == "any":
        return ~is_limited(of_type)
    if rules == "forever":
        # A type without a row has no limit, and its keys are taken forever.
        differs = or_(columns.max_waiting.is_not(None), columns.key_scope != "forever")
        return ~exists().where(columns.job_type == of_type, differs)
    return exists().where(
        columns.job_type == of_type,
        columns.max_waiting.is_(None),
        columns.key_scope == bindparam("scope", type_=columns.key_scope.type),
        columns.key_window.is_not_distinct_from(bindparam("window", type_=columns.key_window.type)),
    )


def take_keys() -> Executable:
    """Insert the keys of a list, as far as they do not exist. Returns those."""
    given = _given_keys("job_type", "idempotency_key")
    # WHERE true, because without a WHERE SQLite reads the ON of ON CONFLICT as part of a join.
    source = select(given.c.job_type, given.c.idempotency_key, now()).where(true())
    insert_keys = inserting(job_keys).from_select(["job_type", "idempotency_key", "created_at"], source)
    statement: Executable = insert_keys.on_conflict_do_nothing().returning(job_keys.c.idempotency_key)
    return statement


def release_keys() -> Executable:
    """Delete the keys of a list that were taken, but got no run."""
    given = _given_keys("job_type", "idempotency_key")
    key = tuple_(job_keys.c.job_type, job_keys.c.idempotency_key)
    return delete(job_keys).where(
        job_keys.c.run_id.is_(None), key.in_(select(given.c.job_type, given.c.idempotency_key))
    )


def holder() -> Select[Any]:
    """The run that has the key of ``NewRun.key``, whether it still holds it, and the rules of its type."""
    return _holders().where(*_is_key())


def holders() -> Select[Any]:
    """The same for the keys of a list."""
    given = _given_keys("job_type", "idempotency_key")
    return _holders().where(*_is_in(given))


def _holders() -> Select[Any]:
    keys, types = job_keys.c, job_types.c
    is_held = case(
        # Left by an enqueue that failed in a transaction that was committed all the same.
        (keys.run_id.is_(None), false()),
        (types.key_scope == "active", and_(job_runs.c.status.is_not(None), IS_UNFINISHED)),
        (types.key_scope == "window", keys.created_at > later(-types.key_window)),
        else_=true(),
    )
    return (
        select(
            keys.idempotency_key,
            keys.job_type,
            keys.run_id,
            job_runs.c.status,
            is_held.label("is_held"),
            func.coalesce(types.key_scope, literal_column("'forever'")).label("key_scope"),
            types.key_window,
            types.max_waiting,
        )
        .select_from(job_keys)
        .outerjoin(job_runs, job_runs.c.id == keys.run_id)
        .outerjoin(job_types, types.job_type == keys.job_type)
    )


def lock_free() -> Select[Any]:
    """Lock the keys of a list that are free, if ``run_id`` is still the run of the key. Returns those.

    With ``must_end`` 1 that run must still have ended, too. It is locked before the key, as in its retry.
    """
    keys, names = job_keys.c, ("job_type", "idempotency_key", "run_id")
    given = rows("given", {**{name: keys[name].type for name in names}, "must_end": Integer()})
    ended = (
        select(job_runs.c.id)
        .join(given, and_(given.c.must_end == 1, job_runs.c.id == given.c.run_id))
        .where(job_runs.c.status.in_([literal_column(f"'{status}'") for status in FINISHED]))
        .order_by(job_runs.c.id)
        .with_for_update(read=True, of=job_runs)
        .cte("ended")
    )
    return (
        select(keys.idempotency_key)
        .join(given, and_(*_is_in(given), keys.run_id.is_not_distinct_from(given.c.run_id)))
        .where(or_(given.c.must_end == 0, exists().where(ended.c.id == keys.run_id)))
        .order_by(keys.job_type, keys.idempotency_key)
        .with_for_update(of=job_keys)
    )


def set_run_of_key() -> Executable:
    """Store ``run_id_of_key``, the id of the run, in the row of ``NewRun.key``."""
    run_id = bindparam("run_id_of_key", type_=job_keys.c.run_id.type)
    values = {"run_id": run_id, "created_at": now()}
    return update(job_keys).where(*_is_key()).values(values).returning(job_keys.c.run_id)


def set_runs_of_keys() -> Executable:
    """Store the runs of the keys of a list."""
    given = _given_keys("job_type", "idempotency_key", "run_id")
    return update(job_keys).where(*_is_in(given)).values(run_id=given.c.run_id, created_at=now())


def _is_key() -> list[ColumnElement[bool]]:
    of_type, key = _key_parameters()
    return [job_keys.c.job_type == of_type, job_keys.c.idempotency_key == key]


def _key_parameters() -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    columns = job_keys.c
    return bindparam("of_type", type_=columns.job_type.type), bindparam("key", type_=columns.idempotency_key.type)


def _given_keys(*names: str) -> TableValuedAlias:
    return rows("given", {name: job_keys.c[name].type for name in names})


def _is_in(given: TableValuedAlias) -> list[ColumnElement[bool]]:
    # The type is in the list, too. With the type as a parameter SQLite reads all keys of the type for each row.
    return [job_keys.c[name] == given.c[name] for name in ("job_type", "idempotency_key")]
