"""A run to be, and the statements that insert it and its key. Each is built once: that costs more than executing it."""

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
from jobrunner.store.dialect import inserting, later, now, stored_json
from jobrunner.store.dialect.callers import Statement
from jobrunner.store.schema import job_keys, job_runs

_OPTIONAL = (
    "idempotency_key", "max_attempts", "definition_id", "scheduled_for", "origin", "start_deadline_at",
    "concurrency_key",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be. ``payload`` is the text of a JSON object, checked.

    ``run_at`` None: now; a timedelta: that long after now, by the database's clock. ``max_attempts`` and ``timeout``
    None: the policy of the type when it is claimed; a timeout of zero: none. ``origin`` None: enqueued.
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
        """The values that differ from run to run, by column; ``run_in``, in seconds, for a later run_at."""
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
        """The values that a key is found by."""
        # Not the names of the columns: Core keeps those for itself in an UPDATE.
        return {"of_type": self.job_type, "key": self.idempotency_key}


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The run's id. ``created`` False: the key was taken, and this is the id it was taken for.

    ``id`` None: the type was full and its ``when_full`` is "drop"; nothing was inserted.
    """

    id: int | None
    created: bool

    @property
    def dropped(self) -> bool:
        """Whether nothing was inserted because the type was full."""
        return self.id is None


@lru_cache(maxsize=256)
def insertion_of_one(given: tuple[str, ...], unless_limited: bool) -> ReturningInsert[Any]:
    """For the ``NewRun.columns`` that are given, as parameters of their names."""
    return insertion({name: bindparam(name, type_=type_of(name)) for name in given}, unless_limited)


def insertion(
    given: Mapping[str, ColumnElement[Any]], unless_limited: bool = False, *, unless_there: str | None = None
) -> ReturningInsert[Any]:
    """The one INSERT of runs, of these ``NewRun.columns``.

    ``unless_there`` names the dialect for which a slot that has its run is passed over, and is no error.
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
    if unless_there is not None:
        # WHERE true: without one SQLite would read the ON of ON CONFLICT as that of a join.
        inserted = inserting(unless_there, job_runs).from_select(list(values), source.where(true()))
        return cast(ReturningInsert[Any], inserted.on_conflict_do_nothing().returning(job_runs.c.id))
    return insert(job_runs).from_select(list(values), source).returning(job_runs.c.id)


def _run_at(given: Mapping[str, ColumnElement[Any]]) -> ColumnElement[Any]:
    said = [given["run_at"]] if "run_at" in given else []
    if "run_in" in given:
        said.append(later(given["run_in"]))
    # Of many runs, some may say nothing.
    return func.coalesce(*said, now()) if said else now()


def type_of(name: str) -> TypeEngine[Any]:
    """What a statement is given for one of ``NewRun.columns``."""
    if name == "payload":
        return Text()
    return Float() if name == "run_in" else job_runs.c[name].type


@lru_cache(maxsize=2)
def taking_of_key(dialect_name: str) -> Statement:
    """Given ``NewRun.key``. No row: it is taken, or the type has a limit."""
    of_type, key = _key_parameters()
    source = select(of_type, key, now()).where(~backpressure.is_limited(of_type))
    taking = inserting(dialect_name, job_keys).from_select(["job_type", "idempotency_key", "created_at"], source)
    taking = taking.on_conflict_do_nothing().returning(job_keys.c.job_type)
    return cast(Statement, taking)


@cache
def holder_of_key() -> Statement:
    """Given ``NewRun.key``, the id of its run."""
    return select(job_keys.c.run_id).where(*_is_key())


@cache
def noting_of_run() -> Statement:
    """Given ``NewRun.key`` and ``taken_for``, the id of its run."""
    taken_for = bindparam("taken_for", type_=job_keys.c.run_id.type)
    return update(job_keys).where(*_is_key()).values(run_id=taken_for).returning(job_keys.c.run_id)


def _is_key() -> list[ColumnElement[bool]]:
    of_type, key = _key_parameters()
    return [job_keys.c.job_type == of_type, job_keys.c.idempotency_key == key]


def _key_parameters() -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    columns = job_keys.c
    return bindparam("of_type", type_=columns.job_type.type), bindparam("key", type_=columns.idempotency_key.type)
