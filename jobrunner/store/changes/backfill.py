"""Runs of a definition that an operator asks for: one run now, or runs of past slots.

The overlap policy may let these runs wait for other runs of the definition, but it never skips one of them. Every
function but ``preview`` is the body of one write transaction, and locks the definition's row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, ClassVar, Literal, TypeAlias

from sqlalchemy import literal_column, or_, select, update

from jobrunner.errors import JobrunnerError, UsageError
from jobrunner.jobs.payload import checked_text
from jobrunner.lifecycle import Status
from jobrunner.model import Actor, Definition, Origin
from jobrunner.names import check_job_type
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.store.changes import one_run
from jobrunner.store.drivers.connection import Connection, RowMapping
from jobrunner.store.questions import definitions
from jobrunner.store.queue import enqueue, enqueue_many
from jobrunner.store.queue.enqueue_sql import Enqueued, NewRun
from jobrunner.store.queue.ticks.audit import event, record
from jobrunner.store.schema import job_runs
from jobrunner.store.sql.statement import Prepared
from jobrunner.store.timetable.schedules import definition_of
from jobrunner.text import iso_instant

_Decided: TypeAlias = Literal["made", "would be made", "retried", "would be retried", "has a run", "unknown", "dropped"]
_AT_ONCE = 1000
_WOULD_BE: Mapping[_Decided, _Decided] = {"made": "would be made", "retried": "would be retried"}
_COUNTED = 10
"""So many times the limit of a span its slots are counted, for the message that refuses it."""
_INSTANT_BEFORE = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """The requested slots: from ``begin`` to ``end``, both included, ``limit`` of them at most.

    Runs older than ``retention`` may have been deleted, so whether such a slot had a run is unknown. ``again``: make
    runs also for these slots, and for slots that have a run.
    """

    begin: datetime
    end: datetime
    limit: int
    retention: timedelta
    again: bool = False


class TooManySlots(UsageError):
    """The span has more slots than its limit. ``count`` is how many, as far as they were counted."""

    def __init__(self, text: str, count: int) -> None:
        super().__init__(text)
        self.count = count


@dataclass(frozen=True, slots=True)
class Filled:
    """The result for one slot. ``run_id`` is its run: the new one, except in a dry run, or the one that it had.

    "retried": its run was cancelled, and is queued again.
    """

    scheduled_for: datetime
    answer: _Decided
    run_id: int | None = None
    COLUMNS: ClassVar = "slot=scheduled_for, answer, run=run_id"


def trigger(connection: Connection, name: str, payload_limit: int, actor: Actor) -> list[Enqueued]:
    """Make one run, due now, of no slot; if a slot gets a run on every host, one for each host.

    Raises NotFoundError, and QueueFull like ``enqueue.enqueue``; and UsageError if no host has the type yet.
    """
    row = definitions.lock(connection, name)
    rows = definitions.lock_of_hosts(connection, [row]) if row.is_template else [row]
    if not rows:
        raise UsageError(f"no host has the type {row.job_type!r} of the schedule {name!r} yet, by the ticks of a day")
    made, events = [], []
    for each in rows:
        enqueued = enqueue.enqueue(connection, _run(definition_of(vars(each)), payload_limit, origin="trigger"))
        detail = {"dropped": True} if enqueued.dropped else {}
        events.append(event(actor, "trigger schedule", each.id, detail, each.now, enqueued.id))
        made.append(enqueued)
    record(connection, events)
    return made


def backfill(
    connection: Connection,
    name: str,
    span: Span,
    payload_limit: int,
    actor: Actor,
    *,
    progress: Callable[[int, int], None] = lambda _, __: None,
) -> list[Filled]:
    """Make a run for each slot of the span that has no run, and retry its run if that was cancelled.

    A second call with the same span makes nothing. Raises NotFoundError, UsageError for future slots or too many slots,
    and QueueFull like every enqueue. After an error nothing is written. ``progress`` is called with how many more runs
    are made, and how many are to be made in all.
    """
    row = definitions.lock(connection, name)
    definition, at = definition_of(vars(row)), row.now
    _check_has_slots(connection, definition)
    new = _run(definition, payload_limit)
    slots = _slots(definition, span, at)
    found = _decide(slots, _runs_of(connection, definition.id, slots), span, at)
    made = [(filled.scheduled_for, origin) for filled, origin in found if origin is not None]
    listed = [{"scheduled_for": slot, "origin": origin} for slot, origin in made]
    ids: list[Enqueued] = []
    for begin in range(0, len(listed), _AT_ONCE):
        ids += enqueue_many.enqueue(connection, new, listed[begin : begin + _AT_ONCE], None)
        progress(len(ids) - begin, len(listed))
    enqueued = iter(ids)
    answers = [filled if origin is None else _made(filled.scheduled_for, next(enqueued)) for filled, origin in found]
    for filled in answers:
        if filled.answer == "retried" and filled.run_id is not None:
            _retry(connection, filled.run_id, actor)
    if any(filled.answer in ("made", "retried", "dropped") for filled in answers):
        counts = Counter(filled.answer.replace(" ", "_") for filled in answers)
        detail: dict[str, Any] = {"from": span.begin, "to": span.end, "again": span.again, **counts}
        record(connection, [event(actor, "backfill schedule", definition.id, detail, at)])
    return answers


def preview(connection: Connection, name: str, span: Span, payload_limit: int) -> list[Filled]:
    """What ``backfill`` would make. Expects a read transaction, and locks nothing. Raises the same errors."""
    definition, at, _ = definitions.current(connection, name)
    _check_has_slots(connection, definition)
    _run(definition, payload_limit)
    slots = _slots(definition, span, at)
    found = [filled for filled, _ in _decide(slots, _runs_of(connection, definition.id, slots), span, at)]
    return [replace(each, answer=_WOULD_BE.get(each.answer, each.answer)) for each in found]


def _check_has_slots(connection: Connection, definition: Definition) -> None:
    """Raise UsageError for a template: its slots are those of its hosts."""
    if definition.is_template:
        listed = connection.execute(Prepared("definitions.names_of_hosts"), {"template": definition.name}).scalars()
        names = ", ".join(map(repr, listed)) or "none yet"
        raise UsageError(
            f"each host has slots of its own of the schedule {definition.name!r}; take one of these: {names}"
        )


def _retry(connection: Connection, run_id: int, actor: Actor) -> None:
    one_run.retry(connection, run_id, actor)
    # This origin marks the run as requested by an operator, so the overlap policy "replace" does not cancel it.
    origin: Origin = "backfill"
    connection.execute(update(job_runs).where(job_runs.c.id == run_id).values(origin=origin))


def _run(definition: Definition, payload_limit: int, origin: Origin | None = None) -> NewRun:
    try:
        return NewRun(
            # Somebody may have written the row by hand, without any check.
            job_type=check_job_type(definition.job_type),
            payload=checked_text(definition.payload, payload_limit),
            definition_id=definition.id,
            origin=origin,
            concurrency_key=definition.concurrency_key,
            only_host=definition.host,
        )
    except UsageError as error:
        raise _unreadable(definition, error) from None


def _unreadable(definition: Definition, error: UsageError) -> JobrunnerError:
    return JobrunnerError(f"the schedule {definition.name!r} cannot be read: {error}; put it right with schedule edit")


def _slots(definition: Definition, span: Span, at: datetime) -> Sequence[datetime]:
    if span.end > at:
        raise UsageError(
            f"the last slot lies in the future; it is {iso_instant(at)} now, and future slots need no backfill"
        )
    try:
        recurrence = Recurrence.parse(definition.schedule, definition.timezone)
    except UsageError as error:
        raise _unreadable(definition, error) from None
    after = span.begin - _INSTANT_BEFORE
    ends_at = definition.policy.ends_at
    until = span.end if ends_at is None else min(span.end, ends_at)
    slots = list(islice(recurrence.slots(after, until), span.limit + 1))
    if len(slots) > span.limit:
        # Not counted to the end: a span of many years would take seconds, with the row of the schedule locked.
        most = _COUNTED * span.limit
        count = len(slots) + sum(1 for _ in islice(recurrence.slots(slots[-1], until), most))
        words = f"more than {most}" if count > most else str(count)
        raise TooManySlots(f"these are {words} slots, more than {span.limit} at once; choose a shorter span", count)
    return slots


def _runs_of(connection: Connection, definition_id: int, slots: Sequence[datetime]) -> Mapping[datetime, RowMapping]:
    if not slots:
        return {}
    columns = job_runs.c
    # The condition of the unique index on slots: without runs that were made again, a slot has one run.
    is_first = or_(columns.origin.is_(None), columns.origin != literal_column("'again'"))
    statement = select(columns.scheduled_for, columns.id, columns.status).where(
        columns.definition_id == definition_id, columns.scheduled_for.between(slots[0], slots[-1]), is_first
    )
    return {row["scheduled_for"]: row for row in connection.execute(statement).mappings()}


def _decide(
    slots: Sequence[datetime], has_run: Mapping[datetime, RowMapping], span: Span, at: datetime
) -> list[tuple[Filled, Origin | None]]:
    """The result for each slot, and the origin of its new run; None if it gets no new run."""
    found: list[tuple[Filled, Origin | None]] = []
    for slot in slots:
        if slot in has_run and span.again:
            found.append((Filled(slot, "made"), "again"))
        elif slot in has_run:
            is_cancelled = has_run[slot]["status"] == Status.CANCELLED
            found.append((Filled(slot, "retried" if is_cancelled else "has a run", has_run[slot]["id"]), None))
        elif slot < at - span.retention and not span.again:
            found.append((Filled(slot, "unknown"), None))
        else:
            found.append((Filled(slot, "made"), "backfill"))
    return found


def _made(slot: datetime, enqueued: Enqueued) -> Filled:
    return Filled(slot, "dropped" if enqueued.dropped else "made", enqueued.id)
