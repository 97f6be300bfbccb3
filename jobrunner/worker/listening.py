"""Listening: a tick waits for new runs and claims them, until the next tick of its kind listens.

It waits for notifications. One may be lost on the way, so it also asks the database each second. If its connection is
lost, it connects again and goes on, for as long as its time lasts.
"""

from __future__ import annotations

from functools import partial

from jobrunner import clock
from jobrunner.children.supervisor import Supervisor
from jobrunner.errors import ConnectionLost, DatabaseUnavailable
from jobrunner.settings.config import LONGEST_LINGER
from jobrunner.store.queue.ticks import listen
from jobrunner.store.queue.ticks.listen import Listener, Reported
from jobrunner.store.upkeep.check import check_schema
from jobrunner.worker import housekeeping, tick_record
from jobrunner.worker.context import TickContext
from jobrunner.worker.lookback import Rarely
from jobrunner.worker.period import LOOK_AGAIN_SECONDS, Period

_ASK_SECONDS = 0.9
"""A little less than a second, so that it notices within one second that it is superseded or cut off."""
_APART_SECONDS = 0.01
"""At least this time passes between two questions, however many notifications arrive."""
_MOST_NOTIFICATIONS = 100
"""In a second. Notifications slow down the callers that enqueue, so after this many they pause until it is over."""
_PAUSED_ASK_SECONDS = 0.02
_CONNECT_AGAIN_SECONDS = 1.0
_RESTS = 100
"""After a question that took long it rests for so many times as long (``lookback``)."""


class CannotListen(DatabaseUnavailable):
    """The tick could not begin to listen. It goes on as a plain tick."""


class Listening(Period):
    """The period of a listening tick: until its time is over or the next tick of its kind listens."""

    is_open_ended = True

    def __init__(self, context: TickContext, supervisor: Supervisor) -> None:
        self._context = context
        self._config = context.config
        self._database = context.database
        self._log = context.log
        # A tick supersedes, and is superseded by, the ticks of the same kind.
        self._kind = context.kind
        self._supervisor = supervisor
        self._ends_at = clock.elapsed() + context.config.linger.total_seconds()
        self._is_over = False
        self._is_superseded = False
        self._listener: Listener | None = None
        self._was_notified = False
        self._second_began_at = 0.0
        self._notifications = 0
        self._claimed = 0
        self._questions = Rarely(_RESTS)
        self._asked_at = 0.0
        self._ask_at = 0.0
        # When the next slot of a schedule is due.
        self._slot_at = 0.0
        # When its connection was lost, the time at which it tries to listen again.
        self._begin_again_at: float | None = None

    def goes_on(self) -> bool:
        return not self._is_over and clock.elapsed() < self._ends_at

    def most_runs(self) -> float:
        return float("inf")

    def ended_by(self) -> str:
        return "superseded" if self._is_superseded else super().ended_by()

    @property
    def ask_again_seconds(self) -> float:
        # ``look`` asks instead: its question is cheaper than a claim, and says when a claim is needed.
        return float("inf") if self._has_begun() else LOOK_AGAIN_SECONDS

    def look(self, *, is_ready: bool, is_free: bool) -> bool:
        """Begin to listen as soon as handlers are ready, which ends an older tick. Then ask when there is a reason to.

        While no handler is at work, it also recovers and expands. While one is, that would delay its runs, so the next
        tick does it. Raises DatabaseUnavailable, and ConnectionLost as soon as the connection is lost.
        """
        self.has_answered = False
        if not self._has_begun():
            if self._begin_again_at is not None:
                return self._begin_again()
            if is_ready:
                self._begin()
            return False
        if self._listener is None:
            return False
        self._count_notifications(self._listener)
        if clock.elapsed() < self._next_question_at():
            return False
        if self._was_notified and self._notifications_pay():
            self._was_notified = False
            self._asked_at = clock.elapsed()
            return True
        return self._ask(is_free)

    def next_step_at(self) -> float:
        if self._listener is None:
            return min(self._ends_at, self._begin_again_at or self._ends_at)
        step = min(self._next_question_at(), self._ends_at)
        if self._listener.look_seconds is None:
            return step
        return min(step, clock.elapsed() + self._listener.look_seconds)

    def end(self, trouble: DatabaseUnavailable | None = None) -> None:
        if trouble is None:
            self._end("over")
        else:
            self.trouble = self.trouble or str(trouble)
            self._end("ended early", error=self.trouble)

    def _has_begun(self) -> bool:
        return self._listener is not None or self._is_over

    def lose(self, error: DatabaseUnavailable) -> None:
        if self._listener is None or not isinstance(error, ConnectionLost):
            # It listens still, or tries to already.
            return
        if not self._database.location.has_server:
            # Another file may have its name by now, and the other connections of this tick have the old one.
            self.end(error)
            return
        self._log.warning("linger", result="lost its connection", error=str(error))
        self._begin_again_at = clock.elapsed()
        # Before the listener is closed, which would ask the lost connection.
        self._database.close()
        self._forget_listener()

    def _begin(self) -> None:
        try:
            if not self._listen():
                return
        except DatabaseUnavailable as error:
            self.end(error)
            raise CannotListen(str(error)) from error
        types = self._context.types
        self._log.info("linger", result="listens", types=None if types is None else sorted(types))

    def _begin_again(self) -> bool:
        """Connect and listen again, at most once in a second; whether there may be runs that nobody has announced."""
        if self._begin_again_at is None or clock.elapsed() < self._begin_again_at:
            return False
        self._begin_again_at = clock.elapsed() + _CONNECT_AGAIN_SECONDS
        # It may be another server by now, with a schema of its own.
        self._database.read(check_schema)
        self._begin_again_at, self._ask_at, self.has_answered = None, 0.0, True
        if self._listen():
            self._log.info("linger", result="listens again")
        return True

    def _listen(self) -> bool:
        """Listen from now on. False: enough other hosts do, and this tick goes on as a plain one."""
        listener = Listener(self._database)
        try:
            reported = self._report()
        except DatabaseUnavailable:
            listener.close()
            raise
        if reported is Reported.ENOUGH:
            listener.close()
            self.is_needed = False
            self._end(f"does not listen: {self._config.listeners} other hosts do")
            return False
        self._listener = listener
        if listener.descriptor is not None:
            self._supervisor.watch(listener.descriptor)
        return True

    def _report(self) -> Reported:
        most, longest = self._config.listeners, LONGEST_LINGER
        report = partial(listen.report_listening, kind=self._kind, most=most, longest=longest)
        if (reported := self._database.write(partial(report, row=self._context.row))) is not Reported.LOST:
            return reported
        # It is another server by now, which was promoted without the row. Another tick may have its number there.
        tick_record.open_row(self._context)
        self._log.warning("linger", result="its row was lost, and it has a new one")
        return self._database.write(partial(report, row=self._context.row))

    def _count_notifications(self, listener: Listener) -> None:
        notified = listener.notifications()
        if clock.elapsed() - self._second_began_at >= 1:
            self._second_began_at, self._notifications = clock.elapsed(), 0
            # Runs that were committed during the pause have sent no notification.
            self._was_notified = self._was_notified or listener.is_paused
            listener.pause(paused=False)
        self._notifications += notified
        self._was_notified = self._was_notified or notified > 0
        if self._notifications >= _MOST_NOTIFICATIONS:
            listener.pause(paused=True)

    def _notifications_pay(self) -> bool:
        """Whether the last notification has led to a run, so that it is worth claiming without a question before."""
        before, self._claimed = self._claimed, self._context.counts["claimed"]
        return self._claimed > before

    def _ask(self, is_free: bool) -> bool:
        self._was_notified = False
        self._asked_at = clock.elapsed()
        self._ask_at = self._asked_at + _ASK_SECONDS
        tick_id, kind = self._context.record.tick_id, self._kind
        if self._questions.rest_seconds() and self._asked_at < self._slot_at:
            # A claim that does not look at all is the cheaper question then (``lookback``).
            is_superseded = self._database.read(partial(listen.is_superseded, tick_id=tick_id, kind=kind))
            self._questions.part_took(clock.elapsed() - self._asked_at)
            self.has_answered = True
            return not self._is_over_if(is_superseded)
        outlook = self._database.read(partial(listen.look_ahead, tick_id=tick_id, kind=kind))
        self._questions.took(clock.elapsed() - self._asked_at)
        self.has_answered = True
        self._ask_at = self._asked_at + min(_ASK_SECONDS, outlook.next_in)
        self._slot_at = self._asked_at + outlook.next_slot_in
        if self._is_over_if(outlook.is_superseded):
            return False
        if outlook.is_due and is_free:
            housekeeping.prepare(self._context)
            return True
        return outlook.is_claimable

    def _is_over_if(self, is_superseded: bool) -> bool:
        if is_superseded:
            self._is_superseded = True
            self._end("superseded")
        return is_superseded

    def _next_question_at(self) -> float:
        at = self._asked_at if self._was_notified else self._ask_at
        if self._listener is not None and self._listener.is_paused:
            at = min(at, self._asked_at + _PAUSED_ASK_SECONDS)
        return max(at, self._asked_at + _APART_SECONDS)

    def _end(self, result: str, **fields: str) -> None:
        if self._is_over:
            return
        self._is_over = True
        (self._log.warning if fields else self._log.info)("linger", result=result, **fields)
        self._forget_listener()

    def _forget_listener(self) -> None:
        listener, self._listener = self._listener, None
        if listener is None:
            return
        if listener.descriptor is not None:
            self._supervisor.unwatch(listener.descriptor)
        listener.close()
