"""The errors of dead and failing runs, grouped. Expects a read transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Select, case, func, literal_column, select

from jobrunner import clock
from jobrunner.lifecycle import Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.planner import read_by_indexes
from jobrunner.store.questions import search
from jobrunner.store.questions.selection import Selection, condition, instant
from jobrunner.store.schema import job_runs, written
from jobrunner.store.sql.dialect.counting import first_line
from jobrunner.store.sql.statement import Row
from jobrunner.text import without_numbers

STATUSES = (Status.DEAD, Status.FAILED)
_FIRST_LOOK = 2000
_GROWTH = 4
"""A look reads so many runs, and the next one so many times more."""
_LOOKS = 5
_MOST_ALIKE = 3


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
    COLUMNS: ClassVar = "runs=count, dead, type=job_type, first=first_at, last=last_at, sample=sample_id, error=said"
    said = property(lambda self: self.error if self.error_type is None else f"{self.error_type}: {self.error}")


@dataclass(frozen=True)
class Errors:
    """The groups, the largest first, and of how many runs.

    ``searched_back_to`` is set if not all runs were read: those that failed before may have further errors.
    """

    groups: list[ErrorGroup]
    runs: int
    searched_back_to: datetime | None


_Key = tuple[str, str | None, str]
"""The type, the type of the error, and its text."""


def errors(
    connection: Connection, selection: Selection, *, seconds: float = search.SECONDS, looks: int = _LOOKS
) -> Errors:
    """The errors of the selected runs that are dead or failing. Raises NotFoundError for an unknown schedule.

    It reads the newest errors of each status, in at most so many ``looks``, and stops where the next look would take
    longer than half of the time. A look reads a part of an index, so that its time does not grow with the runs.
    """
    search.check_schedule(connection, selection)
    read_by_indexes(connection)
    groups, unread = list[ErrorGroup](), list[datetime]()
    for status in STATUSES:
        of_status = replace(selection, statuses=(status,))
        found, back_to = _look_back(connection, of_status, seconds / len(STATUSES), looks)
        groups += found
        unread += [] if back_to is None else [back_to]
    merged = sorted(_merged(groups), key=lambda group: (-group.count, -group.sample_id))
    return Errors(merged, sum(group.count for group in merged), max(unread, default=None))


def _look_back(
    connection: Connection, selection: Selection, seconds: float, looks: int
) -> tuple[list[ErrorGroup], datetime | None]:
    """The errors of runs in one status, and how far back it came, or None if it has read all of them."""
    groups = list[ErrorGroup]()
    begin = last = clock.elapsed()
    size, read = _FIRST_LOOK, 0
    for number in range(looks):
        found = connection.execute(_look(selection, size, read)).all()
        groups += (_group_of(row, selection.statuses[0]) for row in found if row.job_type is not None)
        count = sum(row.runs for row in found)
        if count < size:
            return groups, None
        now, read = clock.elapsed(), read + count
        size *= _GROWTH
        if number + 1 == looks or now - begin + _GROWTH * (now - last) > seconds:
            break
        last = now
    return groups, min(row.first_at for row in found)


def _look(selection: Selection, size: int, skipped: int) -> Select[Any]:
    """The errors of some runs by their first lines. Those that are not selected are one group, without a type."""
    columns, ended_at, (status,) = job_runs.c, job_runs.c.finished_at, selection.statuses
    at = ended_at if status is Status.DEAD else columns.failed_at
    # In the words of the two indexes.
    of_status = [columns.status == written(status)]
    if status is Status.DEAD:
        of_status += [ended_at.is_not(None)]
        of_status += [] if selection.since is None else [ended_at >= instant(selection.since)]
        of_status += [] if selection.until is None else [ended_at <= instant(selection.until)]
    part = (
        select(
            columns.id,
            columns.job_type,
            columns.error_type,
            columns.last_error,
            func.coalesce(at, columns.updated_at, type_=columns.updated_at.type).label("at"),
            case((condition(selection), 1), else_=0).label("is_selected"),
        )
        .where(*of_status)
        .order_by(at.desc())
        .limit(size)
        .offset(skipped)
        .subquery("part")
        .c
    )
    line = first_line(func.coalesce(part.last_error, literal_column("''")))
    shown = {"job_type": part.job_type, "error_type": part.error_type, "error": line}
    grouped = [case((part.is_selected == 1, value)).label(name) for name, value in shown.items()]
    found: list[Any] = [
        func.count().label("runs"),
        func.min(part.at).label("first_at"),
        func.max(part.at).label("last_at"),
        func.max(part.id).label("sample_id"),
    ]
    # By their places: a server takes an expression with parameters for another one each time.
    return select(*grouped, *found).group_by(*(literal_column(str(place)) for place in (1, 2, 3)))


def _group_of(row: Row, status: Status) -> ErrorGroup:
    dead, failing = (row.runs, 0) if status is Status.DEAD else (0, row.runs)
    of_error = (row.job_type, row.error_type, row.error)
    return ErrorGroup(*of_error, row.runs, dead, failing, row.first_at, row.last_at, row.sample_id)


def _merged(groups: Iterable[ErrorGroup]) -> Iterator[ErrorGroup]:
    """The groups, with those made one that differ only in numbers and ids, unless they are few: 404 is not 500."""
    alike: defaultdict[_Key, list[ErrorGroup]] = defaultdict(list)
    for group in groups:
        alike[group.job_type, group.error_type, without_numbers(group.error)].append(group)
    for (_, _, error), similar in alike.items():
        # Of dead and of failing runs, and of several looks.
        same: defaultdict[str, list[ErrorGroup]] = defaultdict(list)
        for group in similar:
            same[group.error].append(group)
        if len(same) > _MOST_ALIKE:
            yield _sum(similar, error)
        else:
            yield from (_sum(each, text) for text, each in same.items())


def _sum(groups: list[ErrorGroup], error: str) -> ErrorGroup:
    return replace(
        groups[0],
        error=error,
        count=sum(each.count for each in groups),
        dead=sum(each.dead for each in groups),
        failing=sum(each.failing for each in groups),
        first_at=min(each.first_at for each in groups),
        last_at=max(each.last_at for each in groups),
        sample_id=max(each.sample_id for each in groups),
    )
