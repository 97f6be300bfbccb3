"""The end of a run in its handler's own transaction: what ``with`` and ``async with`` have in common."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeAlias

from jobrunner import failpoints
from jobrunner.durations import format_duration
from jobrunner.effects.database import ChildDatabase
from jobrunner.effects.once import EffectRun
from jobrunner.errors import CommitUnconfirmed, JobrunnerError, TransactionTooLong, UsageError
from jobrunner.jobs.outcomes import HandlerStopped
from jobrunner.jobs.payload import check_payload
from jobrunner.store.callers.transactions import OwnTransaction
from jobrunner.store.queue import finalize, holding

_LONGEST_SHARE = 0.25
"""Of the lease: on SQLite nobody else can write while the transaction is open, not even a heartbeat."""


Ask: TypeAlias = Callable[[Callable[[], Any]], Coroutine[Any, Any, Any]]


class RunEnd:
    """The end of one run. ``open`` is its transaction while the handler is inside it; a run has one."""

    def __init__(self, database: ChildDatabase, run: EffectRun) -> None:
        self.database = database
        self.is_committed = False
        self.open: OwnTransaction | None = None
        self._run = run

    @property
    def longest(self) -> timedelta:
        """The longest time that a transaction may hold the lock of an SQLite file."""
        return timedelta(seconds=self.database.lease_seconds * _LONGEST_SHARE)

    def too_long(self) -> TransactionTooLong:
        """The error of a transaction that took longer."""
        return TransactionTooLong(
            f"the transaction took longer than {format_duration(self.longest)}, a quarter of the lease; nobody else can"
            " write to the SQLite file meanwhile, not even a heartbeat"
        )

    def check_is_first(self) -> None:
        """Raise UsageError if the run has a transaction already, or has ended with it."""
        if self.open is not None or self.is_committed:
            raise UsageError("a run can use ctx.transaction only once, because the end of the run is committed with it")

    async def commit(self, own: OwnTransaction, result: object, ask: Ask) -> None:
        """End the run in its transaction, and commit that. ``ask`` calls what reads on our own connection.

        Raises BadPayload for a result that no database can hold.
        """
        kept = None if result is None else check_payload({"result": result}, self._run.outcome_limit)["result"]
        failpoints.hit("transaction.before_end", cut=own.sever)
        if not await own.follow(lambda database: finalize.succeed_steps(database, self._run.lease, kept)):
            raise await ask(self._why_not)
        failpoints.hit("transaction.before_commit", cut=own.sever)
        try:
            is_acknowledged = await own.commit()
        except Exception:
            # Perhaps only the answer was lost. The attempt has a row if the COMMIT was applied.
            if not await ask(self._is_applied):
                raise
        else:
            if not is_acknowledged and not await ask(self._is_applied):
                raise self._unconfirmed()
        self.is_committed = True

    def _why_not(self) -> BaseException:
        """Why the last statement has changed no row."""
        lease = self._run.lease
        if self.database.read(lambda each: holding.still_held(each, [lease])):
            return UsageError(
                f"this connection is not to the database {self.database.location.label}, where run {lease.run_id} is"
            )
        return HandlerStopped(f"run {lease.run_id} has lost its lease, so its transaction was rolled back")

    def _is_applied(self) -> bool:
        """Whether the attempt has its row, which only its COMMIT has made visible, and a synchronous standby has it."""
        lease = self._run.lease
        with suppress(JobrunnerError):
            return lease in self.database.confirm(lambda each: holding.ended_attempts(each, [lease]))
        return False

    def _unconfirmed(self) -> CommitUnconfirmed:
        """The error of a COMMIT that was applied, and that no standby has confirmed."""
        return CommitUnconfirmed(
            f"the transaction of run {self._run.lease.run_id} was applied, but no synchronous standby has confirmed it;"
            " after a promotion it and the end of the run may be undone together"
        )
