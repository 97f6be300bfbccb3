"""Overlap `replace`: the runs of a definition that a newer one takes the place of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Select, Update, bindparam, select, update

from jobrunner.lifecycle import Event, Status, target
from jobrunner.store import trail
from jobrunner.store.dialect import BigKey, rows
from jobrunner.store.schema import IS_UNFINISHED, job_runs


def replace_older(
    connection: Connection, replacements: Sequence[tuple[int, int]], at: datetime
) -> dict[int, tuple[int, ...]]:
    """Cancel what waits, and ask the owner of what is at work to stop it; the ids of both, by definition.

    ``replacements`` names definitions, whose rows are held, each with its new run, which stays.
    """
    if not replacements:
        return {}
    by = dict(replacements)
    given = [{"definition_id": definition_id, "id": run_id} for definition_id, run_id in replacements]
    older = connection.execute(_older(), {"given": given}).all()
    replaced: dict[int, tuple[int, ...]] = defaultdict(tuple)
    for run in older:
        replaced[run.definition_id] += (run.id,)
    waiting = [{"id": run.id} for run in older if run.status != Status.RUNNING]
    at_work = [{"id": run.id} for run in older if run.status == Status.RUNNING and run.cancel_requested_at is None]
    if waiting:
        connection.execute(_cancelling(), {"given": waiting, "at": at})
    if at_work:
        connection.execute(_asking(), {"given": at_work, "at": at})
    trail.write(connection, [_told(run, by[run.definition_id], at) for run in older])
    return replaced


def _told(run: Row[Any], by: int, at: datetime) -> dict[str, Any]:
    return trail.event("tick", "replace", run.definition_id, {"from": run.status, "by": by}, at, run_id=run.id)


@cache
def _older() -> Select[Any]:
    columns = job_runs.c
    given = rows("given", {"definition_id": BigKey, "id": BigKey})
    older = select(columns.id, columns.definition_id, columns.status, columns.cancel_requested_at).where(
        columns.definition_id == given.c.definition_id, columns.id != given.c.id, IS_UNFINISHED
    )
    # Held from here on: what is at work does not end meanwhile, and what waits is not claimed.
    return older.order_by(columns.id).with_for_update(of=job_runs, key_share=True)


@cache
def _cancelling() -> Update:
    at = bindparam("at", type_=job_runs.c.finished_at.type)
    values = {"status": target(Event.CANCEL, Status.QUEUED).value, "finished_at": at, "cancel_requested_at": at}
    return _changing(values)


@cache
def _asking() -> Update:
    return _changing({"cancel_requested_at": bindparam("at", type_=job_runs.c.cancel_requested_at.type)})


def _changing(values: dict[str, Any]) -> Update:
    given = rows("given", {"id": BigKey})
    at = bindparam("at", type_=job_runs.c.updated_at.type)
    return update(job_runs).where(job_runs.c.id == given.c.id).values(**values, updated_at=at)
