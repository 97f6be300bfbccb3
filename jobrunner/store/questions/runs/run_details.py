"""One run, for an operator to look at. Expects a read transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, and_, bindparam, select

from jobrunner.lifecycle import CLAIMABLE
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import columns_of
from jobrunner.store.questions.explain.queue import limit_in_the_way, place_of
from jobrunner.store.queue.ticks.audit import BULK_ACTIONS
from jobrunner.store.queue.ticks.hosts import reported_names_of
from jobrunner.store.schema import job_attempts, job_events, job_parents, job_runs, written
from jobrunner.store.sql.dialect.values import BigKey
from jobrunner.store.sql.statement import Row

RUN_ID = bindparam("run", type_=BigKey)


@dataclass(frozen=True)
class Attempt:
    """One attempt that has ended."""

    sequence: int
    attempt: int
    worker: str
    host: str
    started_at: datetime
    finished_at: datetime
    outcome: str
    error_type: str | None
    error_class: str | None
    error: str | None
    traceback: str | None
    output: str | None
    exit_signal: int | None
    peak_memory_bytes: int | None
    processor_seconds: float | None


@dataclass(frozen=True)
class RunEvent:
    """What an operator or a tick did to a run."""

    at: datetime
    actor: str
    action: str
    detail: Any


@dataclass(frozen=True)
class Run:
    """All columns of a run, its attempts, and its events. ``waits_for`` is what it waits for besides its run_at."""

    id: int
    definition_id: int | None
    job_type: str
    payload: Any
    status: str
    priority: int
    run_at: datetime
    turn_at: datetime
    scheduled_for: datetime | None
    origin: str | None
    start_deadline_at: datetime | None
    concurrency_key: str | None
    gate: str
    has_dependants: int
    idempotency_key: str | None
    attempts: int
    max_attempts: int | None
    timeout: float | None
    traceparent: str | None
    locked_by: str | None
    host: str | None
    locked_until: datetime | None
    lease_token: str | None
    claimed_at: datetime | None
    started_at: datetime | None
    heartbeat_at: datetime | None
    cancel_requested_at: datetime | None
    failed_at: datetime | None
    finished_at: datetime | None
    told_at: datetime | None
    releases: int
    lease_expiries: int
    incompatible_at: datetime | None
    error_type: str | None
    last_error: str | None
    result: Any
    progress: Any
    output: str | None
    checkpoint: Any
    only_host: str | None
    created_at: datetime
    updated_at: datetime
    waits_for: str | None
    attempt_log: list[Attempt]
    event_log: list[RunEvent]


def show(connection: Connection, run_id: int) -> Run | None:
    """One run. None means that there is no such run."""
    of_id = {"run": run_id}
    asked = {name: connection.execute(statement, of_id).all() for name, statement in statements().items()}
    if not asked["run"]:
        return None
    own, many = ([RunEvent(**row._asdict()) for row in asked[name]] for name in ("events", "batches"))
    found = asked["run"][0]
    return Run(
        **found._asdict(),
        waits_for=_waits_for(connection, found),
        attempt_log=[Attempt(**row._asdict()) for row in asked["attempts"]],
        event_log=events_of(run_id, own, many),
    )


_CREATED_AT = select(job_runs.c.created_at).where(job_runs.c.id == RUN_ID)


def created_at(connection: Connection, run_id: int | None) -> datetime | None:
    """When a run was enqueued, by the clock of the database. None means that there is no such run."""
    found: datetime | None = connection.execute(_CREATED_AT, {"run": run_id}).scalar_one_or_none()
    return found


@cache
def statements() -> dict[str, Select[Any]]:
    """What ``show`` sends, by names, for a page that asks it together. The parameter is ``run``, an id.

    ``batches`` are the events of many runs at once, since this one was created.
    """
    runs, events = job_runs.c, job_events.c
    created_at = select(runs.created_at).where(runs.id == RUN_ID).scalar_subquery()
    listed = select(*columns_of(RunEvent, job_events))
    # In the words of the index.
    is_general = and_(events.run_id.is_(None), events.definition_id.is_(None))
    many = and_(is_general, events.action.in_(map(written, BULK_ACTIONS)), events.at >= created_at)
    attempts = select(*columns_of(Attempt, job_attempts)).where(job_attempts.c.run_id == RUN_ID)
    return {
        "run": select(*columns_of(Run, job_runs)).where(runs.id == RUN_ID),
        "attempts": attempts.order_by(job_attempts.c.sequence),
        "events": listed.where(events.run_id == RUN_ID).order_by(events.id),
        "batches": listed.where(many),
    }


def events_of(run_id: int, own: list[RunEvent], many: list[RunEvent]) -> list[RunEvent]:
    """The events of a run, and those of many runs at once that have this one among them."""
    batches = [each for each in many if isinstance(each.detail, dict) and run_id in each.detail.get("ids", ())]
    # Their ids are those of the other runs.
    bare = [
        replace(each, detail={name: each.detail[name] for name in each.detail if name != "ids"}) for each in batches
    ]
    return sorted([*own, *bare], key=lambda each: each.at)


def _waits_for(connection: Connection, run: Row) -> str | None:
    if not run.gate or run.status not in CLAIMABLE:
        return None
    if run.gate != "after":
        place = place_of(connection, run, reported_names_of(connection, run.job_type))
        limit = limit_in_the_way(connection, run, place)
        return None if limit is None else limit.sentence
    parents = select(job_parents.c.parent_id).where(job_parents.c.run_id == run.id).order_by(job_parents.c.parent_id)
    listed = ", ".join(map(str, connection.execute(parents.limit(10)).scalars()))
    return f"the end of run {listed}" if listed else None
