"""The runs of a test's database, seen and run in the test's own transaction."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from jobrunner.application.registry import registered, serving
from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.lifecycle import Status
from jobrunner.model import ClaimedRun, Owner
from jobrunner.settings import config
from jobrunner.store.callers import callers_transaction, testing_kit
from jobrunner.store.callers.callers_transaction import joined
from jobrunner.store.callers.testing_kit import Run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue import claims, finalize, holding
from jobrunner.store.queue.claims import ClaimRequest
from jobrunner.testing.address import url_of
from jobrunner.testing.attempts import Drained, Ended, attempt
from jobrunner.testing.enqueued_runs import Made, asked, fits, listed
from jobrunner.testing.ticks import has_django, run_tick
from jobrunner.worker.attempt import result_of, with_wait

T = TypeVar("T")
_LEASE = timedelta(hours=1)
_MOST_ATTEMPTS = 1000


class Jobs:
    """The runs that the transaction of a connection sees.

    ``connection`` is what ``jobrunner.enqueue`` takes, or for ``drain_async`` an ``AsyncSession`` or
    ``AsyncConnection`` of SQLAlchemy. None means the connection of Django that jobrunner uses.
    """

    def __init__(self, connection: Any = None) -> None:
        self._given = connection

    def using(self, connection: Any) -> Jobs:
        """The same for this connection."""
        return Jobs(connection)

    @property
    def connection(self) -> Any:
        """The connection. Raises UsageError if there is none."""
        if self._given is not None:
            return self._given
        if has_django():
            from jobrunner.contrib.django.conf import connection

            return connection()
        raise UsageError(
            "jobs has no connection; define the fixture jobrunner_connection in conftest.py to return the one that the"
            " application enqueues on, or write jobs.using(connection)"
        )

    # What was enqueued

    @contextmanager
    def enqueued(self) -> Iterator[Made]:
        """The runs that this block enqueues, and no others: ``with jobs.enqueued() as made:``."""
        last = self.do(testing_kit.newest_id)
        made = Made(lambda: self.do(lambda each: testing_kit.runs_after(each, last)))
        yield made
        made.close()

    def all(self, handler: Any = None, /, **payload: Any) -> list[Run]:
        """All runs, or those of this handler (or job type) whose payloads hold these values, in whatever status."""
        found = self.do(lambda each: testing_kit.runs_after(each, 0))
        return found if handler is None else [run for run in found if fits(run, handler, payload)]

    def assert_enqueued(self, handler: Any, /, **payload: Any) -> Run:
        """The newest run of this handler (or job type) that waits and whose payload holds these values.

        Raises AssertionError, which lists the runs that wait, if there is none.
        """
        waiting = self._waiting()
        found = [run for run in waiting if fits(run, handler, payload)]
        if not found:
            raise AssertionError(f"{asked(handler, payload)} is not enqueued; {listed(waiting)}")
        return found[-1]

    def refute_enqueued(self, handler: Any, /, **payload: Any) -> None:
        """Raise AssertionError if such a run waits."""
        found = [run for run in self._waiting() if fits(run, handler, payload)]
        if found:
            raise AssertionError(f"{asked(handler, payload)} is enqueued; {listed(found)}")

    def _waiting(self) -> list[Run]:
        return [run for run in self.all() if run.status == Status.QUEUED]

    # Time

    def now(self) -> datetime:
        """What jobrunner takes for now."""
        return self.do(testing_kit.database_now)

    def move_clock(self, by: Duration) -> None:
        """Move jobrunner's clock on (a negative timedelta: back), until the end of the test's transaction.

        Only jobrunner's: the application's own clock is moved by other tools.
        """
        distance = by if isinstance(by, timedelta) else parse_duration(by)
        until_end = callers_transaction.is_open(self.connection)
        self.do(lambda each: testing_kit.move_clock(each, distance, until_end=until_end))

    # Work

    def drain(self, *, raising: bool = True, limit: int = _MOST_ATTEMPTS) -> Drained:
        """Run the handlers of all due runs, here and in this transaction, until none is due.

        Attempts, retries with their waits, and results are written as by a tick. The exception of a handler is written
        and then raised; with ``raising=False`` it is only written. A handler that raises leaves nothing behind that it
        has written on this connection. Timeouts are not enforced. More than ``limit`` attempts are an AssertionError.
        """
        finish = partial(_finish, on_django=hasattr(self.connection, "ensure_connection"))
        return _drain(self, finish, raising, limit)

    async def drain_async(self, *, raising: bool = True, limit: int = _MOST_ATTEMPTS) -> Drained:
        """As ``drain``, with an asynchronous connection; ``async def`` handlers run in this event loop."""
        return await callers_transaction.run_sync(
            self.connection, lambda each, finish: _drain(Jobs(each), finish, raising, limit)
        )

    def tick(self, *words: str, databases: Iterable[str] = (), **variables: str) -> subprocess.CompletedProcess[str]:
        """Run ``jobrunner tick`` with these words, in a process with children, on the database of the connection.

        It sees committed rows only. ``variables`` are added to its environment. If ``JOBRUNNER_IMPORT`` is not set, it
        imports the modules of the handlers of this process, or those of the project of Django.

        The handlers see the databases of the test, and open no others: with Django those that the test may use, else
        that of the connection and those of the URLs ``databases``. Raises AssertionError if a handler tried to open
        another one, or if the tick fails.
        """
        return run_tick(url_of(self.connection), words, variables, databases)

    def clear(self) -> None:
        """Delete all runs, schedules and keys: for tests that commit."""
        self.do(testing_kit.clear)

    def do(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in the transaction of the connection."""
        with joined(self.connection) as connection:
            return work(connection)


def _drain(jobs: Jobs, finish: Callable[[Any], Any], raising: bool, limit: int) -> Drained:
    drained = Drained()
    # A name that no tick has, so that its runs at work do not count here.
    owner = Owner(f"test-{os.getpid()}", f"test-{os.getpid()}-{os.urandom(4).hex()}")
    payload_limit = config.for_enqueue(os.environ).payload_limit
    while run := jobs.do(lambda each: _claim(each, owner)):
        if len(drained) == limit:
            raise AssertionError(f"after {limit} attempts run {run.lease.run_id} of {run.job_type} is still due")
        ended = _run(jobs, run, owner, payload_limit, finish)
        drained.attempts.append(ended)
        if raising and ended.error is not None:
            raise ended.error
    return drained


def _run(jobs: Jobs, run: ClaimedRun, owner: Owner, payload_limit: int, finish: Callable[[Any], Any]) -> Ended:
    job = serving()[run.job_type]
    transaction = jobs.connection
    is_open = callers_transaction.is_open(transaction)
    called = attempt(
        run,
        job,
        payload_limit,
        lambda: callers_transaction.savepoint(transaction) if is_open else nullcontext(),
        finish,
    )
    result = with_wait(result_of(called.report), job.policy, run.attempt)

    def end(connection: Connection) -> finalize.Ended | finalize.Refusal:
        if called.progress is not None:
            holding.report(connection, {run.lease: {"progress": called.progress}})
        kept = {} if called.checkpoint is None else {run.lease: called.checkpoint}
        return finalize.finalize_all(connection, owner, [(run.lease, result)], checkpoints=kept)[0]

    ended = jobs.do(end)
    if not isinstance(ended, finalize.Ended):
        raise AssertionError(f"run {run.lease.run_id} could not be ended: {ended.value}")  # noqa: TRY004 - of a test
    outcome, status = ended.decision.outcome, ended.decision.status
    return Ended(run.lease.run_id, run.job_type, run.attempt, outcome, status, result.result, called.error)


def _claim(connection: Connection, owner: Owner) -> ClaimedRun | None:
    known = {each.job_type: each for job in registered().values() for each in job.policy.of_each_name()}
    policies = [known[each] for each in testing_kit.due_types(connection) if each in known]
    request = ClaimRequest(owner, os.urandom(16).hex(), policies, limit=1, permits=1, lease=_LEASE)
    claimed = claims.claim(connection, request).runs if policies else []
    return claimed[0] if claimed else None


def _finish(coroutine: Any, *, on_django: bool) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if not on_django:
            return asyncio.run(coroutine)
        # Django has it.
        asgiref: Any = import_module("asgiref.sync")

        # So that what Django does in a thread is done in this one, on the connection of the test. The handler itself
        # is in another thread, where a connection of sqlite3 could not be used.
        async def wait() -> Any:
            return await coroutine

        return asgiref.async_to_sync(wait)()
    coroutine.close()
    raise UsageError("an event loop is running already; call drain in another thread, or drain_async")
