"""What people do to runs, to one or to many: which statuses each change applies to, and what it writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, literal, literal_column, null, select

from jobrunner.lifecycle import CLAIMABLE, Event, Status, sources, target
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.schema import job_keys, job_runs, written
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.store.statements.queue.dependants import IS_BEHIND_PARENTS
from jobrunner.store.statements.queue.holding import NO_LOCK
from jobrunner.text import one_line

_COLUMNS = job_runs.c
_KEY = {name: job_keys.c[name].type for name in ("job_type", "idempotency_key")}
NO_GATE: dict[str, Any] = {"gate": case((IS_BEHIND_PARENTS, _COLUMNS.gate), else_=literal_column("''"))}
"""A run with another time or priority is put behind its gate anew by the next claim. Parents are still waited for."""


@dataclass(frozen=True)
class Change:
    """What is done to each run. ``statuses`` are those that it applies to; ``is_done``: there is nothing left to do.

    ``values`` gives the new columns; it takes the ``run_at`` that is asked for. ``ends_as`` is the status of runs that
    end by it. ``wants_keys``: the run takes its key again, and is refused if another run has it.
    """

    name: str
    statuses: tuple[Status, ...]
    values: Callable[[ColumnElement[Any]], Mapping[str, Any]]
    is_done: ColumnElement[bool] | None = None
    ends_as: Status | None = None
    wants_keys: bool = False


def retry(*, force: bool = False) -> Change:
    """Queue runs again, with at least one more attempt. ``force``: also those that have succeeded."""
    events = (Event.RETRY, Event.FORCE_RETRY) if force else (Event.RETRY,)
    one_more = _COLUMNS.attempts + 1
    most = case((_COLUMNS.max_attempts < one_more, one_more), else_=_COLUMNS.max_attempts)

    # What has succeeded is done: the next attempt must not go on from its end.
    done = _COLUMNS.status == written(Status.SUCCEEDED)
    begins_anew = {"checkpoint": case((done, null()), else_=_COLUMNS.checkpoint)} if force else {}

    def values(run_at: ColumnElement[Any]) -> Mapping[str, Any]:
        return {
            "status": written(target(Event.RETRY, Status.DEAD)),
            "run_at": func.coalesce(run_at, now(), type_=_COLUMNS.run_at.type),
            # Somebody wants the run now, even after its deadline.
            **dict.fromkeys(("start_deadline_at", "finished_at", "cancel_requested_at", "incompatible_at"), null()),
            "releases": literal_column("0"),
            "max_attempts": most,
            **begins_anew,
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


def _other_time(run_at: ColumnElement[Any]) -> Mapping[str, Any]:
    return {"run_at": run_at, "start_deadline_at": null(), **NO_GATE}


def set_priority(priority: int) -> Change:
    """Give waiting runs another priority."""
    values = {"priority": literal(priority, _COLUMNS.priority.type), **NO_GATE}
    return Change("priority", CLAIMABLE, lambda _: values, is_done=_COLUMNS.priority == values["priority"])


def _lock_keys() -> Select[Any]:
    columns, given = job_keys.c, rows("given", _KEY)
    is_given = and_(*(columns[name] == given.c[name] for name in _KEY))
    # In the order of all who lock several keys.
    found = select(columns.run_id).join_from(given, job_keys, is_given).order_by(*(columns[name] for name in _KEY))
    return found.with_for_update(of=job_keys)


_LOCK_KEYS = _lock_keys()


def take_keys(connection: Connection, found: Sequence[Row]) -> dict[int, int]:
    """Give runs their keys again, where a key is free for each new run. Returns the others, each with who has its key.

    Of several runs with one key, the first gets it: as if they were changed one by one. A key must be free, and is
    taken, under each name of the type.
    """
    keyed = [row for row in found if row.idempotency_key is not None]
    families = hosts.reported_families(connection, {row.job_type for row in keyed}) if keyed else {}
    runs: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in keyed:
        runs[families[row.job_type]][row.idempotency_key].append(row.id)
    refused: dict[int, int] = {}
    for names, of_type in sorted(runs.items()):
        given = [[{"job_type": name, "idempotency_key": key} for key in sorted(of_type)] for name in names]
        # In the order of an enqueue.
        for of_name in given:
            connection.execute(_LOCK_KEYS, {"given": of_name})
        known: dict[str, list[Row]] = defaultdict(list)
        # Read after the lock, so that the run of a transaction that has just ended is seen.
        for holder in connection.execute(Prepared("keys.holders"), {"given": [*chain(*given)]}):
            if holder.key_scope == "active":
                known[holder.idempotency_key].append(holder)
        winners = []
        for key, holders in known.items():
            winner = next((each.run_id for each in holders if each.is_held), of_type[key][0])
            refused |= dict.fromkeys({*of_type[key]} - {winner}, winner)
            won = {"idempotency_key": key, "run_id": winner}
            winners += [{**won, "job_type": each.job_type} for each in holders if each.run_id != winner]
        if winners:
            connection.execute(Prepared("keys.set_runs_of_keys"), {"given": winners})
    return refused
