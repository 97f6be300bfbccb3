"""The end of a run in its handler's own transaction: what ``with`` and ``async with`` have in common."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from jobrunner.durations import format_duration
from jobrunner.effects.database import ChildDatabase
from jobrunner.effects.once import EffectRun
from jobrunner.errors import CommitUnconfirmed, JobrunnerError, TransactionTooLong, UsageError
from jobrunner.jobs.outcomes import HandlerStopped
from jobrunner.jobs.payload import check_payload
from jobrunner.store.callers.async_transactions import AsyncOwnTransaction
from jobrunner.store.callers.transactions import OwnTransaction
from jobrunner.store.drivers.steps import Steps
from jobrunner.store.queue import finalize, holding

_LONGEST_SHARE = 0.25
"""Of the lease: on SQLite nobody else can write while the transaction is open, not even a heartbeat."""


class RunEnd:
    """The end of one run. ``open`` is its transaction while the handler is inside it; a run has one."""

    def __init__(self, database: ChildDatabase, run: EffectRun) -> None:
        self.database = database
        self.is_committed = False
        self.open: OwnTransaction | AsyncOwnTransaction | None = None
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
            raise UsageError("a run has one transaction of its own, because its end is committed with it")

    def checked(self, result: object) -> object:
        """The result as it is stored. Raises BadPayload for one that no database can hold."""
        return None if result is None else check_payload({"result": result}, self._run.outcome_limit)["result"]

    def steps(self, database: str, result: object) -> Steps[bool]:
        """The last statements before COMMIT. False: the lease is lost."""
        return finalize.succeed_steps(database, self._run.lease, result)

    def why_not(self) -> BaseException:
        """Why the last statement has changed no row."""
        lease = self._run.lease
        if self.database.read(lambda each: holding.still_held(each, [lease])):
            return UsageError(
                f"this connection is not to the database {self.database.location.label}, where run {lease.run_id} is"
            )
        return HandlerStopped(f"run {lease.run_id} has lost its lease, so its transaction was rolled back")

    def is_applied(self) -> bool:
        """Whether the attempt has its row, which only its COMMIT has made visible, and a synchronous standby has it."""
        lease = self._run.lease
        with suppress(JobrunnerError):
            return lease in self.database.confirm(lambda each: holding.ended_attempts(each, [lease]))
        return False

    def unconfirmed(self) -> CommitUnconfirmed:
        """The error of a COMMIT that was applied, and that no standby has confirmed."""
        return CommitUnconfirmed(
            f"the transaction of run {self._run.lease.run_id} was applied, but no synchronous standby has confirmed it;"
            " after a promotion it and the end of the run may be undone together"
        )
