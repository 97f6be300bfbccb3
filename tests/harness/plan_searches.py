"""The calls of the store that look at runs for a person. A search reads slices; here only the first one."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from harness.plan_calls import Call
from harness.plan_rows import waiting_run
from jobrunner.errors import NotFoundError
from jobrunner.lifecycle import Status
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import (
    calendar,
    definitions,
    error_groups,
    findings,
    known_names,
    last_hour,
    rhythm,
    search,
    trails,
)
from jobrunner.store.questions.explain import runs as explained
from jobrunner.store.questions.explain import subjects
from jobrunner.store.questions.explain.schedules import explain_schedule
from jobrunner.store.questions.runs import run_details, run_list, run_view
from jobrunner.store.questions.selection import WAITING_FOR, Selection
from jobrunner.store.queue.ticks import tallies
from jobrunner.store.sql.statement import Prepared
from jobrunner.store.upkeep import inspection

# In the history of the tests.
OLDEST = 900_000
SEARCHES: dict[str, dict[str, Any]] = {
    "of a type": {"job_types": ("known_too",)},
    "of a rare type": {"job_types": ("rare",)},
    "of dead ones": {"statuses": (Status.DEAD,)},
    "of dead ones since": {"statuses": (Status.DEAD,), "since": timedelta(hours=2)},
    "of running ones": {"statuses": (Status.RUNNING,)},
    "of those that wait": {"statuses": (Status.QUEUED,), "job_types": ("known", "known_too")},
    "since": {"since": timedelta(hours=2)},
    "of a schedule": {"schedule": "schedule 1"},
    "of an error": {"error": "no such file"},
    "of keys": {"key": "k", "concurrency_key": "k"},
    **{f"of those that wait for {name}": {"waiting_for": (name,)} for name in WAITING_FOR},
}


def searching(**given: Any) -> Call:
    def work(connection: Connection) -> Any:
        # The schedules come and go.
        with suppress(NotFoundError):
            return search.find(connection, Selection(**given), 50, seconds=0)

    return work


def of_a_schedule(look: Callable[..., Any]) -> Call:
    def work(connection: Connection) -> Any:
        # The schedules come and go.
        return [look(connection, name) for name in connection.execute(Prepared("definitions.names")).scalars()[:1]]

    return work


def of_a_schedule_in_the_last_week(look: Callable[..., Any]) -> Call:
    def work(connection: Connection) -> Any:
        at = tallies.now(connection)
        found = connection.execute(Prepared("definitions.listed", (False,))).all()
        return [look(connection, each.id, at - timedelta(days=7), at) for each in found[:1]]

    return work


LOOK: dict[str, Call] = {
    "run_list.page": partial(run_list.page, selection=Selection(), limit=50),
    "error_groups.errors": partial(error_groups.errors, selection=Selection(), seconds=0),
    **{f"search.find {name}": searching(**given) for name, given in SEARCHES.items()},
    "calendar.by_hour": of_a_schedule_in_the_last_week(calendar.by_hour),
    "calendar.newest_skips": of_a_schedule_in_the_last_week(lambda *given: calendar.newest_skips(*given[:3])),
    "last_hour.last_hour": lambda connection: last_hour.last_hour(connection, tallies.now(connection), most=50),
}
# What a person asks at three in the morning. It counts at most 10 000 runs in front of one.
ASKED: dict[str, Call] = {
    "definitions.show": of_a_schedule(partial(definitions.show, newest=30)),
    "explain.schedules.explain_schedule": of_a_schedule(explain_schedule),
    "explain.runs.oldest_due": explained.oldest_due,
    "explain.subjects.explain": lambda connection: subjects.explain(connection, str(waiting_run(connection))),
    "explain.subjects.explain_type": lambda connection: subjects.explain_type(connection, "known"),
    "explain.subjects.explain_type of a limited type": lambda connection: subjects.explain_type(connection, "keyed"),
    "findings.last_ticks": findings.last_ticks,
    "inspection.last_ticks": inspection.last_ticks,
    "known_names.hosts": known_names.hosts,
    "rhythm.look": rhythm.look,
    "trails.last_ticks": trails.last_ticks,
    "run_details.show": lambda connection: run_details.show(connection, OLDEST),
    "run_details.created_at": lambda connection: run_details.created_at(connection, OLDEST),
    "run_view.look of an old run": lambda connection: run_view.look(connection, OLDEST),
    "run_view.look": lambda connection: run_view.look(connection, waiting_run(connection)),
}
