"""Which runs an operator means: the filter of the commands that list runs, and of those that change many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    and_,
    case,
    exists,
    false,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
    true,
    tuple_,
)

from jobrunner.errors import UsageError
from jobrunner.lifecycle import CLAIMABLE, Status
from jobrunner.store.schema import job_definitions, job_pauses, job_runs
from jobrunner.store.schema.views import job_claimable, job_gated, job_open_gates, job_stray_gates
from jobrunner.store.sql.dialect.values import later, now
from jobrunner.text import iso_instant, storable

_AFTER_PARENTS = "after"
"""The gate of a run that waits for the end of other runs."""


@dataclass(frozen=True)
class Selection:
    """The runs for which every field that is given holds; in a field with several values any of them is enough.

    ``since`` and ``until`` are about the time of a run: when it ended; if it is running, when its attempt started; and
    if it waits, when it is due. A timedelta means so long before the database's now. ``key`` is the idempotency key.
    ``error`` is a part of the error as it is shown ("ValueError: no such file"), in which letters are as good as
    capitals. ``waiting_for`` has names of ``WAITING_FOR``.
    """

    ids: tuple[int, ...] = ()
    statuses: tuple[Status, ...] = ()
    job_types: tuple[str, ...] = ()
    schedule: str | None = None
    since: datetime | timedelta | None = None
    until: datetime | timedelta | None = None
    key: str | None = None
    concurrency_key: str | None = None
    error: str | None = None
    waiting_for: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it means every run."""
        return not self.as_data()

    @property
    def possible_statuses(self) -> tuple[Status, ...]:
        """The statuses that its runs can have."""
        return tuple(
            status
            for status in Status
            if (not self.statuses or status in self.statuses) and (not self.waiting_for or status in CLAIMABLE)
        )

    def as_data(self) -> dict[str, Any]:
        """The fields that are given, as values for JSON: for the audit trail."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: _as_data(value) for name, value in given.items() if _is_given(value)}


def condition(selection: Selection) -> ColumnElement[bool]:
    """The condition that a row of ``job_runs`` is selected.

    Read the rows by their ids beside it: no partial index offers itself, because one may hold the whole queue. A
    schedule that does not exist selects nothing.
    """
    given = ((getattr(selection, name), of_field) for name, of_field in _CONDITIONS.items())
    return and_(true(), *(of_field(value) for value, of_field in given if _is_given(value)))


def _is_given(value: object) -> bool:
    return value is not None and value != ()


def stored_text(text: str) -> str:
    """A text that a database can hold, and that can be searched for. Raises UsageError."""
    if not text or storable(text) != text:
        raise UsageError(f"{text[:60]!r} cannot be searched for; give a text that is not empty, in UTF-8")
    return text


def instant(given: datetime | timedelta) -> ColumnElement[datetime]:
    """An instant, or so long before the database's now."""
    if isinstance(given, timedelta):
        return later(literal(-given.total_seconds()))
    return literal(given, job_runs.c.run_at.type)


def time_of_run() -> ColumnElement[datetime]:
    """When it ended, its attempt started, or it is due: what ``since`` and ``until`` are about."""
    columns = job_runs.c
    started_at = case((columns.lease_token.is_not(None), columns.started_at))
    return func.coalesce(columns.finished_at, started_at, columns.run_at, type_=columns.run_at.type)


def _is_due() -> ColumnElement[bool]:
    return job_runs.c.run_at <= now()


def _waits_for_time(status: Status) -> ColumnElement[bool]:
    columns = job_runs.c
    return and_(columns.status == status.value, columns.gate != _AFTER_PARENTS, not_(_is_due()))


def _has_closed_gate() -> ColumnElement[bool]:
    columns, gates = job_runs.c, job_open_gates.c
    gate = tuple_(columns.job_type, columns.gate)
    is_open = gate.in_(select(gates.job_type, gates.gate))
    # A tick takes these from there.
    is_stray = gate.in_(select(job_stray_gates.c.job_type, job_stray_gates.c.gate))
    return and_(columns.gate.not_in(["", _AFTER_PARENTS]), not_(is_open), not_(is_stray))


def _is_free() -> ColumnElement[bool]:
    """Whether a claim may take it, but for its gate."""
    # Numbers of rows: as conditions they would be planned as joins, which read the whole queue.
    count: ColumnElement[int] = literal_column("0", Integer)
    for view in (job_claimable, job_gated):
        count += select(func.count()).where(view.c.id == job_runs.c.id).correlate(job_runs).scalar_subquery()
    return count > 0


def _is_overdue() -> ColumnElement[bool]:
    return func.coalesce(job_runs.c.start_deadline_at <= now(), false())


def _is_paused() -> ColumnElement[bool]:
    pauses = job_pauses.c
    types = select(pauses.name).where(pauses.kind == "type")
    return or_(job_runs.c.job_type.in_(types), exists().where(pauses.kind == "all"))


def _waits_for_pause() -> ColumnElement[bool]:
    return and_(_is_due(), job_runs.c.gate != _AFTER_PARENTS, _is_paused())


def _is_at_its_turn() -> ColumnElement[bool]:
    return and_(_is_due(), job_runs.c.gate != _AFTER_PARENTS, not_(_is_paused()), not_(_has_closed_gate()))


def _waits_for_key() -> ColumnElement[bool]:
    has_key = job_runs.c.concurrency_key.is_not(None)
    return and_(_is_at_its_turn(), has_key, not_(_is_overdue()), not_(_is_free()))


WAITING_FOR: dict[str, Callable[[], ColumnElement[bool]]] = {
    "time": lambda: _waits_for_time(Status.QUEUED),
    "retry": lambda: _waits_for_time(Status.FAILED),
    "parent": lambda: job_runs.c.gate == _AFTER_PARENTS,
    "pause": _waits_for_pause,
    "limit": lambda: and_(_is_due(), not_(_is_paused()), _has_closed_gate()),
    "key": _waits_for_key,
    "tick": lambda: _is_at_its_turn() & _is_free(),
}
"""What a run can wait for: its time, the time of its next try, the end of another run, the end of the pause of its type
or of everything, a limit over all hosts, another run with its concurrency key, or only for a tick."""


def _has_status(statuses: Iterable[Status]) -> ColumnElement[bool]:
    # In these words it is no condition of a partial index.
    return func.coalesce(job_runs.c.status, literal_column("''")).in_([each.value for each in statuses])


def _is_of_schedule(name: str) -> ColumnElement[bool]:
    named = select(job_definitions.c.id).where(job_definitions.c.name == name)
    return job_runs.c.definition_id == named.scalar_subquery()


def _has_in_error(part: str) -> ColumnElement[bool]:
    columns = job_runs.c
    shown = func.coalesce(columns.error_type, "").concat(": ").concat(func.coalesce(columns.last_error, ""))
    return columns.last_error.is_not(None) & shown.icontains(part, autoescape=True)


def _waits_for(names: Iterable[str]) -> ColumnElement[bool]:
    return _has_status(CLAIMABLE) & or_(*(WAITING_FOR[name]() for name in names))


_CONDITIONS: dict[str, Callable[[Any], ColumnElement[bool]]] = {
    "ids": job_runs.c.id.in_,
    "statuses": _has_status,
    "job_types": job_runs.c.job_type.in_,
    "schedule": _is_of_schedule,
    "since": lambda at: time_of_run() >= instant(at),
    "until": lambda at: time_of_run() <= instant(at),
    "key": lambda key: job_runs.c.idempotency_key == key,
    "concurrency_key": lambda key: job_runs.c.concurrency_key == key,
    "error": _has_in_error,
    "waiting_for": _waits_for,
}


def _as_data(value: Any) -> Any:
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    return iso_instant(value) if isinstance(value, datetime) else value
