"""The questions of an application, on a connection that is used without await."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from jobrunner.admin.findings import Health
from jobrunner.admin.status import Status
from jobrunner.application.enqueueing import schema_of_ours
from jobrunner.application.own_connections import own_connections
from jobrunner.ask import works
from jobrunner.ask.works import Work
from jobrunner.store.callers.asking import ask
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.runs.run_list import Page
from jobrunner.store.questions.runs.shown_run import ShownRun

if TYPE_CHECKING:
    from jobrunner.store.callers.borrowed import Transaction

T = TypeVar("T")


def counts(connection: Transaction | None) -> dict[str, int]:
    """How many runs there are in each status, as ``runs`` of ``jobrunner status --json``.

    ``connection`` is what ``jobrunner.enqueue`` takes, and may be in autocommit mode. None: a connection of jobrunner's
    own to the configured database, which gives up after 10 s. If a transaction is open on it, the question sees what
    that sees, and leaves it open and usable, also after an error. If none is open, none is open afterwards; a session
    of SQLAlchemy begins one, as with every SELECT. Nothing is written.

    Of each status at most 100,000 runs are counted. Raises SchemaMismatch for a database without jobrunner's tables,
    with those of another version, or that was moved; DatabaseUnavailable if the role may not read them, or if no answer
    comes; UsageError for what is no connection, and in a transaction that has seen one instant for long. Other errors
    are those of the connection's library.
    """
    return _do(connection, works.counts_of_statuses)


def status(connection: Transaction | None) -> Status:
    """The state of everything, as ``jobrunner status``, on a connection as for ``counts``. Raises as that does.

    What only a host with ticks can tell is left out: ``handlers_problem`` and ``state_problem`` are None,
    ``unknown_types`` is empty, and ``findings`` are those of ``health``.
    """
    return _do(connection, works.status())


def run(connection: Transaction | None, run_id: int) -> ShownRun:
    """A run with its attempts and events, and why it does not run, as ``jobrunner show``.

    ``connection`` is as for ``counts``. Nothing is masked: show a customer single fields only. Raises NotFoundError if
    there is no such run, UsageError for what is no id, and what ``counts`` raises.
    """
    return _do(connection, works.run(run_id))


def runs(
    connection: Transaction | None,
    *,
    status: str | Iterable[str] | None = None,
    job_type: str | Iterable[str] | None = None,
    schedule: str | None = None,
    since: datetime | timedelta | None = None,
    until: datetime | timedelta | None = None,
    key: str | None = None,
    concurrency_key: str | None = None,
    error_like: str | None = None,
    waiting_for: str | Iterable[str] | None = None,
    limit: int = 50,
    before: int | None = None,
) -> Page:
    """Runs, the newest first, as ``jobrunner runs`` with the options of these names, on a connection as for ``counts``.

    ``since`` and ``until`` are datetimes with a time zone, or timedeltas back from now. A search ends after two
    seconds; ``before=page.next_before`` goes on. Raises NotFoundError for an unknown schedule, UsageError for a value
    that an option cannot have, and what ``counts`` raises.
    """
    work = works.runs(
        status=status,
        job_type=job_type,
        waiting_for=waiting_for,
        since=since,
        until=until,
        limit=limit,
        before=before,
        schedule=schedule,
        key=key,
        concurrency_key=concurrency_key,
        error=error_like,
    )
    return _do(connection, work)


def explain(connection: Transaction | None, subject: int | str) -> Explanation:
    """Why a run, a schedule or a job type does not run, as ``jobrunner explain``, on a connection as for ``counts``.

    ``subject`` is the id of a run, the name of a schedule, or a job type. ``forecast`` says how many runs are in front.
    What the command adds from the crontabs and the notes of its host is left out. Raises NotFoundError if there is
    nothing of that name, and what ``counts`` raises.
    """
    return _do(connection, works.explain(subject))


def health(connection: Transaction | None) -> Health:
    """What is wrong, the worst first, as ``jobrunner health``, on a connection as for ``counts``. Raises as that does.

    The thresholds are those of this process' settings. What only the host of a tick can tell is left out: the findings
    ``state_folder``, ``damaged_file`` and of the clock of the host; a killed tick is found by its lease. Raises
    ConfigurationError if a threshold is wrong.
    """
    return _do(connection, works.health())


def _do(connection: Transaction | None, work: Work[T]) -> T:
    if connection is None:
        own = own_connections()
        return own.read(works.on_own(work, own.label)).result()
    return ask(connection, schema_of_ours(), works.on_callers(work))
