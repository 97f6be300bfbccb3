"""The questions, before it is known on which connection they are asked: checked, and ready to be answered."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar

from jobrunner.admin.findings import Health, findings_of_database
from jobrunner.admin.status import Status
from jobrunner.errors import UsageError
from jobrunner.lifecycle import Status as StatusOfRun
from jobrunner.settings import asking
from jobrunner.store.callers.asking import Question
from jobrunner.store.callers.database_names import name_of_database
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import overview
from jobrunner.store.questions.explain import subjects
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.runs import run_list, shown_run
from jobrunner.store.questions.runs.run_list import Page
from jobrunner.store.questions.runs.shown_run import ShownRun
from jobrunner.store.questions.selection import WAITING_FOR, Selection, stored_text
from jobrunner.store.upkeep.check import check_schema
from jobrunner.text import picked, plain

T = TypeVar("T")
Instant: TypeAlias = datetime | timedelta | None
Several: TypeAlias = str | Iterable[str] | None
Work: TypeAlias = Callable[[Connection, str], T]
"""What answers a question on a connection to the database of this name."""
_LARGEST_ID = 2**63 - 1
_MOST_RUNS = 10_000


def on_own(work: Work[T], label: str) -> Callable[[Connection], T]:
    """The work on a connection of jobrunner's own."""

    def answer(connection: Connection) -> T:
        check_schema(connection)
        return work(connection, label)

    return answer


def on_callers(work: Work[T]) -> Callable[[Question], T]:
    """The work on a connection of the caller."""

    def answer(question: Question) -> T:
        check_schema(question)
        return work(question, name_of_database(question))

    return answer


def counts_of_statuses(connection: Connection, label: str) -> dict[str, int]:
    """What ``counts`` answers."""
    return overview.counts(connection)


def status() -> Work[Status]:
    """What ``status`` answers. Raises ConfigurationError."""
    settings = asking.for_questions(os.environ)
    # The process that asks need not be one that ticks could run handlers in.
    of_host = {"handlers_problem": None, "state_problem": None}

    def answer(connection: Connection, label: str) -> Status:
        state = overview.status(connection, None, tick_age=settings.health.tick_age)
        found = findings_of_database(connection, settings)
        return picked(Status, state, database=label, findings=found, **of_host)

    return answer


def run(run_id: int) -> Work[ShownRun]:
    """What ``run`` answers. Raises UsageError for what is no id, and ConfigurationError."""
    wanted, tick_age = _id("run_id", run_id), asking.for_questions(os.environ).health.tick_age
    return lambda connection, _: shown_run.of_run(*shown_run.run(connection, wanted, tick_age))


def explain(subject: int | str) -> Work[Explanation]:
    """What ``explain`` answers. Raises UsageError and ConfigurationError."""
    asked = stored_text(subject) if isinstance(subject, str) else str(_id("subject", subject))
    tick_age = asking.for_questions(os.environ).health.tick_age
    return lambda connection, _: subjects.explain(connection, asked, tick_age)


def health() -> Work[Health]:
    """What ``health`` answers. Raises ConfigurationError."""
    settings = asking.for_questions(os.environ)

    def answer(connection: Connection, label: str) -> Health:
        found = findings_of_database(connection, settings)
        return Health(label, not found, found)

    return answer


def runs(
    *,
    status: Several,
    job_type: Several,
    waiting_for: Several,
    since: Instant,
    until: Instant,
    limit: int,
    before: int | None,
    schedule: str | None,
    key: str | None,
    concurrency_key: str | None,
    error: str | None,
) -> Work[Page]:
    """What ``runs`` answers. Raises UsageError for what cannot be searched for."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= _MOST_RUNS:
        raise UsageError(f"limit must be a whole number from 1 to {_MOST_RUNS}")
    selection = Selection(
        statuses=tuple(map(StatusOfRun, _known("status", status, [each.value for each in StatusOfRun]))),
        job_types=tuple(map(stored_text, _listed(job_type))),
        waiting_for=tuple(_known("waiting_for", waiting_for, [*WAITING_FOR])),
        since=_instant("since", since),
        until=_instant("until", until),
        schedule=_text(schedule),
        key=_text(key),
        concurrency_key=_text(concurrency_key),
        error=_text(error),
    )
    below = None if before is None else _id("before", before)
    return lambda connection, _: run_list.page(connection, selection, limit, before=below)


def to_dict(record: object) -> Any:
    """What the command prints with ``--json`` for this answer, as dictionaries, lists, texts and numbers.

    Instants are texts in ISO 8601, in UTC. ``json.dumps`` takes what it returns. Raises TypeError for what is no answer
    of these functions.
    """
    return json.loads(json.dumps(record, default=plain))


def _id(name: str, given: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= _LARGEST_ID:
        raise UsageError(f"{name} must be the id of a run, a positive whole number")
    return given


def _text(given: str | None) -> str | None:
    return None if given is None else stored_text(given)


def _listed(given: Several) -> list[str]:
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def _known(name: str, given: Several, known: list[str]) -> list[str]:
    found = _listed(given)
    for each in found:
        if each not in known:
            raise UsageError(f"{name} cannot be {str(each)[:60]!r}; there are: {', '.join(known)}")
    return found


def _instant(name: str, given: Instant) -> Instant:
    if isinstance(given, datetime) and given.tzinfo is None:
        raise UsageError(f"{name} needs a time zone, as in datetime.now(UTC)")
    if not isinstance(given, datetime | timedelta | None):
        raise UsageError(f"{name} must be a datetime with a time zone, or a timedelta back from now")
    return given
