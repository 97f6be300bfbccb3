"""A new run, and the statements that insert it and its key. They are cached: to build one costs more than to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any, cast

from sqlalchemy import ColumnElement, Float, Text, bindparam, func, insert, literal_column, select, true, update
from sqlalchemy.sql.dml import ReturningInsert
from sqlalchemy.types import TypeEngine

from jobrunner.lifecycle import Status
from jobrunner.model import Origin
from jobrunner.store import backpressure
from jobrunner.store.dialect.callers import Statement
from jobrunner.store.dialect.statements import inserting
from jobrunner.store.dialect.values import later, now, stored_json
from jobrunner.store.schema import job_keys, job_runs

_OPTIONAL = (
    "idempotency_key", "max_attempts", "definition_id", "scheduled_for", "origin", "start_deadline_at",
    "concurrency_key",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to insert. ``payload`` is the checked text of a JSON object.

    ``run_at`` None means now; a timedelta counts from now, by the database's clock. If ``max_attempts`` or ``timeout``
    is None, the claim takes that of the type's policy; a timeout of zero means no limit. ``origin`` None: enqueued.
    """

    job_type: str
    payload: str
    run_at: datetime | timedelta | None = None
    priority: int = 0
    idempotency_key: str | None = None
    max_attempts: int | None = None
    timeout: timedelta | None = None
    definition_id: int | None = None
    scheduled_for: datetime | None = None
    origin: Origin | None = None
    start_deadline_at: datetime | None = None
    concurrency_key: str | None = None

    def columns(self) -> dict[str, Any]:
        """The values by column, without those that are None. ``run_in``, in seconds, stands for a run_at after now."""
        columns = {"job_type": self.job_type, "payload": self.payload, "priority": self.priority}
        if isinstance(self.run_at, timedelta):
            columns["run_in"] = self.run_at.total_seconds()
        elif self.run_at is not None:
            columns["run_at"] = self.run_at
        if self.timeout is not None:
            columns["timeout"] = self.timeout.total_seconds()
        for name in _OPTIONAL:
            value = getattr(self, name)
            if value is not None:
                columns[name] = value
        return columns

    def key(self) -> dict[str, Any]:
        """The parameters that identify the idempotency key."""
        # Not the names of the columns, which SQLAlchemy reserves in an UPDATE.
        return {"of_type": self.job_type, "key": self.idempotency_key}


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The id of the run. ``created`` False: the key exists already, and this is the id of its run.

    ``id`` None: nothing was inserted, because the type was full and its ``when_full`` is "drop".
    """

    id: int | None
    created: bool

    @property
    def dropped(self) -> bool:
        """Whether nothing was inserted because the type was full."""
        return self.id is None


@lru_cache(maxsize=256)
def insert_one_statement(given: tuple[str, ...], unless_limited: bool) -> ReturningInsert[Any]:
    """The INSERT of one run. Its parameters have the names of these ``NewRun.columns``."""
    return insert_statement({name: bindparam(name, type_=type_of(name)) for name in given}, unless_limited)


def insert_statement(
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
        source = source.where(~backpressure.is_limited(given["job_type"]))
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


def type_of(name: str) -> TypeEngine[Any]:
    """The type of the parameter for one of ``NewRun.columns``."""
    if name == "payload":
        return Text()
    return Float() if name == "run_in" else job_runs.c[name].type


@lru_cache(maxsize=2)
def take_key_statement(dialect_name: str) -> Statement:
    """Insert the key of ``NewRun.key``. Returns no row if the key exists already, or the type has a limit."""
    of_type, key = _key_parameters()
    source = select(of_type, key, now()).where(~backpressure.is_limited(of_type))
    insert_key = inserting(dialect_name, job_keys).from_select(["job_type", "idempotency_key", "created_at"], source)
    insert_key = insert_key.on_conflict_do_nothing().returning(job_keys.c.job_type)
    return cast(Statement, insert_key)


@cache
def key_statement() -> Statement:
    """The id of the run of ``NewRun.key``."""
    return select(job_keys.c.run_id).where(*_is_key())


@cache
def set_run_of_key_statement() -> Statement:
    """Store ``run_id_of_key``, the id of the run, in the row of ``NewRun.key``."""
    run_id = bindparam("run_id_of_key", type_=job_keys.c.run_id.type)
    return update(job_keys).where(*_is_key()).values(run_id=run_id).returning(job_keys.c.run_id)


def _is_key() -> list[ColumnElement[bool]]:
    of_type, key = _key_parameters()
    return [job_keys.c.job_type == of_type, job_keys.c.idempotency_key == key]


def _key_parameters() -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    columns = job_keys.c
    return bindparam("of_type", type_=columns.job_type.type), bindparam("key", type_=columns.idempotency_key.type)
