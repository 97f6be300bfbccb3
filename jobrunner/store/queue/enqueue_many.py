"""Enqueues many runs of one type in the caller's transaction, with a few statements for each batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from jobrunner.errors import JobrunnerError
from jobrunner.model import Policy, Taken
from jobrunner.store.drivers.connection import Executor
from jobrunner.store.drivers.steps import Steps, follow
from jobrunner.store.queue import backpressure
from jobrunner.store.queue.backpressure import Occupancy
from jobrunner.store.queue.enqueue_sql import Enqueued, NewRun, free_key, replacement, taken_by
from jobrunner.store.sql.statement import Prepared, Row

_BATCH = 1000

Values: TypeAlias = dict[str, Any]


def enqueue(
    caller: Executor, shared: NewRun, listed: Sequence[Values], policy: Policy | None, if_taken: Sequence[Taken] = ()
) -> list[Enqueued]:
    """Insert a run for each of ``listed`` in the caller's transaction, by the rules of ``enqueue.enqueue``."""
    return follow(caller, steps(caller.database, shared, listed, policy, if_taken))


def steps(
    database: str, shared: NewRun, listed: Sequence[Values], policy: Policy | None, if_taken: Sequence[Taken] = ()
) -> Steps[list[Enqueued]]:
    """Insert a run for each of ``listed``, by the rules of ``enqueue.steps``. The results have the same order.

    Each of ``listed`` has those of ``NewRun.columns`` that differ, at least the payload. All other columns are those of
    ``shared``. ``if_taken`` is for each what happens if its key is taken; without it, existing runs answer. Raises
    QueueFull, with nothing written, if the type refuses runs and cannot take all of these, and KeyTaken.
    """
    return _Call(database, shared.columns(), listed, if_taken or ["existing"] * len(listed), policy).enqueue()


class _Call:
    """One call. ``_holders`` maps the known keys to their runs, those of the list included.

    A key is taken under each name of the type, so that code that knows one of the names only finds it, too.
    """

    def __init__(
        self,
        database: str,
        shared: Values,
        listed: Sequence[Values],
        if_taken: Sequence[Taken],
        policy: Policy | None,
    ) -> None:
        self._database = database
        self._policy = policy
        # In one order, as everywhere. What older code takes comes first.
        self._names = (shared["job_type"],) if policy is None else policy.names[::-1]
        self._shared = shared
        self._listed = listed
        self._if_taken = if_taken
        self._keys = [each.get("idempotency_key") for each in listed]
        self._must_be_free = {key for key, each in zip(self._keys, if_taken, strict=True) if each == "raise"}
        self._holders: dict[str, int] = {}

    def enqueue(self) -> Steps[list[Enqueued]]:
        # The limit is locked before the keys, as everywhere, so that two transactions cannot wait for each other.
        keys = {key for key in self._keys if key is not None}
        occupancy = yield from self._lock_and_count(keyed=bool(keys))
        if occupancy is not None or self._must_be_free - {None} or len(self._names) > 1:
            for name in self._names:
                yield from self._find_holders(name, keys)
        wanted = self._without_holder()
        if occupancy is not None and len(wanted) > occupancy.free:
            if occupancy.when_full == "refuse":
                raise occupancy.refusal(len(wanted))
            wanted = wanted[: occupancy.free]
        wanted = yield from self._take_keys(wanted)
        inserted = yield from self._insert([self._listed[index] for index in wanted])
        ids = dict(zip(wanted, inserted, strict=True))
        yield from self._set_runs_of_keys(ids)
        if len(ids) == len(self._listed):
            return [Enqueued(run_id, created=True) for run_id in ids.values()]
        replaced = yield from self._replace(ids)
        answers = [self._answer(index, ids, replaced) for index in range(len(self._listed))]
        dropped = sum(answer.id is None for answer in answers)
        if dropped:
            yield from backpressure.count_dropped_steps(self._shared["job_type"], dropped)
        return answers

    def _lock_and_count(self, *, keyed: bool) -> Steps[Occupancy | None]:
        """How many runs of all names of the type wait. None: it has no limit."""
        of_type, waiting = None, 0
        for name in self._names:
            policy = None if self._policy is None else self._policy._replace(job_type=name)
            found = yield from backpressure.lock_and_count_steps(self._database, name, policy, keyed=keyed)
            if found is not None:
                waiting += found.waiting
                of_type = found if name == self._shared["job_type"] else of_type
        return None if of_type is None else of_type._replace(waiting=waiting)

    def _answer(self, index: int, ids: Mapping[int, int], replaced: set[int]) -> Enqueued:
        if index in ids:
            return Enqueued(ids[index], created=True)
        run_id = self._holder(index)
        return Enqueued(run_id, created=False, replaced=self._if_taken[index] == "replace" and run_id in replaced)

    def _holder(self, index: int) -> int | None:
        key = self._keys[index]
        return None if key is None else self._holders.get(key)

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

    def _take_keys(self, wanted: list[int]) -> Steps[list[int]]:
        """Take the keys. Returns those of ``wanted`` whose key was free, and those without a key."""
        keys = {key for index in wanted if (key := self._keys[index]) is not None}
        for number, name in enumerate(self._names):
            free = yield from self._take_keys_under(name, keys, self._names[:number])
            for earlier in self._names[:number]:
                yield from self._release(earlier, keys - free)
            keys = free
        return [index for index in wanted if (key := self._keys[index]) is None or key in keys]

    def _take_keys_under(self, name: str, keys: set[str], earlier: Sequence[str]) -> Steps[set[str]]:
        statement = Prepared("keys.take_keys")
        free: set[str] = set()
        # In one order, so that two callers with the same keys cannot wait for each other.
        for batch in _batches(sorted(keys)):
            free.update((yield statement, {"given": _rows_of(name, batch)}).scalars())
        others = keys - free
        while others:
            rows = yield from self._find_holders(name, others, {name: free, **dict.fromkeys(earlier, keys)})
            if len(rows) < len(others):
                # The caller's snapshot is older than the commit of the transaction that has the key.
                raise JobrunnerError(
                    "another transaction took this idempotency key after yours began; enqueue again in a new one"
                )
            for batch in _batches([free_key(row) for row in rows if not row.is_held]):
                free.update((yield Prepared("keys.lock_free"), {"given": batch}).scalars())
            # Another transaction may have taken some of them over since they were found.
            others -= free | self._holders.keys()
        return free

    def _find_holders(
        self, name: str, keys: Iterable[str], taken_here: Mapping[str, Iterable[str]] = MappingProxyType({})
    ) -> Steps[list[Row]]:
        """The rows of these keys that exist. Raises KeyTaken, with nothing written, if one had to be free.

        ``taken_here`` are the keys that this call has taken, by the name of the type.
        """
        found: list[Row] = []
        for batch in _batches(sorted(keys)):
            found += (yield Prepared("keys.holders"), {"given": _rows_of(name, batch)}).all()
        self._holders.update((row.idempotency_key, row.run_id) for row in found if row.is_held)
        for row in sorted(found):
            if row.is_held and row.idempotency_key in self._must_be_free:
                for under, taken in taken_here.items():
                    yield from self._release(under, taken)
                raise taken_by(row)
        return found

    def _release(self, name: str, keys: Iterable[str]) -> Steps[None]:
        for batch in _batches(sorted(keys)):
            yield Prepared("keys.release_keys"), {"given": _rows_of(name, batch)}

    def _insert(self, listed: Sequence[Values]) -> Steps[list[int]]:
        ids: list[int] = []
        own = sorted(set().union(*listed))
        shared = {name: value for name, value in self._shared.items() if name not in own}
        statement = Prepared("enqueue.insert_many", (tuple(shared), tuple(own)))
        for batch in _batches(listed):
            # Ids are assigned in the order of the list, but the rows may be returned in any order.
            ids += sorted((yield statement, {**shared, "given": batch}).scalars())
        return ids

    def _set_runs_of_keys(self, ids: Mapping[int, int]) -> Steps[None]:
        taken = {key: run_id for index, run_id in ids.items() if (key := self._keys[index]) is not None}
        self._holders.update(taken)
        for name in self._names:
            for batch in _batches(sorted(taken)):
                given = [{**row, "run_id": taken[row["idempotency_key"]]} for row in _rows_of(name, batch)]
                yield Prepared("keys.set_runs_of_keys"), {"given": given}

    def _replace(self, inserted: Mapping[int, int]) -> Steps[set[int]]:
        """Replace payloads and times of runs that hold a key. Returns those that had not begun."""
        # The last one in the list, as if they were enqueued one by one.
        last = {
            run_id: replacement(run_id, self._shared | self._listed[index])
            for index, if_taken in enumerate(self._if_taken)
            if if_taken == "replace" and index not in inserted and (run_id := self._holder(index)) is not None
        }
        replaced: set[int] = set()
        for batch in _batches(sorted(last)):
            given = [last[run_id] for run_id in batch]
            replaced.update((yield Prepared("enqueue.replace", (self._database,)), {"given": given}).scalars())
        return replaced


def _rows_of(name: str, keys: Iterable[str]) -> list[Values]:
    return [{"job_type": name, "idempotency_key": key} for key in keys]


def _batches(listed: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for begin in range(0, len(listed), _BATCH):
        yield listed[begin : begin + _BATCH]
