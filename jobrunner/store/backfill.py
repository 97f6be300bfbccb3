"""Runs that a person asks of a definition: one now, or those of slots that are past.

Both wait behind what the definition has at work or waiting, as its overlap policy says of runs at the same time; it is
never a reason to leave them out. Each is the body of one write transaction, under the definition's row lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping, literal_column, or_, select, update

from jobrunner.errors import JobrunnerError, UsageError
from jobrunner.jobs.payload import checked_text
from jobrunner.lifecycle import Status
from jobrunner.model import Definition, Origin
from jobrunner.names import check_job_type
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.store import admin, definitions, enqueue, enqueue_many
from jobrunner.store.audit import event, record
from jobrunner.store.enqueue_sql import Enqueued, NewRun
from jobrunner.store.schedules import definition_of
from jobrunner.store.schema import job_runs
from jobrunner.text import iso_instant

_INSTANT_BEFORE = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Span:
    """The slots that are asked for: from ``begin`` to ``end``, both included, ``most`` of them at most.

    ``again``: also those that have their run, and those of which that is ``unknown``, since they are older than
    ``kept``, the time for which runs are kept at least.
    """

    begin: datetime
    end: datetime
    most: int
    kept: timedelta
    again: bool = False


@dataclass(frozen=True, slots=True)
class Filled:
    """What became of one slot. ``run_id``: the run made, or the one that it has already; None in a dry run.

    "retried": its run was cancelled, and is queued again.
    """

    slot: datetime
    answer: Literal["made", "retried", "has a run", "unknown", "dropped"]
    run_id: int | None = None


def trigger(connection: Connection, name: str, payload_limit: int, actor: str) -> Enqueued:
    """One run, due now, that stands for no slot. Raises NotFoundError, and QueueFull as ``enqueue.enqueue``."""
    row = definitions.lock(connection, name)
    definition = definition_of(row)
    enqueued = enqueue.enqueue(connection, _run(definition, payload_limit, origin="trigger"))
    detail = {"dropped": True} if enqueued.dropped else {}
    record(connection, [event(actor, "trigger schedule", definition.id, detail, row["now"], enqueued.id)])
    return enqueued


def backfill(
    connection: Connection, name: str, span: Span, payload_limit: int, actor: str, *, dry_run: bool = False
) -> list[Filled]:
    """A run for each slot of the span that has none, or whose run was cancelled. Asked twice, the second time none.

    Raises NotFoundError, UsageError for slots to come or too many, and QueueFull as any enqueue; then nothing was
    written.
    """
    row = definitions.lock(connection, name)
    definition, at = definition_of(row), row["now"]
    new = _run(definition, payload_limit)
    slots = _slots(definition, span, at)
    found = _decided(slots, _runs_of(connection, definition.id, slots), span, at)
    if dry_run:
        return [filled for filled, _ in found]
    made = [(filled.slot, origin) for filled, origin in found if origin is not None]
    listed = [{"scheduled_for": slot, "origin": origin} for slot, origin in made]
    ids = iter(enqueue_many.enqueue(connection, new, listed, None) if listed else ())
    answers = [filled if origin is None else _made(filled.slot, next(ids)) for filled, origin in found]
    for filled in answers:
        if filled.answer == "retried" and filled.run_id is not None:
            _retry(connection, filled.run_id, actor)
    if any(filled.answer in ("made", "retried", "dropped") for filled in answers):
        counts = Counter(filled.answer.replace(" ", "_") for filled in answers)
        detail: dict[str, Any] = {"from": span.begin, "to": span.end, "again": span.again, **counts}
        record(connection, [event(actor, "backfill schedule", definition.id, detail, at)])
    return answers


def _retry(connection: Connection, run_id: int, actor: str) -> None:
    admin.retry(connection, run_id, actor)
    # By its new origin it is a person's, in whose place no slot puts its own run.
    origin: Origin = "backfill"
    connection.execute(update(job_runs).where(job_runs.c.id == run_id).values(origin=origin))


def _run(definition: Definition, payload_limit: int, origin: Origin | None = None) -> NewRun:
    try:
        return NewRun(
            # Whoever wrote the row by hand was not checked by anybody yet.
            job_type=check_job_type(definition.job_type),
            payload=checked_text(definition.payload, payload_limit),
            definition_id=definition.id,
            origin=origin,
            concurrency_key=definition.concurrency_key,
        )
    except UsageError as error:
        raise _unreadable(definition, error) from None


def _unreadable(definition: Definition, error: UsageError) -> JobrunnerError:
    return JobrunnerError(f"the schedule {definition.name!r} cannot be read: {error}; put it right with schedule edit")


def _slots(definition: Definition, span: Span, at: datetime) -> Sequence[datetime]:
    if span.end > at:
        raise UsageError(f"--to lies in the future; it is {iso_instant(at)} now, and slots to come need no backfill")
    try:
        recurrence = Recurrence.parse(definition.schedule, definition.timezone)
    except UsageError as error:
        raise _unreadable(definition, error) from None
    after = span.begin - _INSTANT_BEFORE
    ends_at = definition.policy.ends_at
    until = span.end if ends_at is None else min(span.end, ends_at)
    count = recurrence.latest(after, until).count
    if count > span.most:
        raise UsageError(
            f"these are {count} slots, more than {span.most} at once;"
            f" choose a shorter stretch, or say --most {count} if you mean it"
        )
    return list(recurrence.slots(after, until))


def _runs_of(connection: Connection, definition_id: int, slots: Sequence[datetime]) -> Mapping[datetime, RowMapping]:
    if not slots:
        return {}
    columns = job_runs.c
    # As the index on slots says it: those made again are in front of a run that is not.
    is_first = or_(columns.origin.is_(None), columns.origin != literal_column("'again'"))
    # By the unique index there is one of each slot.
    statement = select(columns.scheduled_for, columns.id, columns.status).where(
        columns.definition_id == definition_id, columns.scheduled_for.between(slots[0], slots[-1]), is_first
    )
    return {row["scheduled_for"]: row for row in connection.execute(statement).mappings()}


def _decided(
    slots: Sequence[datetime], has_run: Mapping[datetime, RowMapping], span: Span, at: datetime
) -> list[tuple[Filled, Origin | None]]:
    """What is to become of each slot, and as what it is made, if it is."""
    found: list[tuple[Filled, Origin | None]] = []
    for slot in slots:
        if slot in has_run and span.again:
            found.append((Filled(slot, "made"), "again"))
        elif slot in has_run:
            is_cancelled = has_run[slot]["status"] == Status.CANCELLED
            found.append((Filled(slot, "retried" if is_cancelled else "has a run", has_run[slot]["id"]), None))
        elif slot < at - span.kept and not span.again:
            found.append((Filled(slot, "unknown"), None))
        else:
            found.append((Filled(slot, "made"), "backfill"))
    return found


def _made(slot: datetime, enqueued: Enqueued) -> Filled:
    return Filled(slot, "dropped" if enqueued.dropped else "made", enqueued.id)
