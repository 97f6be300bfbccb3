"""Finalizing: writes the end of each attempt, and goes on trying for as long as its lease can be held."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from jobrunner import clock
from jobrunner.config import Config
from jobrunner.errors import DatabaseUnavailable
from jobrunner.heartbeat import Heartbeat
from jobrunner.lifecycle import Ending
from jobrunner.log import Log
from jobrunner.model import ClaimedRun, Owner
from jobrunner.report import log_ended
from jobrunner.store import claims, endings
from jobrunner.store.database import Connection, Database
from jobrunner.store.endings import Ended, Refusal

_SLICE_SECONDS = 0.2
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1.0


@dataclass(slots=True)
class _Pending:
    run: ClaimedRun
    ending: Ending
    try_at: float
    pause_seconds: float = _FIRST_PAUSE_SECONDS
    is_scrubbed: bool = False


class Finalizer:
    """The attempts that have ended and are not written yet. Main thread only."""

    def __init__(
        self, config: Config, owner: Owner, database: Database, heartbeat: Heartbeat, log: Log, counts: Counter[str]
    ) -> None:
        self.pending: list[_Pending] = []
        self.trouble: DatabaseUnavailable | None = None
        self._config = config
        self._owner = owner
        self._database = database
        self._heartbeat = heartbeat
        self._log = log
        self._counts = counts

    def add(self, run: ClaimedRun, ending: Ending) -> None:
        """An attempt has ended; it is written with the next ``work``."""
        self.pending.append(_Pending(run, ending, clock.elapsed()))

    def next_try_at(self) -> float | None:
        """When ``work`` has something to do again; None: nothing is pending."""
        return min((each.try_at for each in self.pending), default=None)

    def work(self) -> None:
        """Write what is due to be written. Each on its own: one that cannot be written keeps no other back.

        Of very many the rest is left to the next turn: meanwhile nobody listens to the children.
        """
        ends_at = clock.elapsed() + _SLICE_SECONDS
        self.pending = [
            each
            for each in self.pending
            if each.try_at > clock.elapsed() or clock.elapsed() > ends_at or not self._try(each)
        ]

    def _try(self, pending: _Pending) -> bool:
        """Whether the attempt is settled, one way or the other."""
        try:
            answer = self._write(pending)
        except DatabaseUnavailable as error:
            return self._postpone(pending, error)
        except Exception as error:  # noqa: BLE001 - whatever the row is, it must not keep the tick from the others
            return self._scrub(pending, error)
        self._settle(pending, answer)
        return True

    def _write(self, pending: _Pending) -> Ended | Refusal:
        held = self._heartbeat.held() if self._database.waits_unfairly else []
        sent_at = clock.elapsed()

        def work(connection: Connection) -> Ended | Refusal:
            answer = endings.finalize(connection, self._owner, pending.run.lease, pending.ending)
            claims.renew(connection, held, self._config.lease)
            return answer

        answer = self._database.write(work)
        self._database.reach("finalize.committed")
        self._heartbeat.renewed(held, sent_at)
        return answer

    def _settle(self, pending: _Pending, answer: Ended | Refusal) -> None:
        self._heartbeat.let_go(pending.run.lease)
        if isinstance(answer, Ended):
            self._counts[log_ended(self._log, answer)] += 1
        elif answer is Refusal.ALREADY_APPLIED:
            self._counts[pending.ending.outcome.value] += 1
            self._say("finalized", pending, answer.value)
        else:
            self._counts["lost"] += 1
            self._say("lease lost", pending, f"{answer.value}; nothing written")

    def _postpone(self, pending: _Pending, error: DatabaseUnavailable) -> bool:
        if self._heartbeat.time_left(pending.run.lease) <= 0:
            # Whoever recovers the run decides now; writing later could only be refused.
            self.trouble = error
            self._heartbeat.let_go(pending.run.lease)
            self._counts["lost"] += 1
            self._say("not finalized", pending, f"the lease ended before the database answered: {error}")
            return True
        pending.try_at = clock.elapsed() + pending.pause_seconds
        pending.pause_seconds = min(pending.pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
        return False

    def _scrub(self, pending: _Pending, error: Exception) -> bool:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        if pending.is_scrubbed:
            self._heartbeat.let_go(pending.run.lease)
            self._counts["lost"] += 1
            self._say("not finalized", pending, reason)
            return True
        self._say("scrubbed", pending, reason)
        pending.is_scrubbed = True
        pending.ending = replace(
            pending.ending,
            error=None if pending.ending.error is None else "the error could not be stored as it was",
            error_type="unstorable" if pending.ending.error_type else None,
            traceback=None,
            output=None,
            result=None,
        )
        return False

    def _say(self, event: str, pending: _Pending, result: str) -> None:
        run = pending.run
        self._log.warning(event, run_id=run.lease.run_id, job_type=run.job_type, attempt=run.attempt, result=result)
