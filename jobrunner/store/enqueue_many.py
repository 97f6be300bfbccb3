"""Enqueue many runs of one type in the caller's transaction: a few statements for each batch, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, TableValuedAlias, bindparam, select, true, update
from sqlalchemy.sql.dml import ReturningInsert

from jobrunner.errors import JobrunnerError
from jobrunner.model import Policy
from jobrunner.store import backpressure
from jobrunner.store.dialect import inserting, now, rows
from jobrunner.store.dialect.callers import CallersConnection, Statement, dialect_name, fetch
from jobrunner.store.enqueue_sql import Enqueued, NewRun, insertion, type_of
from jobrunner.store.schema import job_keys

_BATCH = 1000

Values: TypeAlias = dict[str, Any]


def enqueue(
    caller: CallersConnection, shared: NewRun, listed: Sequence[Values], policy: Policy | None
) -> list[Enqueued]:
    """Insert a run for each of ``listed``, under the rules of ``enqueue.enqueue``, and answer in their order.

    Each of ``listed`` holds what of ``NewRun.columns`` differs, the payload at least; what none of them holds is as in
    ``shared``. Raises QueueFull, with nothing written, where the type is to refuse and has not room for all.
    """
    return _Call(caller, shared.columns(), listed).enqueue(policy)


class _Call:
    """What is known of the keys: who holds them, from before or from earlier in the list."""

    def __init__(self, caller: CallersConnection, shared: Values, listed: Sequence[Values]) -> None:
        self._caller = caller
        self._shared = shared
        self._listed = listed
        self._keys = [each.get("idempotency_key") for each in listed]
        self._holders: dict[str, int] = {}

    def enqueue(self, policy: Policy | None) -> list[Enqueued]:
        # The limit before the keys, as everywhere.
        room = backpressure.find_room(self._caller, self._shared["job_type"], policy)
        if room is not None:
            self._find_holders(key for key in self._keys if key is not None)
        wanted = self._without_holder()
        if room is not None and len(wanted) > room.free:
            if room.when_full == "refuse":
                raise room.refusal(len(wanted))
            wanted = wanted[: room.free]
        wanted = self._take_keys(wanted)
        ids = dict(zip(wanted, self._insert([self._listed[index] for index in wanted]), strict=True))
        self._note_runs(ids)
        if len(ids) == len(self._listed):
            return [Enqueued(run_id, created=True) for run_id in ids.values()]
        answers = [self._answer(index, ids) for index in range(len(self._listed))]
        dropped = sum(answer.id is None for answer in answers)
        if dropped:
            backpressure.note_dropped(self._caller, self._shared["job_type"], dropped)
        return answers

    def _answer(self, index: int, ids: Mapping[int, int]) -> Enqueued:
        if index in ids:
            return Enqueued(ids[index], created=True)
        key = self._keys[index]
        return Enqueued(None if key is None else self._holders.get(key), created=False)

    def _without_holder(self) -> list[int]:
        """The places in the list whose run is to be inserted; of those with one key, the first."""
        seen = set(self._holders)
        wanted = []
        for index, key in enumerate(self._keys):
            if key is None or key not in seen:
                wanted.append(index)
            if key is not None:
                seen.add(key)
        return wanted

    def _take_keys(self, wanted: list[int]) -> list[int]:
        """Those of ``wanted`` whose key was free, and those without one."""
        keys = {key for index in wanted if (key := self._keys[index]) is not None}
        if not keys:
            return wanted
        statement = _taking_of_keys(dialect_name(self._caller))
        free: set[str] = set()
        # In one order, as all statements that lock several rows: two callers with the same keys must not cross.
        for batch in _batches(sorted(keys)):
            free.update(key for (key,) in fetch(self._caller, statement, {"given": self._rows_of(batch)}))
        if len(free) < len(keys):
            self._find_holders(keys - free)
            if not keys - free <= self._holders.keys():
                # Nothing is wrong with the data: the caller's snapshot is older than the winner's commit.
                raise JobrunnerError(
                    "another transaction took this idempotency key after yours began; enqueue again in a new one"
                )
        return [index for index in wanted if (key := self._keys[index]) is None or key in free]

    def _find_holders(self, keys: Iterable[str]) -> None:
        for batch in _batches(sorted(keys)):
            self._holders.update(map(tuple, fetch(self._caller, _holding_of_keys(), {"given": self._rows_of(batch)})))

    def _rows_of(self, keys: Iterable[str]) -> list[Values]:
        return [{"job_type": self._shared["job_type"], "idempotency_key": key} for key in keys]

    def _insert(self, listed: Sequence[Values]) -> list[int]:
        ids: list[int] = []
        own = sorted(set().union(*listed))
        shared = {name: value for name, value in self._shared.items() if name not in own}
        statement = _insertion_of_many(tuple(shared), tuple(own))
        for batch in _batches(listed):
            # Ids are given out in the order of the list; it is only the answers that may come in any order.
            ids += sorted(run_id for (run_id,) in fetch(self._caller, statement, {**shared, "given": batch}))
        return ids

    def _note_runs(self, ids: Mapping[int, int]) -> None:
        taken = {key: run_id for index, run_id in ids.items() if (key := self._keys[index]) is not None}
        self._holders.update(taken)
        for batch in _batches(sorted(taken)):
            given = [{**row, "run_id": taken[row["idempotency_key"]]} for row in self._rows_of(batch)]
            fetch(self._caller, _noting_of_runs(), {"given": given})


def _batches(listed: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for begin in range(0, len(listed), _BATCH):
        yield listed[begin : begin + _BATCH]


@lru_cache(maxsize=64)
def _insertion_of_many(shared: tuple[str, ...], own: tuple[str, ...]) -> ReturningInsert[Any]:
    given = rows("given", {name: type_of(name) for name in own})
    return insertion(
        {name: bindparam(name, type_=type_of(name)) for name in shared} | {name: given.c[name] for name in own}
    )


@lru_cache(maxsize=2)
def _taking_of_keys(name: str) -> Statement:
    given = _given_keys("job_type", "idempotency_key")
    # WHERE true: without one SQLite would read the ON of ON CONFLICT as that of a join.
    source = select(given.c.job_type, given.c.idempotency_key, now()).where(true())
    taking = inserting(name, job_keys).from_select(["job_type", "idempotency_key", "created_at"], source)
    statement: Statement = taking.on_conflict_do_nothing().returning(job_keys.c.idempotency_key)
    return statement


@cache
def _holding_of_keys() -> Statement:
    given = _given_keys("job_type", "idempotency_key")
    return select(job_keys.c.idempotency_key, job_keys.c.run_id).where(*_is_in(given))


@cache
def _noting_of_runs() -> Statement:
    given = _given_keys("job_type", "idempotency_key", "run_id")
    return update(job_keys).where(*_is_in(given)).values(run_id=given.c.run_id)


def _given_keys(*names: str) -> TableValuedAlias:
    return rows("given", {name: job_keys.c[name].type for name in names})


def _is_in(given: TableValuedAlias) -> list[ColumnElement[bool]]:
    # The type, too, from the list: were it a parameter, SQLite would look through all keys of the type, once per row.
    return [job_keys.c[name] == given.c[name] for name in ("job_type", "idempotency_key")]
