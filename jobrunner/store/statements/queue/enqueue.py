"""The writes that enqueue runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Executable,
    Float,
    Text,
    bindparam,
    case,
    func,
    insert,
    literal_column,
    null,
    select,
    true,
    update,
)
from sqlalchemy import cast as cast_as
from sqlalchemy.sql.dml import ReturningInsert
from sqlalchemy.types import TypeEngine

from jobrunner.lifecycle import Status
from jobrunner.store.schema import job_runs
from jobrunner.store.sql.dialect.rows import as_json, rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import BigKey, after, later, now, of_application, stored_json
from jobrunner.store.sql.traits import EACH_DATABASE, TRAITS
from jobrunner.store.sql.variants import PLAIN, enqueued
from jobrunner.store.statements.queue.backpressure import is_limited
from jobrunner.store.statements.queue.dependants import IS_BEHIND_PARENTS

_TRACE: list[tuple[str, ...]] = [(), ("traceparent",)]


VARIANTS: dict[str, list[Any]] = {
    # With a key, the limit was looked at before.
    "insert_one": [
        (PLAIN, True),
        *((given, limited) for given in (enqueued(), (*enqueued(), "expires_in")) for limited in (True, False)),
    ],
    "insert_many": [
        each
        for trace in _TRACE
        for each in (
            (("job_type", "priority", *trace), ("payload",)),
            (("job_type", "priority", *trace), ("idempotency_key", "payload")),
            (("job_type",), ("idempotency_key", "payload", "priority", *trace)),
        )
    ],
    "replace": EACH_DATABASE,
}


def insert_one(given: tuple[str, ...], unless_limited: bool) -> ReturningInsert[Any]:
    """The INSERT of one run. Its parameters have the names of these ``NewRun.columns``."""
    return _insert({name: _parameter(name) for name in given}, unless_limited)


def insert_many(shared: tuple[str, ...], own: tuple[str, ...]) -> ReturningInsert[Any]:
    """The INSERT of many runs: the columns that all share, and the columns that each has."""
    given = rows("given", {name: _type_of(name) for name in own})
    return _insert({name: _parameter(name) for name in shared} | {name: given.c[name] for name in own})


def insert_of_slots() -> ReturningInsert[Any]:
    """The INSERT of the runs of slots. A slot that has a run already is skipped."""
    names = (
        "definition_id", "job_type", "payload", "priority", "run_at", "scheduled_for", "origin", "start_deadline_at",
        "concurrency_key",
    )  # fmt: skip
    given = rows("given", {name: _type_of(name) for name in names})
    statement = _insert({name: given.c[name] for name in names}, skip_existing=True)
    return statement.returning(job_runs.c.definition_id, job_runs.c.scheduled_for)


def _insert(
    given: Mapping[str, ColumnElement[Any]], unless_limited: bool = False, *, skip_existing: bool = False
) -> ReturningInsert[Any]:
    """The INSERT of runs, from these ``NewRun.columns``; there is no other.

    With ``skip_existing`` a slot that has a run already is skipped and is no error.
    """
    run_at = _run_at(given)
    values: dict[str, Any] = {
        **given,
        "payload": stored_json(given["payload"]),
        "status": literal_column(f"'{Status.QUEUED}'"),
        "run_at": run_at,
        "created_at": now(),
        "updated_at": now(),
    }
    values.pop("run_in", None)
    if "expires_in" in given:
        values["start_deadline_at"] = after(run_at, values.pop("expires_in"))
    source = select(*values.values())
    if unless_limited:
        source = source.where(~is_limited(given["job_type"]))
    if skip_existing:
        # WHERE true, because without a WHERE SQLite reads the ON of ON CONFLICT as part of a join.
        inserted = inserting(job_runs).from_select(list(values), source.where(true()))
        return cast(ReturningInsert[Any], inserted.on_conflict_do_nothing().returning(job_runs.c.id))
    return insert(job_runs).from_select(list(values), source).returning(job_runs.c.id)


def _run_at(given: Mapping[str, ColumnElement[Any]]) -> ColumnElement[Any]:
    times = [given["run_at"]] if "run_at" in given else []
    if "run_in" in given:
        times.append(later(given["run_in"]))
    # In a list of runs some may have no time.
    return func.coalesce(*times, now()) if times else now()


def _parameter(name: str) -> ColumnElement[Any]:
    parameter = bindparam(name, type_=_type_of(name))
    # SQLAlchemy tells a server the type of most parameters, but not of numbers with a fraction.
    return cast_as(parameter, parameter.type) if name == "timeout" else parameter


def _type_of(name: str) -> TypeEngine[Any]:
    """The type of the parameter for one of ``NewRun.columns``."""
    if name == "payload":
        return Text()
    return Float() if name in ("run_in", "expires_in") else job_runs.c[name].type


def replace(database: str) -> Executable:
    """Replace payload and times of those runs of a list that have its status and no attempts. Returns these."""
    names = {"payload": Text(), "run_at": job_runs.c.run_at.type, "run_in": Float(), "expires_in": Float()}
    if TRAITS[database].has_functions:
        given_list = as_json("given", {"id": BigKey, **names})
        return select(of_application("replace", job_runs.c.id.type, given_list).label("id"))
    # The status comes in the list. If it were a literal, the planner could read the whole queue by its index.
    given = rows("given", {"id": BigKey, "status": job_runs.c.status.type, **names})
    columns = {name: given.c[name] for name in names}
    # Another payload may be for another gate, which the next claim finds. Parents are still waited for.
    run_at = _run_at(columns)
    gate = case((IS_BEHIND_PARENTS, job_runs.c.gate), else_=literal_column("''"))
    values = {
        "payload": stored_json(given.c.payload),
        "run_at": run_at,
        "start_deadline_at": after(run_at, given.c.expires_in),
        "gate": gate,
        # What a stopped attempt has kept is a place in the work for the old payload.
        "checkpoint": null(),
        "updated_at": now(),
    }
    return (
        update(job_runs)
        .where(job_runs.c.id == given.c.id, job_runs.c.status == given.c.status, job_runs.c.attempts == 0)
        .values(values)
        .returning(job_runs.c.id)
    )
