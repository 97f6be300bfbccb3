"""Which runs of a definition block its next slot, and how the overlap policy "replace" cancels them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from jobrunner.lifecycle import Event, Status, target
from jobrunner.model import TICK
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.locks import wait_briefly_for_locks
from jobrunner.store.queue.ticks import audit, tallies
from jobrunner.store.sql.statement import Prepared, Row


def replace_older(
    connection: Connection, replacements: Sequence[tuple[int, int]], at: datetime
) -> dict[int, tuple[int, ...]]:
    """Cancel older waiting runs, and request the cancellation of older running ones. Returns their ids by definition.

    ``replacements`` are definitions, whose rows are locked, each with its new run, which stays.
    """
    if not replacements:
        return {}
    new_runs = dict(replacements)
    given = [{"definition_id": definition_id, "id": run_id} for definition_id, run_id in replacements]
    # A tick does not wait until an operator at the database ends a transaction.
    wait_briefly_for_locks(connection)
    found = connection.execute(Prepared("overlap.older"), {"given": given}).all()
    blocked = {run.definition_id for run in found if not run.only_waits}
    older = [run for run in found if run.definition_id in blocked]
    replaced: dict[int, tuple[int, ...]] = defaultdict(tuple)
    for run in older:
        replaced[run.definition_id] += (run.id,)
    waiting = [{"id": run.id} for run in older if run.status != Status.RUNNING]
    at_work = [{"id": run.id} for run in older if run.status == Status.RUNNING and run.cancel_requested_at is None]
    if waiting:
        connection.execute(Prepared("overlap.cancel"), {"given": waiting, "at": at})
        cancelled = [(run.job_type, target(Event.CANCEL, run.status)) for run in older if run.status != Status.RUNNING]
        tallies.add_ends(connection, cancelled)
    if at_work:
        connection.execute(Prepared("overlap.request_cancel"), {"given": at_work, "at": at})
    audit.write(connection, [_event(run, new_runs[run.definition_id], at) for run in older])
    return replaced


def _event(run: Row, new_run: int, at: datetime) -> dict[str, Any]:
    detail = {"from": run.status, "by": new_run}
    return audit.event(TICK, "replace", run.definition_id, detail, at, run_id=run.id)
