"""The runs of slots, and the statement that inserts them. Expects a write transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.sql.dml import ReturningInsert

from jobrunner.jobs.payload import encode_payload
from jobrunner.model import Definition, Origin
from jobrunner.schedules.slot_plan import jitter_offset
from jobrunner.store.dialect.rows import rows
from jobrunner.store.enqueue_sql import NewRun, insert_statement, type_of
from jobrunner.store.schema import job_runs


def of_slots(definition: Definition, slots: Sequence[datetime], origin: Origin) -> list[NewRun]:
    """One run for each of these slots."""
    if not slots:
        return []
    payload, key, offset = encode_payload(definition.payload), definition.concurrency_key, jitter_offset(definition)
    start_deadline = definition.policy.start_deadline
    return [
        NewRun(
            job_type=definition.job_type,
            payload=payload,
            run_at=slot + offset,
            definition_id=definition.id,
            scheduled_for=slot,
            origin=origin,
            start_deadline_at=None if start_deadline is None else slot + offset + start_deadline,
            concurrency_key=key,
        )
        for slot in slots
    ]


def insert(connection: Connection, runs: Sequence[NewRun]) -> dict[tuple[int, datetime], int]:
    """Insert runs in this order. Returns their ids by definition and slot, without slots that have a run already."""
    if not runs:
        return {}
    given = {"given": [run.columns() for run in runs]}
    inserted = connection.execute(_insert_statement(connection.dialect.name), given)
    return {(row.definition_id, row.scheduled_for): row.id for row in inserted}


@lru_cache(maxsize=2)
def _insert_statement(dialect_name: str) -> ReturningInsert[Any]:
    names = (
        "definition_id", "job_type", "payload", "priority", "run_at", "scheduled_for", "origin", "start_deadline_at",
        "concurrency_key",
    )  # fmt: skip
    given = rows("given", {name: type_of(name) for name in names})
    statement = insert_statement({name: given.c[name] for name in names}, skip_existing=dialect_name)
    return statement.returning(job_runs.c.definition_id, job_runs.c.scheduled_for)
