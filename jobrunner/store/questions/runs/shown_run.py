"""A run with why it does not run: what ``show`` answers, and the page of the run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from jobrunner.errors import NotFoundError
from jobrunner.jobs.trace_context import trace_id
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions.explain.explanation import Brief, Explanation
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.questions.runs import run_details
from jobrunner.store.questions.runs.run_details import Run
from jobrunner.text import picked


@dataclass(frozen=True)
class ShownRun(Run):
    """A run with its attempts and events, the id of its trace, and why it does not run."""

    trace_id: str | None
    explanation: Brief


def run(connection: Connection, run_id: int, tick_age: timedelta) -> tuple[Run, Explanation]:
    """A run, and why it does not run. Raises NotFoundError. Expects a read transaction."""
    found, explanation = run_details.show(connection, run_id), explain_run(connection, run_id, tick_age=tick_age)
    if found is None or explanation is None:
        raise NotFoundError(f"there is no run {run_id}")
    return found, explanation


def of_run(found: Run, why: Explanation) -> ShownRun:
    """The answer about a run."""
    return picked(ShownRun, found, trace_id=trace_id(found.traceparent), explanation=why.brief())
