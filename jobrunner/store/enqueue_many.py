"""Enqueues many runs of one type in the caller's transaction, with a few statements for each batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, TableValuedAlias, bindparam, select, true, update
from sqlalchemy.sql.dml import ReturningInsert

from jobrunner.errors import JobrunnerError
from jobrunner.model import Policy
from jobrunner.store import backpressure
from jobrunner.store.dialect.callers import CallersConnection, Statement, dialect_name, fetch
from jobrunner.store.dialect.rows import rows
from jobrunner.store.dialect.statements import inserting
from jobrunner.store.dialect.values import now
from jobrunner.store.enqueue_sql import Enqueued, NewRun, insert_statement, type_of
from jobrunner.store.schema import job_keys

_BATCH = 1000

Values: TypeAlias = dict[str, Any]


def enqueue(
    caller: CallersConnection, shared: NewRun, listed: Sequence[Values], policy: Policy | None
) -> list[Enqueued]:
    """Insert a run for each of ``listed``, by the rules of ``enqueue.enqueue``. The results have the same order.

    Each of ``listed`` has those of ``NewRun.columns`` that differ, at least the payload. All other columns are those of
    ``shared``. Raises QueueFull, with nothing written, if the type refuses runs and cannot take all of these.
    """
    return _Call(caller, shared.columns(), listed).enqueue(policy)


class _Call:
    """One call. ``_holders`` maps the known keys to their runs, those of the list included."""

    def __init__(self, caller: CallersConnection, shared: Values, listed: Sequence[Values]) -> None:
        self._caller = caller
        self._shared = shared
        self._listed = listed
        self._keys = [each.get("idempotency_key") for each in listed]
        self._holders: dict[str, int] = {}

    def enqueue(self, policy: Policy | None) -> list[Enqueued]:
        # The limit is locked before the keys, as everywhere, so that two transactions cannot wait for each other.
        occupancy = backpressure.lock_and_count(self._caller, self._shared["job_type"], policy)
        if occupancy is not None:
            self._find_holders(key for key in self._keys if key is not None)
        wanted = self._without_holder()
        if occupancy is not None and len(wanted) > occupancy.free:
            if occupancy.when_full == "refuse":
                raise occupancy.refusal(len(wanted))
            wanted = wanted[: occupancy.free]
        wanted = self._take_keys(wanted)
        ids = dict(zip(wanted, self._insert([self._listed[index] for index in wanted]), strict=True))
        self._set_runs_of_keys(ids)
        if len(ids) == len(self._listed):
            return [Enqueued(run_id, created=True) for run_id in ids.values()]
        answers = [self._answer(index, ids) for index in range(len(self._listed))]
        dropped = sum(answer.id is None for answer in answers)
        if dropped:
            backpressure.count_dropped(self._caller, self._shared["job_type"], dropped)
        return answers

    def _answer(self, index: int, ids: Mapping[int, int]) -> Enqueued:
        if index in ids:
            return Enqueued(ids[index], created=True)
        key = self._keys[index]
        return Enqueued(None if key is None else self._holders.get(key), created=False)

    def _without_holder(self) -> list[int]:
        """The indexes in the list of the runs to insert: one run for each key that has none, the first in the list."""
        seen = set(self._holders)
        wanted = []
        for index, key in enumerate(self._keys):
            if key is None or key not in seen:
                wanted.append(index)
            if key is not None:
                seen.add(key)
        return wanted

    def _take_keys(self, wanted: list[int]) -> list[int]:
        """Insert the keys. Returns those of ``wanted`` whose key was free, and those without a key."""
        keys = {key for index in wanted if (key := self._keys[index]) is not None}
        if not keys:
            return wanted
        statement = _take_keys_statement(dialect_name(self._caller))
        free: set[str] = set()
        # In one order, so that two callers with the same keys cannot wait for each other.
        for batch in _batches(sorted(keys)):
            free.update(key for (key,) in fetch(self._caller, statement, {"given": self._rows_of(batch)}))
        if len(free) < len(keys):
            self._find_holders(keys - free)
            if not keys - free <= self._holders.keys():
                # The caller's snapshot is older than the commit of the transaction that has the key.
                raise JobrunnerError(
                    "another transaction took this idempotency key after yours began; enqueue again in a new one"
                )
        return [index for index in wanted if (key := self._keys[index]) is None or key in free]

    def _find_holders(self, keys: Iterable[str]) -> None:
        for batch in _batches(sorted(keys)):
            self._holders.update(
                map(tuple, fetch(self._caller, _key_holders_statement(), {"given": self._rows_of(batch)}))
            )

    def _rows_of(self, keys: Iterable[str]) -> list[Values]:
        return [{"job_type": self._shared["job_type"], "idempotency_key": key} for key in keys]

    def _insert(self, listed: Sequence[Values]) -> list[int]:
        ids: list[int] = []
        own = sorted(set().union(*listed))
        shared = {name: value for name, value in self._shared.items() if name not in own}
        statement = _insert_many_statement(tuple(shared), tuple(own))
        for batch in _batches(listed):
            # Ids are assigned in the order of the list, but the rows may be returned in any order.
            ids += sorted(run_id for (run_id,) in fetch(self._caller, statement, {**shared, "given": batch}))
        return ids

    def _set_runs_of_keys(self, ids: Mapping[int, int]) -> None:
        taken = {key: run_id for index, run_id in ids.items() if (key := self._keys[index]) is not None}
        self._holders.update(taken)
        for batch in _batches(sorted(taken)):
            given = [{**row, "run_id": taken[row["idempotency_key"]]} for row in self._rows_of(batch)]
            fetch(self._caller, _set_runs_of_keys_statement(), {"given": given})


def _batches(listed: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for begin in range(0, len(listed), _BATCH):
        yield listed[begin : begin + _BATCH]


@lru_cache(maxsize=64)
def _insert_many_statement(shared: tuple[str, ...], own: tuple[str, ...]) -> ReturningInsert[Any]:
    given = rows("given", {name: type_of(name) for name in own})
    return insert_statement(
        {name: bindparam(name, type_=type_of(name)) for name in shared} | {name: given.c[name] for name in own}
    )


@lru_cache(maxsize=2)
def _take_keys_statement(name: str) -> Statement:
    given = _given_keys("job_type", "idempotency_key")
    # WHERE true, because without a WHERE SQLite reads the ON of ON CONFLICT as part of a join.
    source = select(given.c.job_type, given.c.idempotency_key, now()).where(true())
    insert = inserting(name, job_keys).from_select(["job_type", "idempotency_key", "created_at"], source)
    statement: Statement = insert.on_conflict_do_nothing().returning(job_keys.c.idempotency_key)
    return statement


@cache
def _key_holders_statement() -> Statement:
    given = _given_keys("job_type", "idempotency_key")
    return select(job_keys.c.idempotency_key, job_keys.c.run_id).where(*_is_in(given))


@cache
def _set_runs_of_keys_statement() -> Statement:
    given = _given_keys("job_type", "idempotency_key", "run_id")
    return update(job_keys).where(*_is_in(given)).values(run_id=given.c.run_id)


def _given_keys(*names: str) -> TableValuedAlias:
    return rows("given", {name: job_keys.c[name].type for name in names})


def _is_in(given: TableValuedAlias) -> list[ColumnElement[bool]]:
    # The type is in the list, too. With the type as a parameter SQLite reads all keys of the type for each row.
    return [job_keys.c[name] == given.c[name] for name in ("job_type", "idempotency_key")]
