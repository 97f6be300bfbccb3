"""The errors of dead and failing runs, grouped. Expects a read transaction."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from typing import NamedTuple

from sqlalchemy import func, select

from jobrunner import clock
from jobrunner.lifecycle import Status
from jobrunner.store import search
from jobrunner.store.connection import Connection
from jobrunner.store.dialect.rows import rows
from jobrunner.store.schema import job_runs
from jobrunner.store.search import Found
from jobrunner.store.selection import Selection
from jobrunner.store.statement import Row

STATUSES = (Status.DEAD, Status.FAILED)
_MOST_RUNS = 20_000
_AT_ONCE = 1000
_MOST_ALIKE = 3
# UUIDs, other numbers in hexadecimal of eight digits or more, and decimal numbers.
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_VARIABLE = re.compile(rf"(?i)\b{_UUID}\b|\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{{8,}}\b|\d+(?:\.\d+)?")


@dataclass(frozen=True)
class ErrorGroup:
    """Runs of one type with the same error.

    ``error`` is the first line of its text. If more than three texts differ only in numbers and ids, they are one
    group, and # stands for each number. ``sample_id`` is the newest run.
    """

    job_type: str
    error_type: str | None
    error: str
    count: int
    dead: int
    failing: int
    first_at: datetime
    last_at: datetime
    sample_id: int


@dataclass(frozen=True)
class Errors:
    """The groups, the largest first, and of how many runs.

    ``searched_back_to`` is set if not all runs were read: those created before may have further errors.
    """

    groups: list[ErrorGroup]
    runs: int
    searched_back_to: datetime | None


class _Key(NamedTuple):
    job_type: str
    error_type: str | None
    error: str


def errors(connection: Connection, selection: Selection, *, seconds: float = search.SECONDS) -> Errors:
    """The errors of the selected runs that are dead or failing. Raises NotFoundError for an unknown schedule."""
    begin = clock.elapsed()
    groups: dict[_Key, ErrorGroup] = {}
    count, unread = 0, list[datetime]()
    # One by one: the dead ones are in an index, the failing ones among all that waits. Each has half of the time, of
    # which half is for the search.
    for number, status in enumerate(STATUSES, start=1):
        of_status, is_first = replace(selection, statuses=(status,)), number == 1
        found = search.find(connection, of_status, _MOST_RUNS, seconds=seconds / 4, is_first=is_first)
        read, back_to = _read(connection, found, begin + seconds * number / 2)
        count += len(read)
        unread += [] if back_to is None else [back_to]
        for row in read:
            key = _Key(row.job_type, row.error_type, (row.last_error or "").strip().partition("\n")[0])
            _add(groups, key, _group_of(row, key))
    merged = sorted(_merged(groups), key=lambda group: (-group.count, -group.sample_id))
    return Errors(merged, count, max(unread, default=None))


def _read(connection: Connection, found: Found, until: float) -> tuple[list[Row], datetime | None]:
    """The rows of what was found, newest first, and how far back they reach if they are not all."""
    columns, given = job_runs.c, rows("given", {"id": job_runs.c.id.type})
    at = func.coalesce(columns.finished_at, columns.failed_at, columns.updated_at, type_=columns.updated_at.type)
    names = (columns.id, columns.job_type, columns.status, columns.error_type, columns.last_error, columns.created_at)
    statement = select(*names, at.label("at")).join_from(given, job_runs, columns.id == given.c.id)
    read: list[Row] = []
    for index in range(0, len(found.ids), _AT_ONCE):
        if read and clock.elapsed() > until:
            return read, min(read, key=_id).created_at
        part = [{"id": each} for each in found.ids[index : index + _AT_ONCE]]
        read += connection.execute(statement, {"given": part})
    if found.searched_back_to is None and found.next_before is not None:
        return read, min(read, key=_id).created_at
    return read, found.searched_back_to


def _id(row: Row) -> int:
    run_id: int = row.id
    return run_id


def _group_of(row: Row, key: _Key) -> ErrorGroup:
    is_dead = row.status == Status.DEAD
    return ErrorGroup(*key, 1, int(is_dead), int(not is_dead), row.at, row.at, row.id)


def _add(groups: dict[_Key, ErrorGroup], key: _Key, more: ErrorGroup) -> None:
    known = groups.get(key)
    groups[key] = more if known is None else _sum(known, more)


def _sum(one: ErrorGroup, other: ErrorGroup) -> ErrorGroup:
    return replace(
        one,
        count=one.count + other.count,
        dead=one.dead + other.dead,
        failing=one.failing + other.failing,
        first_at=min(one.first_at, other.first_at),
        last_at=max(one.last_at, other.last_at),
        sample_id=max(one.sample_id, other.sample_id),
    )


def _merged(groups: dict[_Key, ErrorGroup]) -> Iterable[ErrorGroup]:
    """The groups, with those made one that differ only in numbers and ids, unless they are few: 404 is not 500."""
    alike: defaultdict[_Key, list[ErrorGroup]] = defaultdict(list)
    for key, group in groups.items():
        alike[key._replace(error=_VARIABLE.sub("#", key.error))].append(group)
    for key, same in alike.items():
        if len(same) > _MOST_ALIKE:
            yield replace(reduce(_sum, same), error=key.error)
        else:
            yield from same
