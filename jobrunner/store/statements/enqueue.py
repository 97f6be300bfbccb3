"""The writes that enqueue runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Executable,
    Float,
    TableValuedAlias,
    Text,
    bindparam,
    func,
    insert,
    literal_column,
    select,
    true,
    update,
)
from sqlalchemy.sql.dml import ReturningInsert
from sqlalchemy.types import TypeEngine

from jobrunner.lifecycle import Status
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.statements import inserting
from jobrunner.store.dialect.values import later, now, stored_json
from jobrunner.store.schema import job_keys, job_runs
from jobrunner.store.statements.backpressure import is_limited


def _each_insert_of_one() -> Iterator[tuple[tuple[str, ...], bool]]:
    """The arguments for each way to call ``enqueue``. With a key, the limit was looked at before."""
    optional = product(
        [(), ("run_in",), ("run_at",)], [(), ("timeout",)], [(), ("idempotency_key",)], [(), ("max_attempts",)]
    )
    for when, timeout, key, attempts in optional:
        yield ("job_type", "payload", "priority", *when, *timeout, *key, *attempts), not key


_EACH_DATABASE = [("sqlite",), ("postgresql",)]
VARIANTS: dict[str, list[Any]] = {
    "insert_one": list(_each_insert_of_one()),
    "insert_many": [
        (("job_type", "priority"), ("payload",)),
        (("job_type", "priority"), ("idempotency_key", "payload")),
        (("job_type",), ("idempotency_key", "payload", "priority")),
    ],
    **dict.fromkeys(("insert_of_slots", "take_key", "take_keys"), _EACH_DATABASE),
}


def insert_one(given: tuple[str, ...], unless_limited: bool) -> ReturningInsert[Any]:
    """The INSERT of one run. Its parameters have the names of these ``NewRun.columns``."""
    return _insert({name: bindparam(name, type_=_type_of(name)) for name in given}, unless_limited)


def insert_many(shared: tuple[str, ...], own: tuple[str, ...]) -> ReturningInsert[Any]:
    """The INSERT of many runs: the columns that all share, and the columns that each has."""
    given = rows("given", {name: _type_of(name) for name in own})
    return _insert(
        {name: bindparam(name, type_=_type_of(name)) for name in shared} | {name: given.c[name] for name in own}
    )


def take_keys(database: str) -> Executable:
    """Insert the keys of a list, as far as they do not exist. Returns those."""
    given = _given_keys("job_type", "idempotency_key")
    # WHERE true, because without a WHERE SQLite reads the ON of ON CONFLICT as part of a join.
    source = select(given.c.job_type, given.c.idempotency_key, now()).where(true())
    insert_keys = inserting(database, job_keys).from_select(["job_type", "idempotency_key", "created_at"], source)
    statement: Executable = insert_keys.on_conflict_do_nothing().returning(job_keys.c.idempotency_key)
    return statement


def key_holders() -> Executable:
    """The runs of the keys of a list."""
    given = _given_keys("job_type", "idempotency_key")
    return select(job_keys.c.idempotency_key, job_keys.c.run_id).where(*_is_in(given))


def set_runs_of_keys() -> Executable:
    """Store the runs of the keys of a list."""
    given = _given_keys("job_type", "idempotency_key", "run_id")
    return update(job_keys).where(*_is_in(given)).values(run_id=given.c.run_id)


def _given_keys(*names: str) -> TableValuedAlias:
    return rows("given", {name: job_keys.c[name].type for name in names})


def _is_in(given: TableValuedAlias) -> list[ColumnElement[bool]]:
    # The type is in the list, too. With the type as a parameter SQLite reads all keys of the type for each row.
    return [job_keys.c[name] == given.c[name] for name in ("job_type", "idempotency_key")]


def insert_of_slots(database: str) -> ReturningInsert[Any]:
    """The INSERT of the runs of slots. A slot that has a run already is skipped."""
    names = (
        "definition_id", "job_type", "payload", "priority", "run_at", "scheduled_for", "origin", "start_deadline_at",
        "concurrency_key",
    )  # fmt: skip
    given = rows("given", {name: _type_of(name) for name in names})
    statement = _insert({name: given.c[name] for name in names}, skip_existing=database)
    return statement.returning(job_runs.c.definition_id, job_runs.c.scheduled_for)


def _insert(
    given: Mapping[str, ColumnElement[Any]], unless_limited: bool = False, *, skip_existing: str | None = None
) -> ReturningInsert[Any]:
    """The INSERT of runs, from these ``NewRun.columns``; there is no other.

    With ``skip_existing``, the name of the dialect, a slot that has a run already is skipped and is no error.
    """
    values: dict[str, Any] = {
        **given,
        "payload": stored_json(given["payload"]),
        "status": literal_column(f"'{Status.QUEUED}'"),
        "run_at": _run_at(given),
        "created_at": now(),
        "updated_at": now(),
    }
    values.pop("run_in", None)
    source = select(*values.values())
    if unless_limited:
        source = source.where(~is_limited(given["job_type"]))
    if skip_existing is not None:
        # WHERE true, because without a WHERE SQLite reads the ON of ON CONFLICT as part of a join.
        inserted = inserting(skip_existing, job_runs).from_select(list(values), source.where(true()))
        return cast(ReturningInsert[Any], inserted.on_conflict_do_nothing().returning(job_runs.c.id))
    return insert(job_runs).from_select(list(values), source).returning(job_runs.c.id)


def _run_at(given: Mapping[str, ColumnElement[Any]]) -> ColumnElement[Any]:
    times = [given["run_at"]] if "run_at" in given else []
    if "run_in" in given:
        times.append(later(given["run_in"]))
    # In a list of runs some may have no time.
    return func.coalesce(*times, now()) if times else now()


def _type_of(name: str) -> TypeEngine[Any]:
    """The type of the parameter for one of ``NewRun.columns``."""
    if name == "payload":
        return Text()
    return Float() if name == "run_in" else job_runs.c[name].type


def take_key(database: str) -> Executable:
    """Insert the key of ``NewRun.key``. Returns no row if the key exists already, or the type has a limit."""
    of_type, its_key = _key_parameters()
    source = select(of_type, its_key, now()).where(~is_limited(of_type))
    insert_key = inserting(database, job_keys).from_select(["job_type", "idempotency_key", "created_at"], source)
    insert_key = insert_key.on_conflict_do_nothing().returning(job_keys.c.job_type)
    return cast(Executable, insert_key)


def key() -> Executable:
    """The id of the run of ``NewRun.key``."""
    return select(job_keys.c.run_id).where(*_is_key())


def set_run_of_key() -> Executable:
    """Store ``run_id_of_key``, the id of the run, in the row of ``NewRun.key``."""
    run_id = bindparam("run_id_of_key", type_=job_keys.c.run_id.type)
    return update(job_keys).where(*_is_key()).values(run_id=run_id).returning(job_keys.c.run_id)


def _is_key() -> list[ColumnElement[bool]]:
    of_type, key = _key_parameters()
    return [job_keys.c.job_type == of_type, job_keys.c.idempotency_key == key]


def _key_parameters() -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    columns = job_keys.c
    return bindparam("of_type", type_=columns.job_type.type), bindparam("key", type_=columns.idempotency_key.type)
