"""The runs of slots, and the statement that inserts them. Expects a write transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from jobrunner.jobs.payload import encode_payload
from jobrunner.model import Definition, Origin
from jobrunner.schedules.slot_plan import jitter_offset
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.sql.statement import Prepared


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
            only_host=definition.host,
        )
        for slot in slots
    ]


def insert(connection: Connection, runs: Sequence[NewRun]) -> dict[tuple[int, datetime], int]:
    """Insert runs in this order. Returns their ids by definition and slot, without slots that have a run already."""
    if not runs:
        return {}
    given = {"given": [run.columns() for run in runs]}
    inserted = connection.execute(Prepared("enqueue.insert_of_slots"), given)
    return {(row.definition_id, row.scheduled_for): row.id for row in inserted}
