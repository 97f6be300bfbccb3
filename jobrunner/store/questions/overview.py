"""Reads the state of everything, for the command ``status``. Expects a read transaction."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from jobrunner.lifecycle import Status
from jobrunner.settings.health import TICK_AGE
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.reading import read
from jobrunner.store.questions import definitions, findings, uncertain
from jobrunner.store.questions.explain import runs as explained
from jobrunner.store.questions.explain.explanation import Brief
from jobrunner.store.questions.facts import DueType
from jobrunner.store.questions.state import (
    DeadRun,
    FailingRun,
    LimitedType,
    RunningLimit,
    RunningRun,
    State,
    Tick,
    UnknownType,
    Unsent,
)
from jobrunner.store.queue import pauses, set_limits
from jobrunner.store.sql.statement import Prepared, Question

_UNSENT_SINCE = timedelta(days=1)
MOST_COUNTED = 100_000
"""Runs of one status that are counted for the overview. Beside a long history a full count would take seconds."""
MOST_DUE = 10_000
"""Due runs that are counted. Each is checked against the pauses and the keys."""


def status(
    connection: Connection,
    known_types: Collection[str] | None,
    newest: int = 10,
    *,
    explains: bool = True,
    tick_age: timedelta = TICK_AGE,
) -> State:
    """The state of everything. ``known_types`` None means that this host's job types could not be found out.

    ``explains``: it says why the run that is due for the longest time does not run. ``tick_age`` is the threshold of
    ``health``.
    """
    at, due, oldest = connection.execute(*_due()).one()
    stray = findings.stray_runs(connection, MOST_DUE)
    due += sum(each.runs for each in stray)
    oldest = min((each for each in (oldest, *(one.run_at for one in stray)) if each is not None), default=None)
    found = _counts(connection)
    return State(
        at=at,
        runs={status: min(count, MOST_COUNTED) for status, count in found.items()},
        runs_at_least=[status for status, count in found.items() if count > MOST_COUNTED],
        due=min(due, MOST_DUE),
        due_at_least=due > MOST_DUE,
        oldest_due_seconds=None if oldest is None else max(0.0, (at - oldest).total_seconds()),
        oldest_due=_why_oldest(connection, stray, tick_age) if explains else None,
        running=read(connection, RunningRun, Prepared("overview.running")),
        failing=read(connection, FailingRun, Prepared("overview.failing"), {"most": newest}),
        dead=read(connection, DeadRun, Prepared("overview.dead"), {"most": newest}),
        pauses=pauses.listed(connection),
        set_limits=set_limits.listed(connection),
        schedules=definitions.listed(connection),
        unknown_types=[] if known_types is None else unknown(connection, known_types),
        limits=read(connection, LimitedType, Prepared("overview.limited")),
        running_limits=read(connection, RunningLimit, Prepared("overview.running_limits")),
        uncertain=uncertain.count(connection),
        uncertain_effects=uncertain.listed(connection, newest),
        ticks=read(connection, Tick, Prepared("overview.last_ticks")),
        unsent_notifications=_unsent(connection, newest),
    )


def _why_oldest(connection: Connection, stray: Collection[DueType], tick_age: timedelta) -> Brief | None:
    if stray:
        # A run that no claim would see comes first, whichever is the oldest.
        found = explained.explain_run(connection, min(stray, key=lambda each: each.run_at).id, tick_age=tick_age)
    else:
        found = explained.oldest_due(connection, tick_age)
    return None if found is None else found.brief()


def questions(newest: int = 10) -> list[Question]:
    """What ``status`` asks without an explanation, for a page that asks it together."""
    most, listed = {"most": MOST_COUNTED + 1}, {"most": newest}
    plain = ("overview.running", "pauses.listed", "set_limits.listed", "overview.limited", "overview.running_limits")
    return [
        _due(),
        *findings.stray_questions(MOST_DUE),
        *((Prepared(name), {}) for name in (*plain, "effects.count_uncertain", "overview.last_ticks")),
        *((Prepared("overview.count", (status.value,)), most) for status in Status),
        *((Prepared(name), listed) for name in ("overview.failing", "overview.dead", "effects.uncertain")),
        (Prepared("definitions.listed", (False,)), {}),
        (Prepared("definitions.former_runs", (False,)), {}),
        _unsent_question(newest),
    ]


def _unsent(connection: Connection, newest: int) -> list[Unsent]:
    return [Unsent(*row[1:]) for row in connection.execute(*_unsent_question(newest))]


def _unsent_question(newest: int) -> Question:
    """The newest notices that were not told."""
    return Prepared("notices.unsent"), {"since": -_UNSENT_SINCE.total_seconds(), "limit": newest}


def _due() -> Question:
    return Prepared("overview.due"), {"most": MOST_DUE + 1}


def counts(connection: Connection) -> dict[str, int]:
    """The number of runs in each status, up to MOST_COUNTED, as ``State.runs`` has them."""
    return {status: min(count, MOST_COUNTED) for status, count in _counts(connection).items()}


def _counts(connection: Connection) -> dict[str, int]:
    """The number of runs in each status, up to one more than MOST_COUNTED. Each count reads only one index."""
    most = {"most": MOST_COUNTED + 1}
    counting = {status.value: Prepared("overview.count", (status.value,)) for status in Status}
    return {status: connection.execute(statement, most).scalar_one() for status, statement in counting.items()}


def unknown(connection: Connection, known_types: Collection[str]) -> list[UnknownType]:
    """The types of waiting runs that are none of the known ones."""
    # One step in an index for each type, so that the runs of the known types are not read.
    waiting = connection.execute(Prepared("findings.waiting_types")).scalars()
    given = [{"job_type": each} for each in sorted({*waiting} - {*known_types})]
    return read(connection, UnknownType, Prepared("overview.unknown"), {"given": given}) if given else []
