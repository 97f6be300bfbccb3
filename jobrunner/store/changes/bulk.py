"""What people do to many runs at once: retry, cancel, discard, reschedule, change the priority.

``matching`` finds the runs first, so that somebody sees how many there are. ``Changing`` then changes some hundreds of
them in one short transaction, and checks the conditions again: it is called once for each batch. It skips rows that
another transaction has locked, and a claim skips its rows, so nobody waits for anybody. When it was killed, what is
done is done, and the same command finds only the rest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    and_,
    case,
    func,
    literal,
    literal_column,
    null,
    select,
    update,
)

from jobrunner.lifecycle import CLAIMABLE, FINISHED, Event, Status, sources, target
from jobrunner.model import Actor
from jobrunner.store.changes.admin import NO_GATE
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.search import check_schedule
from jobrunner.store.questions.selection import Selection, condition, instant
from jobrunner.store.queue.ticks import audit, tallies
from jobrunner.store.schema import job_keys, job_runs, written
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import BigKey, now
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.store.statements.queue.backpressure import WAITING
from jobrunner.store.statements.queue.holding import NO_LOCK
from jobrunner.text import one_line

BATCH = 500
_COLUMNS = job_runs.c
_GIVEN = {"id": BigKey, "run_at": _COLUMNS.run_at.type}
_KEY = {name: job_keys.c[name].type for name in ("job_type", "idempotency_key")}
_Values = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """What is done to each run. ``statuses`` are those that it applies to; ``is_done``: there is nothing left to do.

    ``values`` gives the new columns, from the rows of a list with ``run_at``. ``ends_as`` is the status of runs that
    end by it. ``wants_keys``: the run takes its key again, and is refused if another run has it.
    """

    name: str
    statuses: tuple[Status, ...]
    values: Callable[[FromClause], _Values]
    is_done: ColumnElement[bool] | None = None
    ends_as: Status | None = None
    wants_keys: bool = False


def retry(*, force: bool = False) -> Change:
    """Queue runs again, with at least one more attempt. ``force``: also those that have succeeded."""
    events = (Event.RETRY, Event.FORCE_RETRY) if force else (Event.RETRY,)
    one_more = _COLUMNS.attempts + 1
    most = case((_COLUMNS.max_attempts < one_more, one_more), else_=_COLUMNS.max_attempts)

    def values(given: FromClause) -> _Values:
        return {
            "status": written(target(Event.RETRY, Status.DEAD)),
            "run_at": func.coalesce(given.c.run_at, now(), type_=_COLUMNS.run_at.type),
            # Somebody wants the run now, even after its deadline.
            **dict.fromkeys(("start_deadline_at", "finished_at", "cancel_requested_at", "incompatible_at"), null()),
            "releases": literal_column("0"),
            "max_attempts": most,
            **NO_LOCK,
        }

    return Change("retry", tuple(each for event in events for each in sources(event)), values, wants_keys=True)


def cancel() -> Change:
    """Cancel waiting runs, and request the cancellation of running ones from their owners."""
    is_running = _COLUMNS.lease_token.is_not(None)
    cancelled = target(Event.CANCEL, Status.QUEUED)
    values = {
        "status": case((is_running, _COLUMNS.status), else_=written(cancelled)),
        "finished_at": case((is_running, null()), else_=now()),
        "cancel_requested_at": now(),
    }
    is_requested = and_(is_running, _COLUMNS.cancel_requested_at.is_not(None))
    return Change("cancel", sources(Event.CANCEL), lambda _: values, is_done=is_requested, ends_as=cancelled)


def discard(reason: str) -> Change:
    """End waiting or cancelled runs as dead."""
    dead = target(Event.DISCARD, Status.QUEUED)
    values = {
        "status": written(dead),
        "finished_at": now(),
        "error_type": written("discarded"),
        "last_error": literal(one_line(reason)),
    }
    return Change("discard", sources(Event.DISCARD), lambda _: values, ends_as=dead)


def reschedule(at: datetime, *, is_spread: bool = False) -> Change:
    """Give waiting runs another time. A start deadline holds no longer. ``is_spread``: each has a time of its own."""
    is_done = None if is_spread else _COLUMNS.run_at == literal(at, _COLUMNS.run_at.type)
    return Change("reschedule", CLAIMABLE, _other_time, is_done)


def _other_time(given: FromClause) -> _Values:
    return {"run_at": given.c.run_at, "start_deadline_at": null(), **NO_GATE}


def set_priority(priority: int) -> Change:
    """Give waiting runs another priority."""
    values = {"priority": literal(priority, _COLUMNS.priority.type), **NO_GATE}
    return Change("priority", CLAIMABLE, lambda _: values, is_done=_COLUMNS.priority == values["priority"])


def database_now(connection: Connection) -> datetime:
    """The database's now. Expects any transaction."""
    at: datetime = connection.execute(select(now())).scalar_one()
    return at


def fixed(selection: Selection, at: datetime) -> Selection:
    """The selection with instants in place of "so long ago", which would mean fewer runs with every batch."""
    since, until = (at - each if isinstance(each, timedelta) else each for each in (selection.since, selection.until))
    return replace(selection, since=since, until=until)


def matching(connection: Connection, selection: Selection, change: Change, limit: int | None) -> dict[int, Status]:
    """The runs of the selection that the change applies to, by id: their statuses. Expects a read transaction.

    With a limit, those with the lowest ids. Raises NotFoundError for an unknown schedule.
    """
    check_schedule(connection, selection)
    found: dict[int, Status] = {}
    for status in change.statuses:
        if status in selection.possible_statuses:
            ids = _of_status(status, selection).where(_fits(selection, change))
            if limit is not None:
                ids = ids.order_by(_COLUMNS.id).limit(limit)
            found |= dict.fromkeys(connection.execute(ids).scalars(), status)
    return dict(sorted(found.items())[:limit])


def _of_status(status: Status, selection: Selection) -> Select[Any]:
    found = select(_COLUMNS.id).where(_COLUMNS.status == written(status))
    if status in FINISHED:
        found = found.where(_COLUMNS.finished_at.is_not(None))
        return found if selection.since is None else found.where(_COLUMNS.finished_at >= instant(selection.since))
    return found.where(WAITING) if status in CLAIMABLE else found


def _fits(selection: Selection, change: Change) -> ColumnElement[bool]:
    # In these words it is no condition of a partial index: batches are read by their ids.
    has_status = func.coalesce(_COLUMNS.status, literal_column("''")).in_([each.value for each in change.statuses])
    fits = and_(has_status, condition(selection))
    return fits if change.is_done is None else and_(fits, ~change.is_done)


@dataclass(frozen=True)
class Batch:
    """What became of the runs of a batch: how many were changed; and those that were not, by why."""

    done: int
    locked: int = 0
    changed_meanwhile: int = 0
    key_taken: int = 0


class Changing:
    """Makes one change to the runs of a selection, batch by batch. ``run_at`` of each run is in the batch."""

    def __init__(self, change: Change, selection: Selection, actor: Actor, detail: Mapping[str, Any]) -> None:
        self._change = change
        self._actor = actor
        self._detail = {"filter": selection.as_data(), **detail}
        # Each statement is built, and so compiled, once.
        columns, given, fits = _COLUMNS, rows("given", _GIVEN), _fits(selection, change)
        read = (columns.id, columns.job_type, columns.status, columns.idempotency_key)
        self._fitting: Select[Any] = (
            select(*read, now().label("now")).join_from(given, job_runs, columns.id == given.c.id).where(fits)
        ).order_by(columns.id)
        self._lock = self._fitting.with_for_update(of=job_runs, skip_locked=True, key_share=True)
        self._write = update(job_runs).where(columns.id == given.c.id).values(**change.values(given), updated_at=now())

    def __call__(self, connection: Connection, batch: Sequence[Mapping[str, Any]]) -> Batch:
        """Change these runs, rows with an ``id`` and a ``run_at``. Expects a write transaction."""
        found = connection.execute(self._lock, {"given": batch}).all()
        locked = 0
        if len(found) < len(batch):
            locked = len(connection.execute(self._fitting, {"given": batch}).all()) - len(found)
        taken = _take_keys(connection, found) if self._change.wants_keys else set()
        done = [row for row in found if row.id not in taken]
        if done:
            ids = {row.id for row in done}
            connection.execute(self._write, {"given": [each for each in batch if each["id"] in ids]})
            if (status := self._change.ends_as) is not None:
                tallies.add_ends(connection, [(row.job_type, status) for row in done if row.status != Status.RUNNING])
            self._record(connection, done)
        return Batch(len(done), locked, len(batch) - len(found) - locked, len(taken))

    def _record(self, connection: Connection, done: Sequence[Row]) -> None:
        counts = Counter(row.status for row in done)
        detail = {**self._detail, "from": dict(counts), "ids": [row.id for row in done]}
        audit.record(connection, [audit.event(self._actor, self._change.name, None, detail, done[0].now)])


def _lock_keys() -> Select[Any]:
    columns, given = job_keys.c, rows("given", _KEY)
    is_given = and_(*(columns[name] == given.c[name] for name in _KEY))
    # In the order of all who lock several keys.
    found = select(columns.run_id).join_from(given, job_keys, is_given).order_by(*(columns[name] for name in _KEY))
    return found.with_for_update(of=job_keys)


_LOCK_KEYS = _lock_keys()


def _take_keys(connection: Connection, found: Sequence[Row]) -> set[int]:
    """Give runs their keys again, where a key is free for each new run. Returns those whose key another run has.

    Of several runs with one key, the first gets it: as if they were changed one by one.
    """
    runs: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in found:
        if row.idempotency_key is not None:
            runs[row.job_type][row.idempotency_key].append(row.id)
    refused: set[int] = set()
    for job_type, of_type in sorted(runs.items()):
        given = {"given": [{"job_type": job_type, "idempotency_key": key} for key in sorted(of_type)]}
        connection.execute(_LOCK_KEYS, given)
        winners = []
        # Read after the lock, so that the run of a transaction that has just ended is seen.
        for holder in connection.execute(Prepared("keys.holders"), given):
            if holder.key_scope == "active":
                ids = of_type[holder.idempotency_key]
                winner = holder.run_id if holder.is_held else ids[0]
                refused |= {*ids} - {winner}
                if winner != holder.run_id:
                    key = {"job_type": job_type, "idempotency_key": holder.idempotency_key}
                    winners.append({**key, "run_id": winner})
        if winners:
            connection.execute(Prepared("keys.set_runs_of_keys"), {"given": winners})
    return refused
