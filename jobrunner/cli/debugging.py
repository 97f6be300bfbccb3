"""run --debug: one run in this very process, so that its handler can be stepped through.

It is claimed in the transaction that enqueues it, and ended, as a tick does both. A thread renews its lease meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from jobrunner import clock, names
from jobrunner.application.job import Job
from jobrunner.application.registry import registered, serving
from jobrunner.children.inside import connections
from jobrunner.children.inside.attempt import Attempt
from jobrunner.children.inside.imports import import_handlers
from jobrunner.children.inside.own_work import DatabaseAccess
from jobrunner.children.messages import Checkpoint, FromChild, Hello, ImportFailed, Progress, Report, StartRun
from jobrunner.cli import environment, render, session, streams
from jobrunner.errors import ConnectionLost, DatabaseUnavailable, HandlersUnavailable, JobrunnerError, UsageError
from jobrunner.jobs.payload import check_match
from jobrunner.model import ClaimedRun, Owner
from jobrunner.settings.config import Config
from jobrunner.store.changes import bulk, one_run
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.queue import claims, declared_limits, finalize, holding
from jobrunner.store.queue.claims import ClaimRequest
from jobrunner.store.queue.enqueue import enqueue
from jobrunner.store.queue.enqueue_sql import NewRun
from jobrunner.store.queue.ticks import audit
from jobrunner.worker.attempt import result_of, with_wait

_UNDO_SHARE = 0.5
"""For so much of the lease a COMMIT without an answer is followed up, but no longer than somebody waits."""
_LONGEST_UNDO_SECONDS = 10.0
_PAUSE_SECONDS = 0.2


def handler_of(config: Config, job_type: str, payload: Mapping[str, Any]) -> Job[Any, Any]:
    """The handler, imported by this process. Raises UsageError, HandlersUnavailable, and PayloadMismatch."""
    if job_type in config.commands:
        raise UsageError(
            f"{job_type} is a command of jobrunner.toml, which has no code to step through; leave out --debug"
        )
    answer = import_handlers(Hello(config.imports, "", config.app_dir, tuple(config.commands)), lambda _: None)
    if isinstance(answer, ImportFailed):
        if answer.traceback is not None:
            render.block(answer.traceback, indent="")
        raise HandlersUnavailable(f"importing the handlers failed: {answer.error}", answer.traceback)
    job = serving().get(job_type)
    if job is None:
        known = ", ".join(registered()) or "none"
        raise UsageError(f"this host has no handler for {job_type!r}; it has: {known}")
    check_match(job_type, job.check, payload)
    return job


def run(config: Config, database: Database, job: Job[Any, Any], new: NewRun) -> int:
    """Enqueue, claim, call and end the run; returns its id. Raises JobrunnerError if it may not begin now."""
    owner = Owner(config.host, names.worker(config.host, os.urandom(4).hex()))
    for policy in database.read(partial(declared_limits.changed, policies=job.policy.of_each_name())):
        while database.write(partial(declared_limits.declare, policy=policy)):
            pass
    claimed = _Beginning(config, owner, job, new).write(database)
    beat = _Beat(config, database.second_connection(), claimed)
    beat.start()
    try:
        report = _call(config, job, claimed, beat)
    finally:
        beat.end()
    result = with_wait(result_of(report), job.policy, claimed.attempt)
    kept = {} if beat.checkpoint is None else {claimed.lease: beat.checkpoint.checkpoint}
    work = partial(finalize.finalize_all, owner=owner, ends=[(claimed.lease, result)], checkpoints=kept)
    (ended,) = database.write(work)
    if not isinstance(ended, finalize.Ended):
        streams.to_stderr(f"jobrunner: the end of this attempt was not written: {ended.value}")
    return claimed.lease.run_id


class _Beginning:
    """Enqueues and claims the run in one transaction, and undoes it if its COMMIT gets no answer.

    So nobody else can claim the run, and if it may not begin now, there is none.
    """

    def __init__(self, config: Config, owner: Owner, job: Job[Any, Any], new: NewRun) -> None:
        self._config = config
        self._job = job
        self._new = new
        self._who = session.actor()
        # Made before it is sent, so that what became of it can be found.
        # Under its own name, which may be a former one of the type.
        self._policy = next(each for each in job.policy.of_each_name() if each.job_type == new.job_type)
        self._request = ClaimRequest(owner, os.urandom(16).hex(), [self._policy], 1, config.concurrency, config.lease)
        self._claimed: int | None = None
        self._was_committed = False

    def write(self, database: Database) -> ClaimedRun:
        """The claimed run. Raises JobrunnerError if there is none."""
        try:
            return database.write(self._begin)
        except ConnectionLost as error:
            raise self._undo(database, error) from None

    def _begin(self, connection: Connection) -> ClaimedRun:
        job = self._job
        enqueued = enqueue(connection, self._new, self._policy)
        if enqueued.id is None:
            raise JobrunnerError(f"dropped: as many runs of {job.name} wait as its max_waiting allows")
        at = bulk.database_now(connection)
        audit.write(connection, [audit.event(self._who, "run", None, {}, at, enqueued.id)])
        claimed = claims.claim(connection, self._request).runs
        if not claimed:
            raise JobrunnerError(
                f"no run of {job.name} may begin here now, and nothing was enqueued: jobrunner explain {job.name}"
            )
        if claimed[0].lease.run_id != enqueued.id:
            first = claimed[0].lease.run_id
            raise JobrunnerError(
                f"run {first} of {job.name} comes first, and nothing was enqueued; try again when it is done"
            )
        self._claimed = enqueued.id
        return claimed[0]

    def _undo(self, database: Database, lost: ConnectionLost) -> DatabaseUnavailable:
        """Cancel the run if it is there, as soon as the database answers; the error that says what became of it."""
        run_id = self._claimed
        if run_id is not None and not self._is_undone(database, run_id):
            return DatabaseUnavailable(
                f"{lost}; run {run_id} may be left as at work, and its handler was not called: a tick ends it when its"
                f" lease of {self._config.lease.total_seconds():g} s is over; to see it: jobrunner show {run_id}"
            )
        done = "nothing was enqueued"
        if self._was_committed:
            done = f"run {run_id}, which this command has enqueued, is cancelled, and its handler was not called"
        return DatabaseUnavailable(f"{lost.found}; {done}", "try again")

    def _is_undone(self, database: Database, run_id: int) -> bool:
        ends_at = clock.elapsed() + min(_UNDO_SHARE * self._config.lease.total_seconds(), _LONGEST_UNDO_SECONDS)
        while True:
            with suppress(DatabaseUnavailable):
                if database.write(partial(self._cancel, run_id=run_id)):
                    return True
            if clock.elapsed() > ends_at:
                return False
            clock.sleep(_PAUSE_SECONDS)

    def _cancel(self, connection: Connection, run_id: int) -> bool:
        """Cancel the run uncharged, if its COMMIT was applied; whether nothing is left of it."""
        # The COMMIT may be under way still. It is over when this transaction has its lock.
        claims.lock_permits(connection, self._request.owner.host)
        returned = claims.return_unstarted(connection, self._request.token)
        if returned.runs:
            # Not queued: a tick would call a handler that somebody wanted to step through.
            self._was_committed = True
            one_run.cancel(connection, run_id, self._who)
        return not returned.locked


def _call(config: Config, job: Job[Any, Any], run: ClaimedRun, beat: _Beat) -> Report:
    url = environment.database_url(config)
    hello = Hello((), "", database_url=url, schema=config.schema, lease_seconds=config.lease.total_seconds())
    # Without its timeout, because nobody can step through a handler so quickly.
    start = StartRun.of(run._replace(timeout=None), config.payload_limit)
    attempt = beat.attempt = Attempt(start, beat.note, DatabaseAccess(hello))
    # The run is claimed: whatever leaves the debugger, Ctrl-C too, ends it.
    report = attempt.run(job, _connected(), asyncio.run)
    attempt.flush()
    connections.after_run(report)
    return report


@contextmanager
def _connected() -> Iterator[None]:
    connections.prepare()
    connections.before_run()
    yield


class _Beat(threading.Thread):
    """Renews the lease, and writes what the handler reports, however long somebody looks at a line."""

    def __init__(self, config: Config, database: Database, run: ClaimedRun) -> None:
        super().__init__(name="jobrunner-heartbeat", daemon=True)
        self.attempt: Attempt | None = None
        self._config = config
        self._database = database
        self._lease = run.lease
        self._done = threading.Event()
        self._progress: Progress | None = None
        self.checkpoint: Checkpoint | None = None
        self._is_lost = False

    def note(self, message: FromChild) -> None:
        """Keep what the handler reports for the next beat."""
        if isinstance(message, Progress):
            self._progress = message
        elif isinstance(message, Checkpoint):
            self.checkpoint = message

    def end(self) -> None:
        """Write what is left, and end."""
        self._done.set()
        self.join(timeout=self._config.lease.total_seconds())
        self._database.close()

    def run(self) -> None:
        while not self._done.wait(self._config.heartbeat.total_seconds()):
            self._try_to_beat()
        self._try_to_beat()

    def _try_to_beat(self) -> None:
        try:
            self._database.write(self._beat)
        except DatabaseUnavailable as error:
            streams.to_stderr(f"jobrunner: the lease of the run could not be renewed: {error}")

    def _beat(self, connection: Connection) -> None:
        renewal = holding.renew(connection, [self._lease], self._config.lease)
        if self.attempt is not None:
            self.attempt.was_asked_to_stop = bool(renewal.renewed.get(self._lease))
        is_held = self._lease in renewal.renewed or self._lease in renewal.locked or self._lease in renewal.committed
        if not is_held and not self._is_lost:
            self._is_lost = True
            streams.to_stderr("jobrunner: the run has lost its lease, so its end will not be written")
        if self._progress is not None:
            holding.report(connection, {self._lease: {"progress": self._progress.progress}})
        if self.checkpoint is not None:
            holding.keep(connection, {self._lease: self.checkpoint.checkpoint})
