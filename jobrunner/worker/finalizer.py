"""Finalizing: writes the ends of attempts, in groups, and goes on trying for as long as their leases can be held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from jobrunner import clock
from jobrunner.errors import ConfigurationError, ConnectionLost, DatabaseUnavailable
from jobrunner.lifecycle import AttemptResult
from jobrunner.log import Log
from jobrunner.model import ClaimedRun, Lease, Owner
from jobrunner.settings.config import Config
from jobrunner.store import finalize, holding
from jobrunner.store.database import Connection, Database
from jobrunner.store.finalize import Ended, Refusal
from jobrunner.store.holding import Renewal
from jobrunner.text import first_line_of
from jobrunner.worker.heartbeat import Heartbeat
from jobrunner.worker.run_log import log_ended
from jobrunner.worker.watchdog import Watchdog
from jobrunner.worker.writer import Writer

Answers: TypeAlias = list[Ended | Refusal]
_SLICE_SECONDS = 0.2
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1.0
MOST_UNWRITTEN = 256
"""Attempts that have ended, or may end at any moment since they are in a line: what a killed tick does twice."""
LONGEST_UNWRITTEN_SECONDS = 0.2
"""While an outcome has waited for longer to be written, no run is claimed or dealt out."""
_LARGEST_GROUP = MOST_UNWRITTEN
_WORTH_A_WRITER = 20
"""Runs in a group: a connection of its own is not opened for fewer."""
_LARGEST_TEXT = 1_000_000
"""Characters in one group: what it writes must be over long before the watch takes it for a call that hangs."""


@dataclass(slots=True, eq=False)
class _Pending:
    """``company`` is how many may share its transaction, itself included: fewer where that has failed."""

    run: ClaimedRun
    ending: AttemptResult
    since: float
    try_at: float
    company: int = _LARGEST_GROUP
    pause_seconds: float = _FIRST_PAUSE_SECONDS
    is_scrubbed: bool = False
    is_settled: bool = False
    has_failed: bool = False

    def length(self) -> int:
        """Roughly how many characters it writes."""
        ending = self.ending
        said = len(ending.output or "") + len(ending.traceback or "")
        return said if ending.result is None else said + len(str(ending.result))


class Finalizer:
    """The attempts that have ended and are not written yet. Main thread only; ``wake`` ends its wait for news.

    A large group is written beside the main loop, which deals out the next runs meanwhile, unless writers starve each
    other in this database.
    """

    def __init__(
        self,
        config: Config,
        owner: Owner,
        database: Database,
        heartbeat: Heartbeat,
        log: Log,
        counts: Counter[str],
        watch: Watchdog,
        wake: Callable[[], None],
    ) -> None:
        self.trouble: DatabaseUnavailable | None = None
        self._has_told = False
        self._config = config
        self._owner = owner
        self._database = database
        self._heartbeat = heartbeat
        self._log = log
        self._counts = counts
        self._pending: list[_Pending] = []
        # With the writer, who is made when the first large group comes.
        self._away: list[_Pending] = []
        self._make_writer: Callable[[], Writer[Answers]] = partial(Writer, database, watch, wake)
        self._writer: Writer[Answers] | None = None
        self._may_write_beside = not database.waits_unfairly

    def add(self, run: ClaimedRun, ending: AttemptResult) -> None:
        """An attempt has ended; it is written with the next ``work``."""
        now = clock.elapsed()
        self._pending.append(_Pending(run, ending, since=now, try_at=now))

    def is_settled(self) -> bool:
        """Whether nothing is left to be written."""
        return not self._pending and not self._away

    def unwritten(self) -> int:
        """How many attempts have ended and are not written yet."""
        return len(self._pending) + len(self._away)

    def leases(self) -> list[Lease]:
        """Those of the attempts that have ended and are not written yet."""
        return [each.run.lease for each in (*self._away, *self._pending)]

    def is_behind(self) -> bool:
        """Whether so much waits, or for so long, that nothing more should be begun.

        What the database has refused or could not write is tried again at leisure: it holds nobody up by its age.
        """
        if self.unwritten() >= MOST_UNWRITTEN:
            return True
        first = min((each.since for each in (*self._away, *self._pending) if not each.has_failed), default=None)
        return first is not None and clock.elapsed() - first > LONGEST_UNWRITTEN_SECONDS

    def next_try_at(self) -> float | None:
        """When ``work`` has something to do again, unless it is woken before; None: nothing is planned."""
        return None if self._away else min((each.try_at for each in self._pending), default=None)

    def work(self) -> bool:
        """Write what is due to be written; whether anything was, that was not at once.

        Of very many the rest is left to the next turn: meanwhile nobody listens to the children.
        """
        ends_at = clock.elapsed() + _SLICE_SECONDS
        was_answered = self._hear_writer()
        while not self._away and clock.elapsed() <= ends_at and (group := self._next_group()):
            self._try(group)
        return was_answered

    def close(self) -> None:
        """Let the writer go."""
        if self._writer is not None:
            self._writer.close()

    def _next_group(self) -> list[_Pending]:
        """Taken out of those pending: ``_take`` puts back what is not settled."""
        now = clock.elapsed()
        due = [each for each in self._pending if each.try_at <= now]
        group: list[_Pending] = []
        length = 0
        for each in due:
            length += each.length()
            if group and (each.company != group[0].company or length > _LARGEST_TEXT or len(group) == each.company):
                break
            group.append(each)
        taken = set(group)
        self._pending = [each for each in self._pending if each not in taken]
        return group

    def _try(self, group: list[_Pending]) -> None:
        write = partial(self._write, [(each.run.lease, each.ending) for each in group])
        writer = self._writer_for(group)
        if writer is not None:
            self._away = group
            writer.ask(write)
            return
        try:
            answers: Answers | Exception = write(self._database)
        except Exception as error:  # noqa: BLE001 - whatever the row is, it must not keep the tick from the others
            answers = error
        self._take(group, answers)

    def _writer_for(self, group: list[_Pending]) -> Writer[Answers] | None:
        if not self._may_write_beside or len(group) < _WORTH_A_WRITER:
            return None
        if self._writer is None:
            writer = self._make_writer()
            try:
                writer.start()
            except ConfigurationError:
                # The host is at its limit of threads; the main one does it as well.
                writer.close()
                self._may_write_beside = False
                return None
            self._writer = writer
        return self._writer

    def _hear_writer(self) -> bool:
        answers = self._writer.answer() if self._writer is not None else None
        if answers is None:
            return False
        group, self._away = self._away, []
        if isinstance(answers, DatabaseUnavailable):
            # Perhaps the server takes no more connections: the one that there is may do.
            self._may_write_beside = False
        self._take(group, answers)
        return True

    def _take(self, group: list[_Pending], answers: Answers | Exception) -> None:
        for each in group:
            each.has_failed = isinstance(answers, Exception)
        if isinstance(answers, DatabaseUnavailable):
            if isinstance(answers, ConnectionLost):
                # It may have been cut because it waited for one row, which somebody holds: the others go on without.
                self._part(group, 1)
            if not self._has_told:
                self._log.warning("finalize", result="to be tried again", runs=len(group), error=str(answers))
            self._has_told = True
            for each in group:
                self._postpone(each, answers)
        elif isinstance(answers, Exception):
            if len(group) == 1:
                self._scrub(group[0], answers)
            # Whichever is to blame is soon alone.
            self._part(group, max(1, len(group) // 2))
        else:
            self._take_each(group, answers)
        self._pending = [*(each for each in group if not each.is_settled), *self._pending]

    def _take_each(self, group: list[_Pending], answers: Answers) -> None:
        self._settle([each for each, answer in zip(group, answers, strict=True) if answer is not Refusal.LOCKED])
        for each, answer in zip(group, answers, strict=True):
            if answer is Refusal.LOCKED:
                # The first time it may be a beat of this tick's own.
                if each.pause_seconds == 2 * _FIRST_PAUSE_SECONDS:
                    self._say("finalize", each, f"{answer.value}; to be tried again")
                self._postpone(each, DatabaseUnavailable(f"run {each.run.lease.run_id}: {answer.value}"))
            else:
                self._has_told = False
                self._tell(each, answer)

    def _write(self, ends: list[tuple[Lease, AttemptResult]], database: Database) -> Answers:
        # Where writers starve each other, every write also renews the leases.
        due = self._heartbeat.due() if database.waits_unfairly else []

        def work(connection: Connection) -> tuple[Answers, Renewal]:
            answers = finalize.finalize_all(connection, self._owner, ends, self._config.deploy_grace)
            return answers, holding.renew(connection, due, self._config.lease)

        sent_at = clock.elapsed()
        answers, renewal = database.write(work)
        database.hit("finalize.committed")
        self._heartbeat.renewed(renewal.renewed, sent_at)
        return answers

    def _part(self, group: list[_Pending], company: int) -> None:
        for each in group:
            each.company = company

    def _settle(self, group: list[_Pending]) -> None:
        self._heartbeat.let_go(*(each.run.lease for each in group))
        for each in group:
            each.is_settled = True

    def _tell(self, pending: _Pending, answer: Ended | Refusal) -> None:
        if isinstance(answer, Ended):
            self._counts[log_ended(self._log, answer)] += 1
        elif answer is Refusal.ALREADY_APPLIED:
            self._counts[pending.ending.outcome.value] += 1
            self._say("finalized", pending, answer.value)
        else:
            self._counts["lost"] += 1
            self._say("lease lost", pending, f"{answer.value}; nothing written")

    def _postpone(self, pending: _Pending, error: DatabaseUnavailable) -> None:
        if self._heartbeat.time_left(pending.run.lease) <= 0:
            # Whoever recovers the run decides now; writing later could only be refused.
            self.trouble = error
            self._lose(pending, f"the lease ended before the database answered: {error}")
            return
        pending.try_at = clock.elapsed() + pending.pause_seconds
        pending.pause_seconds = min(pending.pause_seconds * 2, _LONGEST_PAUSE_SECONDS)

    def _lose(self, pending: _Pending, reason: str) -> None:
        self._settle([pending])
        self._counts["lost"] += 1
        self._say("not finalized", pending, reason)

    def _scrub(self, pending: _Pending, error: Exception) -> None:
        reason = first_line_of(error)
        if pending.is_scrubbed:
            self._lose(pending, reason)
            return
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

    def _say(self, event: str, pending: _Pending, result: str) -> None:
        run = pending.run
        self._log.warning(event, run_id=run.lease.run_id, job_type=run.job_type, attempt=run.attempt, result=result)
