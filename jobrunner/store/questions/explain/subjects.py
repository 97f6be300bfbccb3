"""explain: why a run, a schedule or a job type does not run, in one sentence, with the facts and a remedy.

Everything is computed now, in the read transaction of the caller, from the conditions that the claim itself uses.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import func, literal_column, select

from jobrunner.errors import NotFoundError
from jobrunner.settings.health import TICK_AGE
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.explain import hosts as tick_hosts
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.questions.explain.schedules import explain_schedule
from jobrunner.store.schema import job_definitions, job_runs
from jobrunner.store.statements.queue.backpressure import WAITING
from jobrunner.text import nearest, storable

_MOST_COUNTED = 10_000


def explain(connection: Connection, subject: str, tick_age: timedelta = TICK_AGE) -> Explanation:
    """Explain the run with this id, the schedule of this name, or this job type. Raises NotFoundError.

    ``tick_age`` is the threshold of ``health``.
    """
    if subject.isascii() and subject.isdigit() and len(subject) < 19:
        found = explain_run(connection, int(subject), tick_age=tick_age)
        if found is None:
            raise NotFoundError(f"there is no run {subject}; it may have been pruned")
        return found
    name = storable(subject)
    found = explain_schedule(connection, name, tick_age) or explain_type(connection, name, tick_age)
    if found is None:
        raise _unknown(connection, subject)
    return found


def explain_type(connection: Connection, job_type: str, tick_age: timedelta = TICK_AGE) -> Explanation | None:
    """Why runs of a type do not run: that of the run whose turn is next. None: nothing is known of the type."""
    columns = job_runs.c
    of_type = columns.job_type == job_type
    waiting = select(columns.id).where(of_type, WAITING)
    first = None
    # In the order of the index. Runs behind gates come after the others.
    for condition in (columns.gate == literal_column("''"), columns.gate > literal_column("''")):
        ordered = waiting.where(condition).order_by(columns.gate, columns.turn_at, columns.run_at, columns.id)
        first = first or connection.execute(ordered.limit(1)).scalar_one_or_none()
    running = connection.execute(
        select(func.count()).select_from(job_runs).where(of_type, columns.status == literal_column("'running'"))
    ).scalar_one()
    hosts = tick_hosts.look(connection, tick_age)
    views = hosts.views(job_type)
    if first is None:
        if not running and not any(job_type in report.can_run for report in hosts.reports.values()):
            return None
        sentence = f"No run of {job_type} waits; {_are(running, 'running')}."
        facts = {"job_type": job_type, "running": running}
        return Explanation(f"type {job_type}", "nothing_waits", sentence, facts, hosts=views)
    found = explain_run(connection, first, hosts)
    if found is None:
        return None
    counted = connection.execute(
        select(func.count()).select_from(waiting.limit(_MOST_COUNTED + 1).subquery())
    ).scalar_one()
    count = f"More than {_MOST_COUNTED}" if counted > _MOST_COUNTED else str(counted)
    waiting_runs = f"1 run of {job_type} waits" if counted == 1 else f"{count} runs of {job_type} wait"
    facts = {"waiting": min(counted, _MOST_COUNTED), "at_least": counted > _MOST_COUNTED, "running": running}
    return replace(
        found,
        subject=f"type {job_type}",
        sentence=f"{waiting_runs}, and {_are(running, 'running')}. {found.sentence}",
        facts={**found.facts, **facts},
        hosts=found.hosts or views,
    )


def _are(count: int, what: str) -> str:
    return f"{count} {'is' if count == 1 else 'are'} {what}"


def _unknown(connection: Connection, subject: str) -> NotFoundError:
    names = set(
        connection.execute(select(job_definitions.c.name).where(job_definitions.c.removed_at.is_(None))).scalars()
    )
    for report in tick_hosts.look(connection).reports.values():
        names |= report.can_run.keys()
    near = nearest(subject, names)
    meant = "" if near is None else f"; did you mean {near!r}?"
    return NotFoundError(f"there is no run, schedule or job type {subject[:60]!r}{meant}")
