"""Finalizing: writes the results of attempts in groups, and tries again for as long as the leases can be held."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from jobrunner import clock
from jobrunner.errors import ConnectionLost, DatabaseUnavailable
from jobrunner.lifecycle import AttemptResult
from jobrunner.model import Lease
from jobrunner.store.drivers.database import Connection, Database
from jobrunner.store.queue import finalize, holding
from jobrunner.store.queue.finalize import Ended, Refusal
from jobrunner.store.queue.holding import Renewal
from jobrunner.text import first_line_of
from jobrunner.worker.background_calls import BackgroundCalls
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import FailedWrite, Hand, RunInHand
from jobrunner.worker.phase import Phase
from jobrunner.worker.run_log import log_run

Answers: TypeAlias = list[Ended | Refusal]
Left: TypeAlias = tuple[RunInHand, Ended | Refusal | str | None]
Leave: TypeAlias = Callable[[Sequence[Left]], None]
_SLICE_SECONDS = 0.2
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1.0
MOST_UNWRITTEN = 512
"""The most attempts that have ended or are prefetched and may end at any moment: a killed tick does these twice."""
LONGEST_UNWRITTEN_SECONDS = 0.2
"""While a result has waited to be written for longer than this, no run is claimed or given to a pool."""
_LARGEST_GROUP = MOST_UNWRITTEN
_WORTH_A_THREAD = 20
"""Runs in a group, and those that may begin meanwhile: for fewer, the finalizer does not open a second connection."""
_LARGEST_TEXT = 1_000_000
"""Characters in one group: the write must end long before the watchdog cuts it as a call that hangs."""


class Finalizer:
    """Writes the results of the runs in hand that have ended. Main thread only.

    Another thread writes a large group while the main loop goes on. ``leave`` takes runs out of the hand, each with the
    answer, or with the reason why there will be none. ``may_begin`` tells how many runs need nothing but the main loop
    to begin. Others wait for a child, and a strict child for the end of the write: they gain nothing from a thread.
    """

    def __init__(
        self,
        context: TickContext,
        hand: Hand,
        background: BackgroundCalls[Answers],
        leave: Leave,
        may_begin: Callable[[], int],
    ) -> None:
        self.trouble: DatabaseUnavailable | None = None
        self._has_logged = False
        self._context = context
        self._hand = hand
        self._log = context.log
        self._background = background
        self._leave = leave
        self._have_left = False
        self._may_begin = may_begin
        # When the last group was sent.
        self._sent_at = 0.0

    def add(self, held: RunInHand, result: AttemptResult) -> None:
        """Take the result of a run. The next ``work`` writes it."""
        held.result, held.doubt_until = result, None

    def is_settled(self) -> bool:
        """Whether nothing is left to write. Results in doubt do not count."""
        in_doubt = sum(held.doubt_until is not None for held in self._hand.each_in(Phase.ENDED))
        return self.unwritten() == in_doubt

    def unwritten(self) -> int:
        """How many attempts have ended whose result is not written yet."""
        return self._hand.count(Phase.ENDED, Phase.WRITING)

    def is_behind(self) -> bool:
        """Whether too many results wait to be written, or one waits for too long, so that no more run should begin."""
        return self.unwritten() >= MOST_UNWRITTEN or self.is_late()

    def is_late(self) -> bool:
        """Whether a result waits for too long to be written, so that no more run should be claimed.

        A result whose write has failed does not count, so that one locked row does not stop the tick.
        """
        latest = clock.elapsed() - LONGEST_UNWRITTEN_SECONDS
        for phase in (Phase.WRITING, Phase.ENDED):
            for held in self._hand.each_in(phase):
                if held.write is None and held.doubt_until is None:
                    # The others of this phase have ended after it.
                    if held.ended_at is not None and held.ended_at < latest:
                        return True
                    break
        return False

    def next_try_at(self) -> float | None:
        """When ``work`` has something to do again. None means not before a group is written, or never."""
        if self._hand.count(Phase.WRITING):
            return None
        pending = (held.write for held in self._hand.each_in(Phase.ENDED) if held.doubt_until is None)
        return min((0.0 if write is None else write.try_at for write in pending), default=None)

    def work(self) -> bool:
        """Write the results that are due; whether a run has left, so that others may be claimed in its place.

        If there are very many, the rest is left to the next step, because the loop must also read from the children.
        """
        ends_at = clock.elapsed() + _SLICE_SECONDS
        self._have_left = False
        if (answers := self._background.answer()) is not None:
            self._take(answers)
        while not self._hand.count(Phase.WRITING) and clock.elapsed() <= ends_at and (group := self._next_group()):
            self._try(group)
        return self._have_left

    def close(self) -> None:
        """End the other thread."""
        self._background.close()

    def _next_group(self) -> list[RunInHand]:
        """Choose the results that are written together next, and move their runs to phase WRITING."""
        now = clock.elapsed()
        group: list[RunInHand] = []
        size = length = 0
        for held in self._hand.each_in(Phase.ENDED):
            write = held.write
            if held.doubt_until is not None or (write is not None and write.try_at > now):
                continue
            length += _length_of(held)
            its_size = _LARGEST_GROUP if write is None else write.group_size
            if group and (its_size != size or length > _LARGEST_TEXT or len(group) == size):
                break
            size = its_size
            group.append(held)
        for held in group:
            self._hand.move(held, Phase.WRITING)
        return group

    def _try(self, group: list[RunInHand]) -> None:
        ends = [(held.lease, held.result) for held in group if held.result is not None]
        work = partial(self._write, ends, _unwritten_of(group))
        self._sent_at = clock.elapsed()
        if len(group) + self._may_begin() >= _WORTH_A_THREAD and self._background.is_usable():
            self._background.ask(work)
            return
        try:
            answers: Answers | Exception = work(self._context.database)
        except Exception as error:  # noqa: BLE001 - one bad row must not stop the tick from writing the others
            answers = error
        self._take(answers)

    def _write(
        self, ends: list[tuple[Lease, AttemptResult]], checkpoints: Mapping[Lease, Any], database: Database
    ) -> Answers:
        due = self._hand.due_leases(database)
        config = self._context.config

        def work(connection: Connection) -> tuple[Answers, Renewal]:
            answers = finalize.finalize_all(connection, self._context.owner, ends, config.deploy_grace, checkpoints)
            return answers, holding.renew(connection, due, config.lease)

        sent_at = clock.elapsed()
        answers, renewal = database.write(work)
        database.hit("finalize.committed")
        self._hand.note_renewed(renewal.renewed, sent_at)
        return answers

    def _take(self, answers: Answers | Exception) -> None:
        """Take the answer for the runs in phase WRITING. Each leaves the hand, or goes back to ENDED to try again."""
        runs = self._hand.in_phase(Phase.WRITING)
        if not isinstance(answers, Exception):
            self._take_each(runs, answers)
            return
        group = [(held, self._note_failure(held)) for held in runs]
        if isinstance(answers, DatabaseUnavailable):
            if not self._has_logged:
                self._log.warning("finalize", result="to be tried again", runs=len(group), error=str(answers))
            self._has_logged = True
            for held, write in group:
                if isinstance(answers, ConnectionLost):
                    # Perhaps the call was cut because another transaction has locked one of the rows. Each result is
                    # written alone next, so that only that row has to wait.
                    write.group_size = 1
                self._postpone(held, write, answers)
            return
        if len(group) == 1:
            self._scrub(*group[0], answers)
        for _, write in group:
            # The group is halved until the row that cannot be written is alone.
            write.group_size = max(1, len(group) // 2)

    def _note_failure(self, held: RunInHand) -> FailedWrite:
        self._hand.move(held, Phase.ENDED)
        if held.write is None:
            held.write = FailedWrite(clock.elapsed(), _LARGEST_GROUP, _FIRST_PAUSE_SECONDS)
        return held.write

    def _take_each(self, runs: list[RunInHand], answers: Answers) -> None:
        left: list[Left] = []
        locked: list[RunInHand] = []
        for held, answer in zip(runs, answers, strict=True):
            if answer is Refusal.LOCKED:
                locked.append(held)
            else:
                left.append((held, answer))
        if left:
            self._has_logged = False
            self._let_go(left)
        reason = Refusal.LOCKED.value
        for held in locked:
            write = self._note_failure(held)
            if self._hand.was_beating(self._sent_at):
                # A beat of this tick has locked its rows, or had when the write was sent. Nobody needs to look.
                write.pause_seconds = _FIRST_PAUSE_SECONDS
            elif write.pause_seconds == 2 * _FIRST_PAUSE_SECONDS:
                # Not the first time: most locks are gone soon.
                log_run(self._log, "finalize", held.run, result=f"{reason}; to be tried again")
            self._postpone(held, write, DatabaseUnavailable(f"run {held.lease.run_id}: {reason}"))

    def _let_go(self, left: Sequence[Left]) -> None:
        self._have_left = True
        self._leave(left)

    def _postpone(self, held: RunInHand, write: FailedWrite, error: DatabaseUnavailable) -> None:
        if self._hand.time_left(held) <= 0:
            # The lease has expired, so recovery decides. A later write would be refused.
            self.trouble = error
            self._let_go([(held, f"the lease expired before the database answered: {error}")])
            return
        write.try_at = clock.elapsed() + write.pause_seconds
        write.pause_seconds = min(write.pause_seconds * 2, _LONGEST_PAUSE_SECONDS)

    def _scrub(self, held: RunInHand, write: FailedWrite, error: Exception) -> None:
        reason = first_line_of(error)
        if not self._is_checkpoint_written(held):
            return
        if write.is_scrubbed or held.result is None:
            self._let_go([(held, reason)])
            return
        log_run(self._log, "scrubbed", held.run, result=reason)
        write.is_scrubbed = True
        held.result = held.result._replace(
            error=None if held.result.error is None else "the error could not be stored as it was",
            error_type="unstorable" if held.result.error_type else None,
            traceback=None,
            output=None,
            result=None,
        )

    def _is_checkpoint_written(self, held: RunInHand) -> bool:
        """Write its checkpoint alone. False: that is what cannot be written, or another try follows anyway."""
        if (checkpoint := held.unwritten_checkpoint) is None:
            return True
        try:
            kept = self._context.database.write(partial(holding.keep, checkpoints={held.lease: checkpoint}))
        except DatabaseUnavailable:
            return False
        except Exception as error:  # noqa: BLE001 - the end of a run matters more than where its next attempt begins
            log_run(self._log, "checkpoint", held.run, result="not kept", error=first_line_of(error))
            held.checkpoint = held.kept
            return False
        self._hand.note_kept(dict.fromkeys(kept, checkpoint))
        return True


def _unwritten_of(group: Sequence[RunInHand]) -> dict[Lease, dict[str, Any]]:
    """The checkpoints of these runs that are not written yet."""
    return {held.lease: new for held in group if (new := held.unwritten_checkpoint) is not None}


def _length_of(held: RunInHand) -> int:
    """Roughly how many characters the write of its result has."""
    result = held.result
    if result is None:
        return 0
    length = len(result.output or "") + len(result.traceback or "")
    values = (result.result, held.unwritten_checkpoint)
    return length + sum(len(str(each)) for each in values if each is not None)
