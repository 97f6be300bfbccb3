"""Drain: claim, hand over, watch and finalize, until nothing is claimable, the batch or the budget is used.

One loop in the main thread. Handlers and commands run in processes of their own (``crews``); leases are renewed by the
heartbeat's thread. No transaction is open while a handler runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from jobrunner import clock
from jobrunner.children.supervisor import Died, Event, Ready, Said, StartFailed, Supervisor
from jobrunner.errors import ConnectionLost, DatabaseUnavailable, HandlersUnavailable
from jobrunner.log import Log
from jobrunner.model import Owner
from jobrunner.settings.config import Config
from jobrunner.store.database import Database
from jobrunner.worker.abandon import hand_back
from jobrunner.worker.attempt import Why
from jobrunner.worker.backpressure import declare_limits
from jobrunner.worker.claimer import Claimer
from jobrunner.worker.finalizer import Finalizer
from jobrunner.worker.heartbeat import Heartbeat
from jobrunner.worker.listen import Listening
from jobrunner.worker.pools.pool import Crew
from jobrunner.worker.pools.pools import Staff
from jobrunner.worker.runs_in_hand import Attendant
from jobrunner.worker.stop_signals import StopRequest
from jobrunner.worker.watchdog import Watchdog

_TURN_SECONDS = 0.5
_LOOK_AGAIN_SECONDS = 1.0
_TROUBLE_SECONDS = 5.0
"""A restart of the database takes this long at most, or the tick gives up: the next one comes in a minute."""


class Drain:
    """One tick's drain. ``types`` None: everything that this host can run."""

    def __init__(
        self,
        config: Config,
        owner: Owner,
        database: Database,
        supervisor: Supervisor,
        log: Log,
        stop: StopRequest,
        types: Collection[str] | None,
        watch: Watchdog,
        lingering: Listening | None = None,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._config = config
        self._owner = owner
        self._database = database
        self._supervisor = supervisor
        self._log = log
        self._told = stop
        self._lingering = lingering
        self._heartbeat = Heartbeat(
            database, watch, lease=config.lease, every=config.heartbeat, log=log, wake=supervisor.wake
        )
        self._finalizer = Finalizer(config, owner, database, self._heartbeat, log, self.counts, watch, supervisor.wake)
        self._claimer = Claimer(config, owner, database, self._heartbeat, log, supervisor.page)
        self._staff = Staff(config, supervisor, log, types)
        self._in_hand = Attendant(
            config,
            database,
            self._staff,
            self._claimer,
            self._heartbeat,
            self._finalizer,
            log,
            self.counts,
            stop,
            supervisor.page,
        )
        self._budget_ends_at = clock.elapsed() + config.budget.total_seconds()
        # None: not asked yet.
        self._checks_suspects: bool | None = None
        self._suspect_at_work = False
        self._trouble: DatabaseUnavailable | None = None
        self._trouble_since = 0.0

    def run(self) -> None:
        """Work until there is nothing more to do.

        Raises HandlersUnavailable when the handlers cannot be imported, DatabaseUnavailable when the database was
        away when it was needed; both only after every handler at work was waited for and finalized as far as
        can be.
        """
        self._heartbeat.start()
        try:
            self._staff.handlers.grow(1)
            while True:
                self._heartbeat.turn()
                self._give_back()
                self._try_to_linger()
                self._claim()
                if not self._in_hand.attempts and self._is_settled() and not self._may_go_on():
                    break
                self._turn()
        except Exception:
            self._abandon()
            raise
        finally:
            if self._lingering is not None:
                self._lingering.end()
            self._staff.close()
            self._finalizer.close()
            self._heartbeat.close()
        if self._staff.refusal is not None:
            raise self._staff.refusal
        if self._staff.handlers.has_failed():
            raise HandlersUnavailable(self._staff.handlers.failed_starts[-1])
        trouble = self._finalizer.trouble
        if self._lingering is None or not isinstance(self._trouble, ConnectionLost) or not self._claimer.is_settled():
            # A tick that waits loses nothing with its connection, and the next one tells if the database is away.
            trouble = self._trouble or trouble
        if trouble is not None:
            raise trouble

    def _abandon(self) -> None:
        """Whatever it is that went wrong: no handler works on, and nobody is charged for it."""
        self._supervisor.kill_all()
        hand_back(self._database, self._owner, self._heartbeat, self._finalizer, self._in_hand.begun(), self._log)

    def _is_settled(self) -> bool:
        """Whether nothing is left to be written, or the database has been away for too long."""
        is_given_out = not self._staff.has_waiting() and self._claimer.is_settled()
        return self._in_hand.is_settled() and self._finalizer.is_settled() and (is_given_out or self._has_given_up())

    def _has_given_up(self) -> bool:
        return self._trouble is not None and clock.elapsed() - self._trouble_since >= _TROUBLE_SECONDS

    def _may_go_on(self) -> bool:
        """Whether more may be claimed in this tick, now or when a child is ready."""
        waits = self._trouble is not None or self._lingering is not None
        soon = self._staff.is_usable() if waits else self._staff.may_begin_more()
        return self._may_claim() and soon

    def _may_claim(self) -> bool:
        return (
            self._told.at is None
            and self._staff.refusal is None
            and self._has_time()
            and (bool(self._in_hand.attempts) or not self._has_given_up())
        )

    def _has_time(self) -> bool:
        if self._lingering is not None:
            return self._lingering.goes_on()
        return clock.elapsed() < self._budget_ends_at and self.counts["claimed"] < self._config.batch

    def _turn(self) -> None:
        events = self._supervisor.turn(self._pause(), self._gathering_seconds())
        for event in events:
            self._handle(event)
        # Before the deaths: whoever was killed for its lease has not crashed.
        self._in_hand.hear_news()
        for event in events:
            if isinstance(event, Died):
                self._in_hand.bury(event.process)
        self._in_hand.settle()
        self._in_hand.advance()
        self._stop_if_told()
        if self._finalizer.work():
            # Runs whose end was not written yet had kept their type from being claimed.
            self._staff.look_soon()
        self._in_hand.deal(take_back=self._told.at is not None)

    def _pause(self) -> float:
        due = self._in_hand.next_steps()
        if (try_at := self._finalizer.next_try_at()) is not None:
            due.append(try_at)
        if self._may_claim() and not self._suspect_at_work and not self._finalizer.is_behind():
            due += self._staff.next_looks()
        if self._may_claim() and self._lingering is not None:
            due.append(self._lingering.next_step_at())
        return min(_TURN_SECONDS, min(due, default=float("inf")) - clock.elapsed())

    def _gathering_seconds(self) -> float:
        return self._staff.gathering_seconds() if self._told.at is None else 0.0

    def _handle(self, event: Event) -> None:
        if isinstance(event, Ready):
            self._learn(event)
        elif isinstance(event, StartFailed):
            self._staff.handlers.take_failure(event)
            if self._may_claim():
                self._staff.handlers.grow(1)
        elif isinstance(event, Said):
            self._in_hand.hear(event)

    def _learn(self, ready: Ready) -> None:
        if self._staff.handlers.has_learned:
            if retired := self._staff.compare(ready.policies):
                self._log.warning("deploy", result="the code has changed; the next tick claims these", types=retired)
            return
        self._staff.learn(ready.policies)
        self._claimer.apart = frozenset(policy.job_type for policy in ready.policies if policy.is_async)
        try:
            declare_limits(self._database, ready.policies, self._log)
        except DatabaseUnavailable as error:
            self._take_trouble(error)

    # Listening.

    def _try_to_linger(self) -> None:
        if self._lingering is not None:
            try:
                self._linger(self._lingering)
            except DatabaseUnavailable as error:
                self._take_trouble(error)

    def _linger(self, lingering: Listening) -> None:
        """Hear what there is to do, once there are hands for it."""
        handlers = self._staff.handlers
        if handlers.has_failed():
            # What waits for nobody is worked on as in any tick; an older one, that has handlers, stays.
            lingering.end()
            self._lingering = None
        elif not self._may_claim():
            lingering.end()
        elif not lingering.has_begun():
            if handlers.has_learned or not self._config.imports:
                self._begin_to_linger(lingering)
        else:
            # Somebody is kept ready: to start a child takes longer than anybody wants to wait.
            self._staff.is_settled()
            if lingering.ask(claimed=self.counts["claimed"], hands_are_free=not self._in_hand.attempts):
                self._staff.look_soon()

    def _begin_to_linger(self, lingering: Listening) -> None:
        try:
            lingering.begin(self._supervisor)
        except DatabaseUnavailable:
            # Whatever keeps it from listening (it is told) keeps no run from being done, as in any tick.
            self._lingering = None

    def _look_again_seconds(self) -> float:
        if self._lingering is not None and self._lingering.has_begun():
            # Its question is cheaper than a claim, and calls for one.
            return float("inf")
        return _LOOK_AGAIN_SECONDS

    # Claiming.

    def _claim(self) -> None:
        """Take as many runs as the crews have room for."""
        self._suspect_at_work = self._suspect_at_work and bool(self._in_hand.attempts)
        if not self._may_claim() or self._suspect_at_work or not self._claimer.may_take():
            return
        if self._finalizer.is_behind():
            return
        if all(crew.look_at > clock.elapsed() for crew in self._staff if crew.policies):
            return
        try:
            if self._checks_suspects is None:
                self._checks_suspects = self._claimer.is_quarantined_due()
            if self._checks_suspects:
                self._claim_suspect()
            else:
                for crew in self._staff:
                    self._claim_for(crew)
            self._trouble = None
        except DatabaseUnavailable as error:
            self._take_trouble(error)

    def _claim_suspect(self) -> None:
        """A suspect, one that took its owner down twice in a row, is alone in its tick: before all others."""
        if self._in_hand.attempts or self._staff.has_waiting() or not self._staff.is_settled():
            return
        policies = [policy for crew in self._staff if crew.room().any for policy in crew.policies.values()]
        claimed = self._claimer.take(policies, 1, busy=self._staff.busy(), quarantined=True)
        self._suspect_at_work = self._checks_suspects = bool(claimed.runs)
        self._in_hand.take(claimed)

    def _claim_for(self, crew: Crew) -> None:
        if not crew.policies or crew.look_at > clock.elapsed():
            return
        policies, room = list(crew.policies.values()), crew.room()
        wanted = room.runs(room.places)
        if self._lingering is None:
            wanted = min(wanted, self._config.batch - self.counts["claimed"])
        if wanted > 0:
            claimed = self._claimer.take(policies, wanted, busy=self._staff.busy(), room=room, most=crew.most())
            if not claimed.may_be_more:
                crew.look_again_in(self._look_again_seconds())
            self._in_hand.take(claimed)
        if crew.look_at <= clock.elapsed() and (spare := crew.growth()):
            # Those that wait for a child are at work already, as far as the database knows.
            due = self._claimer.count_due(policies, spare) + crew.has_waiting()
            crew.grow(due - self._supervisor.starting)
            if not due:
                crew.look_again_in(self._look_again_seconds())

    def _give_back(self) -> None:
        try:
            if self._claimer.give_back_unwanted():
                self._staff.look_soon()
            if not self._claimer.is_settled():
                self.counts["released"] += self._claimer.give_back_unanswered()
                if self._claimer.is_settled():
                    self._trouble = None
                    self._staff.look_soon()
        except DatabaseUnavailable as error:
            self._take_trouble(error)

    def _stop_if_told(self) -> None:
        if self._told.at is None:
            return
        grace = 0.0 if self._told.times > 1 else self._config.grace.total_seconds()
        if clock.elapsed() >= self._told.at + grace:
            self._in_hand.stop_all(Why.SHUTDOWN)

    def _take_trouble(self, error: DatabaseUnavailable) -> None:
        """The database is away: ask again in a moment, for as long as a restart takes."""
        self._staff.look_again_in(_LOOK_AGAIN_SECONDS)
        if self._lingering is not None:
            self._lingering.end(error)
        if self._trouble is None:
            self._trouble_since = clock.elapsed()
            self._log.error("database", result="unavailable", error=str(error))
        self._trouble = error
