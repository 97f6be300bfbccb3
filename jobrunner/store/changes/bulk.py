"""What people do to many runs at once: retry, cancel, discard, reschedule, change the priority.

``matching`` finds the runs first, so that somebody sees how many there are. ``Changing`` then changes some hundreds of
them in one short transaction, and checks the conditions again: it is called once for each batch. It skips rows that
another transaction has locked, and a claim skips its rows, so nobody waits for anybody. When it was killed, what is
done is done, and the same command finds only the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    func,
    literal_column,
    select,
    update,
)

from jobrunner.lifecycle import CLAIMABLE, FINISHED, Status
from jobrunner.model import Actor
from jobrunner.store.changes.run_changes import Change, take_keys
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.search import check_schedule
from jobrunner.store.questions.selection import Selection, condition, instant
from jobrunner.store.queue.ticks import audit, tallies
from jobrunner.store.schema import job_runs, written
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import BigKey, now
from jobrunner.store.sql.statement import Row
from jobrunner.store.statements.queue.backpressure import WAITING

BATCH = 500
_COLUMNS = job_runs.c
_GIVEN = {"id": BigKey, "run_at": _COLUMNS.run_at.type}


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
        self._write = (
            update(job_runs).where(columns.id == given.c.id).values(**change.values(given.c.run_at), updated_at=now())
        )

    def __call__(self, connection: Connection, batch: Sequence[Mapping[str, Any]]) -> Batch:
        """Change these runs, rows with an ``id`` and a ``run_at``. Expects a write transaction."""
        found = connection.execute(self._lock, {"given": batch}).all()
        locked = 0
        if len(found) < len(batch):
            locked = len(connection.execute(self._fitting, {"given": batch}).all()) - len(found)
        taken = take_keys(connection, found) if self._change.wants_keys else {}
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
