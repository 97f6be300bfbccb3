"""A handler's own transaction: its writes and the end of its run commit together.

The fenced write that ends the run is the last statement, so it holds the row of the run only until the COMMIT, and no
heartbeat has to wait. If the lease is lost, it changes no row and everything is rolled back.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from jobrunner import failpoints
from jobrunner.durations import format_duration
from jobrunner.effects.database import ChildDatabase
from jobrunner.effects.once import EffectRun
from jobrunner.errors import JobrunnerError, TransactionTooLong, UsageError
from jobrunner.jobs.outcomes import HandlerStopped
from jobrunner.jobs.payload import check_payload
from jobrunner.store import finalize, holding, transactions
from jobrunner.store.transactions import OwnTransaction

_LONGEST_SHARE = 0.25
"""Of the lease: on SQLite nobody else can write while the transaction is open, not even a heartbeat."""


class RunTransaction:
    """The one transaction that a run may end in. ``shield`` makes a block that a request to stop does not interrupt."""

    def __init__(self, database: ChildDatabase, run: EffectRun, shield: Callable[[], Any]) -> None:
        self.is_committed = False
        self._database = database
        self._run = run
        self._shield = shield
        self._open: OwnTransaction | None = None

    @contextmanager
    def block(self, given: object, result: Callable[[], object]) -> Iterator[Any]:
        """The transaction, on ``given`` or on a connection of our own. ``result`` is asked for at its end."""
        self._check_is_first()
        own = self._open = transactions.begin(
            self._database.engine() if given is None else given, self._database.location.schema
        )
        try:
            with self._time_limit(own):
                yield own.handle
            with self._shield():
                self._end_run(own, result())
                self._commit(own)
        except BaseException:
            own.rollback()
            raise
        finally:
            self._open = None
        failpoints.hit("transaction.committed")

    @property
    def is_open(self) -> bool:
        """Whether the handler is inside its transaction."""
        return self._open is not None

    def close(self) -> None:
        """Roll back what a handler that returns has left open. Raises UsageError then."""
        own, self._open = self._open, None
        if own is not None:
            own.rollback()
            raise UsageError("the handler has returned inside its own transaction, which was rolled back; use `with`")

    def _check_is_first(self) -> None:
        if self.is_open or self.is_committed:
            raise UsageError("a run has one transaction of its own, because its end is committed with it")

    def _end_run(self, own: OwnTransaction, result: object) -> None:
        kept = None if result is None else check_payload({"result": result}, self._run.outcome_limit)["result"]
        executor = own.executor()
        failpoints.hit("transaction.before_end", cut=own.sever)
        if not finalize.succeed_in(executor, self._run.lease, kept):
            raise self._why_not_ended()
        failpoints.hit("transaction.before_commit", cut=own.sever)

    def _why_not_ended(self) -> BaseException:
        lease = self._run.lease
        if self._database.read(lambda each: holding.still_held(each, [lease])):
            return UsageError(
                f"this connection is not to the database {self._database.location.label}, where run {lease.run_id} is"
            )
        return HandlerStopped(f"run {lease.run_id} has lost its lease, so its transaction was rolled back")

    def _commit(self, own: OwnTransaction) -> None:
        try:
            own.commit()
        except Exception:
            # Perhaps only the answer was lost. The attempt has a row if the COMMIT was applied.
            if not self._is_applied():
                raise
        self.is_committed = True

    def _is_applied(self) -> bool:
        lease = self._run.lease
        with suppress(JobrunnerError):
            return lease in self._database.read(lambda each: holding.ended_attempts(each, [lease]))
        return False

    @contextmanager
    def _time_limit(self, own: OwnTransaction) -> Iterator[None]:
        if not own.holds_only_lock():
            yield
            return
        longest = timedelta(seconds=self._database.lease_seconds * _LONGEST_SHARE)
        error = TransactionTooLong(
            f"the transaction took longer than {format_duration(longest)}, a quarter of the lease; nobody else can"
            " write to the SQLite file meanwhile, not even a heartbeat"
        )
        limit = _Limit(longest.total_seconds(), error, own.interrupt)
        try:
            yield
        except Exception as raised:
            if limit.end() and raised is not error:
                raise error from raised
            raise
        except BaseException:
            limit.end()
            raise
        if limit.end():
            raise error


class _Limit:
    """Interrupts the main thread by an exception after some time. In another thread only ``end`` tells."""

    def __init__(self, seconds: float, error: Exception, interrupt: Callable[[], None]) -> None:
        self._error = error
        self._interrupt = interrupt
        self._is_over = self._has_ended = False
        self._is_main = threading.current_thread() is threading.main_thread()
        if self._is_main:
            # It stays set: after the block it does nothing, while the default action would end the process.
            signal.signal(signal.SIGUSR1, self._on_signal)
        self._timer = threading.Timer(seconds, self._pass)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> bool:
        """Stop the clock. Whether the time was over before."""
        self._has_ended = True
        self._timer.cancel()
        return self._is_over

    def _pass(self) -> None:
        self._is_over = True
        if self._is_main and (main := threading.main_thread().ident):
            signal.pthread_kill(main, signal.SIGUSR1)
        with suppress(Exception):
            self._interrupt()

    def _on_signal(self, *_: Any) -> None:
        if not self._has_ended:
            raise self._error
