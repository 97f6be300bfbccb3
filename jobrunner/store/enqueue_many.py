"""Enqueues many runs of one type in the caller's transaction, with a few statements for each batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from jobrunner.errors import JobrunnerError
from jobrunner.model import Policy
from jobrunner.store import backpressure
from jobrunner.store.connection import Executor
from jobrunner.store.enqueue_sql import Enqueued, NewRun
from jobrunner.store.statement import Prepared

_BATCH = 1000

Values: TypeAlias = dict[str, Any]


def enqueue(caller: Executor, shared: NewRun, listed: Sequence[Values], policy: Policy | None) -> list[Enqueued]:
    """Insert a run for each of ``listed``, by the rules of ``enqueue.enqueue``. The results have the same order.

    Each of ``listed`` has those of ``NewRun.columns`` that differ, at least the payload. All other columns are those of
    ``shared``. Raises QueueFull, with nothing written, if the type refuses runs and cannot take all of these.
    """
    return _Call(caller, shared.columns(), listed).enqueue(policy)


class _Call:
    """One call. ``_holders`` maps the known keys to their runs, those of the list included."""

    def __init__(self, caller: Executor, shared: Values, listed: Sequence[Values]) -> None:
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
        statement = Prepared("enqueue.take_keys", (self._caller.database,))
        free: set[str] = set()
        # In one order, so that two callers with the same keys cannot wait for each other.
        for batch in _batches(sorted(keys)):
            free.update(key for (key,) in self._caller.execute(statement, {"given": self._rows_of(batch)}))
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
                map(tuple, self._caller.execute(Prepared("enqueue.key_holders"), {"given": self._rows_of(batch)}))
            )

    def _rows_of(self, keys: Iterable[str]) -> list[Values]:
        return [{"job_type": self._shared["job_type"], "idempotency_key": key} for key in keys]

    def _insert(self, listed: Sequence[Values]) -> list[int]:
        ids: list[int] = []
        own = sorted(set().union(*listed))
        shared = {name: value for name, value in self._shared.items() if name not in own}
        statement = Prepared("enqueue.insert_many", (tuple(shared), tuple(own)))
        for batch in _batches(listed):
            # Ids are assigned in the order of the list, but the rows may be returned in any order.
            ids += sorted(run_id for (run_id,) in self._caller.execute(statement, {**shared, "given": batch}))
        return ids

    def _set_runs_of_keys(self, ids: Mapping[int, int]) -> None:
        taken = {key: run_id for index, run_id in ids.items() if (key := self._keys[index]) is not None}
        self._holders.update(taken)
        for batch in _batches(sorted(taken)):
            given = [{**row, "run_id": taken[row["idempotency_key"]]} for row in self._rows_of(batch)]
            self._caller.execute(Prepared("enqueue.set_runs_of_keys"), {"given": given})


def _batches(listed: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for begin in range(0, len(listed), _BATCH):
        yield listed[begin : begin + _BATCH]
