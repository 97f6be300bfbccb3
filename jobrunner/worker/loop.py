"""The loop of one tick: its turns take runs through their stages, until nothing is claimable or its period is over.

The loop runs in the main thread. Handlers and commands run in other processes (``children``). The heartbeat's thread
renews the leases. No transaction is open while a handler runs. ``hand`` knows which runs are in hand, and in which
phase; ``life`` moves them on. This module knows when the tick claims, waits and ends.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, assert_never

from jobrunner import clock
from jobrunner.children.events import Died, Event, Ready, Reported, StartFailed
from jobrunner.children.supervisor import Supervisor
from jobrunner.errors import DatabaseHeld, DatabaseUnavailable, HandlersUnavailable
from jobrunner.worker import dependants
from jobrunner.worker.abandon import abandon
from jobrunner.worker.background_calls import BackgroundCalls
from jobrunner.worker.backpressure import declare_limits
from jobrunner.worker.claimer import Claimer
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import Hand
from jobrunner.worker.heartbeat import Heartbeat
from jobrunner.worker.life import Life
from jobrunner.worker.listening import CannotListen, Listening
from jobrunner.worker.outage import Call, Outage
from jobrunner.worker.period import LOOK_AGAIN_SECONDS, Budget, Period
from jobrunner.worker.phase import AT_WORK_PHASES, Phase
from jobrunner.worker.pools.pools import Pools
from jobrunner.worker.returner import Returner
from jobrunner.worker.stopper import Stopper
from jobrunner.worker.tick_record import report_host

_LONGEST_STEP_SECONDS = 0.5


class Loop:
    """Owns the parts of the tick. ``listening`` None means a plain tick, which ends when nothing is due."""

    def __init__(self, context: TickContext, supervisor: Supervisor, listening: Listening | None) -> None:
        self._context = context
        self._supervisor = supervisor
        self._budget = Budget(context)
        self._period: Period = listening or self._budget
        self._hand = hand = Hand(context.config.lease, supervisor.page)
        self._heartbeat = Heartbeat(context, hand, supervisor.wake)
        background: BackgroundCalls[Any] = BackgroundCalls(context, supervisor.wake)
        self._returner = Returner(context, hand)
        self._claimer = Claimer(context, hand, self._heartbeat, self._returner, background.another())
        self._pools = Pools(context, hand, supervisor)
        self._life = Life(context, hand, self._pools, self._claimer, background)
        self._finalizer = self._life.finalizer
        self._stopper = Stopper(context, hand, self._pools, self._life)
        self._outage = Outage()

    def run(self) -> None:
        """Work until there is nothing more to do.

        Raises HandlersUnavailable when the handlers cannot be imported, DatabaseUnavailable when the database did not
        answer. Before that it waits for every handler at work and finalizes all that it can.
        """
        self._heartbeat.start()
        try:
            # The first one may have been started before the tick was imported.
            if not self._supervisor.children:
                self._pools.starts.start(1)
            while self._turn():
                pass
            self._context.record.ended_by = "signal" if self._context.stop.at is not None else self._period.ended_by()
        except Exception:
            # Whatever the error is: no handler goes on, and no run is charged.
            self._supervisor.kill_all()
            self._claimer.close()
            abandon(self._context, self._hand, self._finalizer)
            raise
        finally:
            self._period.end()
            self._pools.close()
            self._claimer.close()
            self._finalizer.close()
            self._heartbeat.close()
        self._raise_trouble()

    def _turn(self) -> bool:
        """Take the runs through all stages once; whether there is a next turn. Beside each stage stand its phases."""
        self._heartbeat.note_step()
        self._give_back()  # RETURNING -> out of the hand
        self._look_for_more()
        self._claim()  # into the hand: WAITING, and then as for give
        if self._is_over():
            return False
        self._hear()  # WORKING, STOPPING -> ENDED; the next of a queue PREFETCHED -> WORKING
        self._stopper.stop_due()  # WORKING -> STOPPING
        if self._hand.count(Phase.WAITING):
            # Runs that have waited for those that ended now begin before these are written, which takes longer.
            self._life.give()
        self._write()  # ENDED -> WRITING -> out of the hand
        self._life.give()  # WAITING -> PREFETCHED, WORKING; what waits for too long -> RETURNING
        return True

    # When it ends.

    def _is_over(self) -> bool:
        return not self._hand.count(*AT_WORK_PHASES) and self._is_settled() and not self._may_go_on()

    def _is_settled(self) -> bool:
        """Whether nothing is left to write or to return, or only to return and the database is away for too long."""
        is_returned = not self._hand.count(Phase.WAITING) and self._returner.is_settled()
        return self._life.is_settled() and (is_returned or self._outage.has_lasted())

    def _may_go_on(self) -> bool:
        """Whether more may be claimed in this tick, now or when a child is ready."""
        if not self._may_claim():
            return False
        waits = self._outage.error is not None or self._period.is_open_ended
        return any(
            pool.capacity().is_usable
            and (waits or pool.ask_at <= clock.elapsed() or self._period.lasts_until(pool.opens_at))
            for pool in self._pools
        )

    def _may_claim(self) -> bool:
        return (
            self._context.stop.at is None
            and self._pools.refusal is None
            and self._period.goes_on()
            and (self._hand.count(*AT_WORK_PHASES) > 0 or self._waits_for_the_database())
        )

    def _waits_for_the_database(self) -> bool:
        """Whether to wait for a database that is away. A listening tick waits until its time is over."""
        return self._period.is_open_ended or not self._outage.has_lasted()

    def _raise_trouble(self) -> None:
        if self._pools.refusal is not None:
            raise self._pools.refusal
        if self._pools.starts.has_failed():
            self._report_failed_starts()
            raise HandlersUnavailable(*self._pools.starts.failures[-1])
        trouble = self._finalizer.trouble
        # Also a listening tick that was cut off until its end: its exit status tells that it was not relieved.
        trouble = self._outage.error or trouble
        if trouble is not None:
            raise trouble

    # Its stages.

    def _give_back(self) -> None:
        """Return runs that have not begun, and what a claim without an answer may have taken."""
        try:
            if self._returner.return_unstarted():
                self._pools.ask_soon()
            if not self._claimer.is_asking() and not self._returner.is_settled():
                self._context.counts["released"] += self._returner.return_unanswered()
                if self._returner.is_settled():
                    self._outage.end(Call.RETURN)
                    self._pools.ask_soon()
        except DatabaseUnavailable as error:
            self._note_outage(Call.RETURN, error)

    def _look_for_more(self) -> None:
        """Let a listening tick look for new runs. It begins to listen as soon as handlers could begin a run."""
        starts = self._pools.starts
        if starts.has_failed():
            self._listen_no_more()  # For commands only. An older tick, which has handlers, goes on listening.
        elif not self._may_claim():
            self._period.end()
        elif self._period.is_open_ended:
            # A child is kept ready, because starting one would delay a new run.
            self._pools.make_ready()
            is_ready = starts.are_known or not self._context.config.imports
            try:
                if self._period.look(is_ready=is_ready, is_free=not self._hand.count(*AT_WORK_PHASES)):
                    self._pools.ask_soon()
                if self._period.has_answered:
                    self._outage.end(Call.LOOK)
                if not self._period.is_needed:
                    self._listen_no_more()
            except CannotListen as error:
                self._note_outage(Call.ONCE, error)
                self._period = self._budget
            except DatabaseUnavailable as error:
                self._note_outage(Call.LOOK, error)

    def _listen_no_more(self) -> None:
        """Go on as a plain tick."""
        self._period.end()
        self._period = self._budget

    def _claim(self) -> None:
        """Claim as many runs as the pools have capacity for."""
        answers = self._claimer.answers
        try:
            self._life.take_answer()
            if self._may_claim() and self._may_ask():
                self._life.claim(self._period)
        except DatabaseUnavailable as error:
            self._note_failed_claim(error)
        else:
            if self._claimer.answers > answers:
                self._outage.end(Call.CLAIM)

    def _note_failed_claim(self, error: DatabaseUnavailable) -> None:
        # The database is there again when what the claim may have taken is returned. A lock may be held still.
        is_away = not isinstance(error, DatabaseHeld) and not self._returner.is_settled()
        self._note_outage(Call.RETURN if is_away else Call.CLAIM, error)

    def _may_ask(self) -> bool:
        """Whether it is time for the next claim, and nothing must be done before it."""
        if all(pool.ask_at > clock.elapsed() for pool in self._pools if pool.types.policies):
            return False
        return not self._life.is_claiming() and self._returner.is_free() and not self._finalizer.is_late()

    def _hear(self) -> None:
        """Wait for events. Take the messages and the deaths of children, and act on them."""
        events = self._supervisor.poll(*self._wait_seconds())
        for event in events:
            self._take_event(event)
        # Before the deaths, because a child that was killed for a lost lease has not crashed.
        self._stopper.act_on_news(self._heartbeat)
        for event in events:
            if isinstance(event, Died):
                self._life.reap(event.process)
        self._life.settle_doubts()

    def _write(self) -> None:
        """Write results. Let runs be claimed that waited for a process, or for the end of one of these."""
        if self._finalizer.work() or self._life.has_ended:
            # A type at its limit may be claimable again, now that the end of a run is written.
            self._life.has_ended = False
            self._pools.ask_soon()
        if self._life.has_ended_parent:
            self._life.has_ended_parent = False
            try:
                dependants.follow(self._context)
                self._claimer.look_at_all()
            except DatabaseUnavailable as error:
                # If the database does not answer now, the next tick acts on it.
                self._note_outage(Call.ONCE, error)
            self._pools.ask_soon()

    # What it waits for.

    def _wait_seconds(self) -> tuple[float, float]:
        """How long to wait for events, and how long to sleep first so that more events come together, in seconds."""
        capacities = [(pool, pool.capacity()) for pool in self._pools]
        due = [*self._stopper.next_steps(), *self._life.next_steps()]
        due += [capacity.next_step_at for _, capacity in capacities if capacity.next_step_at is not None]
        if (try_at := self._finalizer.next_try_at()) is not None:
            due.append(try_at)
        if self._may_claim():
            due.append(self._period.next_step_at())
            if not self._life.is_claiming() and not self._finalizer.is_late():
                due += [pool.ask_at for pool, each in capacities if pool.types.policies and each.claimable.any]
        wait_seconds = min(_LONGEST_STEP_SECONDS, min(due, default=float("inf")) - clock.elapsed())
        is_stopping = self._context.stop.at is not None
        return wait_seconds, 0.0 if is_stopping else max(each.gathering_seconds for _, each in capacities)

    def _take_event(self, event: Event) -> None:
        match event:
            case Reported():
                self._life.hear(event)
            case Ready():
                self._learn(event)
            case StartFailed():
                self._pools.starts.note_failure(event)
                if self._may_claim():
                    self._pools.starts.start(1)
            case Died():
                pass  # Reaped after all messages are heard.
            case _:
                assert_never(event)

    def _report_failed_starts(self) -> None:
        starts = self._pools.starts
        if not starts.are_known:
            with suppress(DatabaseUnavailable):
                report_host(self._context, (), starts.failures[-1])

    def _learn(self, ready: Ready) -> None:
        if self._pools.starts.are_known:
            if retired := self._pools.compare(ready.policies):
                result = "the code has changed; the next tick claims these"
                self._context.log.warning("deploy", result=result, types=retired)
            return
        self._pools.starts.seconds = clock.elapsed() - ready.child.spawned_at
        self._pools.learn(ready.policies)
        self._claimer.exempt_types = frozenset(policy.job_type for policy in ready.policies if policy.is_async)
        try:
            declare_limits(self._context, ready.policies)
            report_host(self._context, ready.policies)
        except DatabaseUnavailable as error:
            self._note_outage(Call.ONCE, error)

    def _note_outage(self, call: Call, error: DatabaseUnavailable) -> None:
        """Note that the database did not answer. The tick asks again soon, for as long as a restart takes."""
        self._pools.ask_in(LOOK_AGAIN_SECONDS)
        self._period.lose(error)
        if self._outage.note(call, error):
            self._context.log.error("database", result="unavailable", error=str(error))
