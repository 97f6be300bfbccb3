"""Reads a slice of runs with all that belongs to them. Expects a snapshot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from jobrunner.lifecycle import FINISHED, Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.verify.reading import read
from jobrunner.store.verify.records import Attempt, Event, Run
from jobrunner.verify.checks.effects import Settlement
from jobrunner.verify.promise import History

_ACTIONS = frozenset({"retry", "retry --force", "cancel", "discard"})
_MOST_EVENTS = 2000
"""Changes of many runs at once that are read for one slice. If there are more, it is not known who changed what."""
_AROUND = timedelta(hours=1)


class Slice(NamedTuple):
    """Runs in the order of their ids, and what people have said of effects of runs of these ids."""

    histories: Sequence[History]
    settlements: Sequence[Settlement]


def read_slice(connection: Connection, after: int, limit: int) -> Slice:
    """The next runs after an id."""
    runs: list[Run] = read(connection, "runs", after=after, limit=limit)
    if not runs:
        return Slice([], [])
    ids = {"first": after + 1, "last": runs[-1].id}
    attempts = _by_run(read(connection, "attempts", **ids))
    events: list[Event] = read(connection, "events", **ids)
    changes = _changes(connection, runs, attempts, events)
    parents, keys = _by_run(read(connection, "parents", **ids)), _by_run(read(connection, "keys", **ids))
    gates = _by_run(read(connection, "gates", **ids))
    histories = [
        History(
            run,
            attempts.get(run.id, ()),
            None if changes is None else changes.get(run.id, {}),
            parents.get(run.id, ()),
            *(found[run.id][0] if run.id in found else None for found in (keys, gates)),
        )
        for run in runs
    ]
    return Slice(histories, [_settlement(connection, each) for each in events if _is_applied(each)])


def _by_run(rows: Iterable[Any]) -> Mapping[int, list[Any]]:
    found = defaultdict[int, list[Any]](list)
    for row in rows:
        found[row.run_id].append(row)
    return found


def _changes(
    connection: Connection, runs: Sequence[Run], attempts: Mapping[int, Sequence[Attempt]], events: Sequence[Event]
) -> Mapping[int, Mapping[str, int]] | None:
    """How often what was done to each run. None: too much was done at that time to look through."""
    changes = defaultdict[int, Counter[str]](Counter)
    for each in events:
        changes[each.subject_id][each.action] += 1
    open_questions = [run for run in runs if _was_changed(run, attempts.get(run.id, ()))]
    if not open_questions:
        return changes
    since = min(run.created_at for run in open_questions) - _AROUND
    until = max(run.updated_at for run in open_questions) + _AROUND
    many: list[Event] = read(connection, "events_of_many", since=since, until=until, limit=_MOST_EVENTS)
    if len(many) == _MOST_EVENTS:
        return None
    _count(changes, many, {run.id for run in open_questions})
    return changes


def _count(changes: Mapping[int, Counter[str]], many: Sequence[Event], ids: set[int]) -> None:
    for each in many:
        if each.action in _ACTIONS and isinstance(each.detail, dict):
            for run_id in ids & set(each.detail.get("ids") or ()):
                changes[run_id][each.action] += 1


def _was_changed(run: Run, attempts: Sequence[Attempt]) -> bool:
    last = attempts[-1] if attempts else None
    is_as_left = last is not None and (last.status, last.finished_at) == (run.status, run.finished_at)
    has_ended_alone = run.status in (Status.DEAD, Status.CANCELLED) and not is_as_left
    was_retried = last is not None and last.status in FINISHED and not is_as_left
    was_retried |= any(each.status in FINISHED for each in attempts[:-1])
    return run.cancel_requested_at is not None or has_ended_alone or was_retried


def _is_applied(event: Event) -> bool:
    return isinstance(event.detail, dict) and event.detail.get("applied") is True and "key" in event.detail


def _settlement(connection: Connection, event: Event) -> Settlement:
    found = read(connection, "effect", key=event.detail["key"])
    return Settlement(event, found[0] if found else None)
