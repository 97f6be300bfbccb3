"""One run as a page shows it: its newest attempts, and the runs beside it. Expects a read transaction.

``run_details.show`` reads all of it; a run with a thousand attempts must not make a page of a thousand outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, and_, func, literal, or_, select
from sqlalchemy.types import Text

from jobrunner.settings.health import TICK_AGE
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.explain import prefetched
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.questions.runs.run_details import RUN_ID, Attempt, Run, RunEvent, events_of, statements
from jobrunner.store.schema import (
    job_attempts,
    job_definitions,
    job_events,
    job_keys,
    job_parents,
    job_runs,
    written,
)

NEWEST = 20
_EVENTS = 100
_BESIDE = 5


@dataclass(frozen=True)
class Neighbour:
    """A run beside another one, and why it is shown: "same key", "earlier slot", "it waits for this" and so on."""

    id: int
    job_type: str
    status: str
    why: str


@dataclass(frozen=True)
class RunView:
    """A run with its newest attempts, of which it has ``older`` more. ``schedule`` is the name of its schedule."""

    run: Run
    older: int
    schedule: str | None
    neighbours: list[Neighbour]


def look(connection: Connection, run_id: int, tick_age: timedelta = TICK_AGE) -> tuple[RunView, Explanation] | None:
    """The run, and why it does not run. None: there is no such run. One statement, and few more if it is due.

    ``tick_age`` is the threshold of ``health``.
    """
    questions = [(each, {"run": run_id}) for each in _questions().values()]
    connection = prefetched.of_run(connection, run_id, questions)
    found = {name: connection.execute(each, {"run": run_id}).all() for name, each in _questions().items()}
    explanation = explain_run(connection, run_id, tick_age=tick_age)
    if not found["run"] or explanation is None:
        return None
    attempts = [Attempt(**row._asdict()) for row in reversed(found["attempts"])]
    own, batches = ([RunEvent(**row._asdict()) for row in found[name]] for name in ("events", "batches"))
    row = found["run"][0]._asdict()
    schedule = row.pop("schedule")
    run = Run(**row, waits_for=None, attempt_log=attempts, event_log=events_of(run_id, own[::-1], batches))
    older = found["count"][0].attempts - len(attempts)
    return RunView(run, older, schedule, _neighbours(run_id, found["neighbours"])), explanation


def _neighbours(run_id: int, found: Any) -> list[Neighbour]:
    listed: Mapping[int, Neighbour] = {row.id: Neighbour(**row._asdict()) for row in found if row.id != run_id}
    return list(listed.values())


@cache
def _questions() -> dict[str, Select[Any]]:
    name = select(job_definitions.c.name).where(job_definitions.c.id == job_runs.c.definition_id).scalar_subquery()
    all_of_it, events = statements(), job_events.c
    attempts = all_of_it["attempts"].order_by(None).order_by(job_attempts.c.sequence.desc())
    own = all_of_it["events"].order_by(None).order_by(events.id.desc())
    return {
        "run": all_of_it["run"].add_columns(name.label("schedule")),
        "attempts": attempts.limit(NEWEST),
        "count": select(func.count().label("attempts")).where(job_attempts.c.run_id == RUN_ID),
        "events": own.limit(_EVENTS),
        "batches": all_of_it["batches"].order_by(events.at.desc(), events.id.desc()).limit(_EVENTS),
        "neighbours": _beside(),
    }


def _beside() -> Select[Any]:
    """Runs of the same key, of the slots before and after, and those that it waits for or that wait for it."""
    own, runs, parents = job_runs.alias("own"), job_runs.c, job_parents.c

    def its(name: str) -> Any:
        return select(own.c[name]).where(own.c.id == RUN_ID).scalar_subquery()

    is_unfinished = or_(*(runs.status == written(each) for each in ("queued", "failed", "running")))
    same_key = select(runs.id).where(runs.concurrency_key == its("concurrency_key"), is_unfinished)
    holder = select(job_keys.c.run_id).where(
        job_keys.c.job_type == its("job_type"), job_keys.c.idempotency_key == its("idempotency_key")
    )
    # In the words of the index.
    is_slot = and_(runs.scheduled_for.is_not(None), or_(runs.origin.is_(None), runs.origin != written("again")))
    slots = select(runs.id).where(is_slot, runs.definition_id == its("definition_id"))
    at = runs.scheduled_for
    wanted = {
        "same key": same_key.order_by(runs.id).limit(_BESIDE),
        "has its key": holder.limit(_BESIDE),
        "earlier slot": slots.where(at < its("scheduled_for")).order_by(at.desc()).limit(1),
        "later slot": slots.where(at > its("scheduled_for")).order_by(at).limit(1),
        "comes before it": select(parents.parent_id).where(parents.run_id == RUN_ID).limit(_BESIDE),
        "comes after it": select(parents.run_id).where(parents.parent_id == RUN_ID).limit(_BESIDE),
    }
    parts = [
        select(found.c[0].label("id"), literal(why, Text()).label("why"))
        for why, found in ((why, each.subquery()) for why, each in wanted.items())
    ]
    listed = parts[0].union_all(*parts[1:]).subquery("listed")
    return select(runs.id, runs.job_type, runs.status, listed.c.why).join_from(listed, job_runs, runs.id == listed.c.id)
