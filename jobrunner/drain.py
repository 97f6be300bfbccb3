"""Drain: claim, hand over, watch and finalize, until nothing is claimable, the batch or the budget is used.

One loop in the main thread. Handlers and commands run in processes of their own (``crews``); leases are renewed by the
heartbeat's thread. No transaction is open while a handler runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta

from jobrunner import clock
from jobrunner.attempt import Attempt, Why
from jobrunner.claiming import Claimer
from jobrunner.config import Config
from jobrunner.crews import Crew
from jobrunner.errors import BadPayload, DatabaseUnavailable, HandlersUnavailable
from jobrunner.execute.process import Process
from jobrunner.execute.supervisor import Died, Event, Ready, Said, StartFailed, Supervisor
from jobrunner.finalizing import Finalizer
from jobrunner.heartbeat import FENCE_SHARE, Heartbeat, News
from jobrunner.lifecycle import Ending
from jobrunner.limiting import declare_limits
from jobrunner.log import Log
from jobrunner.model import ClaimedRun, Owner, Policy
from jobrunner.payload import check_payload
from jobrunner.report import log_claimed
from jobrunner.staff import Staff
from jobrunner.stopping import StopRequest
from jobrunner.store.database import Database
from jobrunner.watch import Watch

_TURN_SECONDS = 0.5
_LOOK_AGAIN_SECONDS = 1.0
_PROGRESS_BYTES = 4096
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
        watch: Watch,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._config = config
        self._owner = owner
        self._database = database
        self._supervisor = supervisor
        self._log = log
        self._stop = stop
        self._heartbeat = Heartbeat(
            database, watch, lease=config.lease, every=config.heartbeat, log=log, wake=supervisor.wake
        )
        self._finalizer = Finalizer(config, owner, database, self._heartbeat, log, self.counts)
        self._claimer = Claimer(config, owner, database, self._heartbeat, log)
        self._attempts: dict[int, Attempt] = {}
        self._staff = Staff(config, supervisor, log, types)
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
                self._give_back_unanswered()
                self._claim()
                if not self._attempts and self._is_settled() and not self._may_go_on():
                    break
                self._turn()
        finally:
            self._staff.close()
            self._heartbeat.close()
        if self._staff.refusal is not None:
            raise self._staff.refusal
        if self._staff.handlers.has_failed():
            raise HandlersUnavailable(self._staff.handlers.failed_starts[-1])
        trouble = self._trouble or self._finalizer.trouble
        if trouble is not None:
            raise trouble

    def _is_settled(self) -> bool:
        """Whether nothing is left to be written, or the database has been away for too long."""
        return not self._finalizer.pending and (self._claimer.is_settled() or self._has_given_up())

    def _has_given_up(self) -> bool:
        return self._trouble is not None and clock.elapsed() - self._trouble_since >= _TROUBLE_SECONDS

    def _may_go_on(self) -> bool:
        """Whether more may be claimed in this tick, now or when a child is ready."""
        soon = self._staff.is_usable() if self._trouble is not None else self._staff.may_begin_more()
        return self._may_claim() and soon

    def _may_claim(self) -> bool:
        return (
            self._stop.at is None
            and self._staff.refusal is None
            and clock.elapsed() < self._budget_ends_at
            and self.counts["claimed"] < self._config.batch
            and (bool(self._attempts) or not self._has_given_up())
        )

    def _turn(self) -> None:
        events = self._supervisor.turn(self._pause())
        # The news first: whoever was killed for its lease has not crashed.
        self._hear_news()
        for event in events:
            self._handle(event)
        for attempt in list(self._attempts.values()):
            attempt.advance()
            if attempt.has_new_output():
                self._heartbeat.report(attempt.run.lease, output=attempt.tail.text())
        self._stop_if_told()
        self._finalizer.work()

    def _pause(self) -> float:
        steps = [attempt.next_step_at() for attempt in self._attempts.values()]
        due = [step for step in (*steps, self._finalizer.next_try_at()) if step is not None]
        if self._may_claim() and not self._suspect_at_work:
            due += self._staff.next_looks()
        return min(_TURN_SECONDS, min(due, default=float("inf")) - clock.elapsed())

    def _handle(self, event: Event) -> None:
        if isinstance(event, Ready):
            self._learn(event)
        elif isinstance(event, StartFailed):
            self._staff.handlers.take_failure(event)
            if self._may_claim():
                self._staff.handlers.grow(1)
        elif isinstance(event, Said):
            self._hear(event)
        elif isinstance(event, Died):
            self._bury(event.process)

    def _learn(self, ready: Ready) -> None:
        if self._staff.handlers.has_learned:
            return
        self._staff.learn(ready.policies)
        self._claimer.apart = frozenset(policy.job_type for policy in ready.policies if policy.is_async)
        try:
            declare_limits(self._database, ready.policies, self._log)
        except DatabaseUnavailable as error:
            self._take_trouble(error)

    # Claiming.

    def _claim(self) -> None:
        """Take as many runs as can begin at once: nothing is claimed that is not handed over."""
        if not self._may_claim() or self._suspect_at_work or not self._claimer.is_settled():
            return
        if all(crew.look_at > clock.elapsed() for crew in self._staff if crew.policies):
            return
        try:
            if self._checks_suspects is None:
                self._checks_suspects = self._claimer.is_suspect_due()
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
        if self._attempts or not self._staff.is_settled():
            return
        policies = [policy for crew in self._staff if crew.free() > 0 for policy in crew.policies.values()]
        self._suspect_at_work = self._checks_suspects = bool(self._take(policies, 1, suspect=True))

    def _claim_for(self, crew: Crew) -> None:
        if not crew.policies or crew.look_at > clock.elapsed():
            return
        policies = list(crew.policies.values())
        wanted = min(crew.free(), self._config.batch - self.counts["claimed"])
        if wanted > 0 and self._take(policies, wanted) < wanted:
            crew.look_again_in(_LOOK_AGAIN_SECONDS)
        elif spare := crew.growth():
            due = self._claimer.count_due(policies, spare)
            crew.grow(due - self._supervisor.starting)
            if not due:
                crew.look_again_in(_LOOK_AGAIN_SECONDS)

    def _take(self, policies: list[Policy], limit: int, *, suspect: bool = False) -> int:
        """Claim and hand over; returns how many."""
        claimed = self._claimer.take(policies, limit, suspect=suspect)
        for run in claimed.runs:
            self._begin(run, claimed.sent_at)
        return len(claimed.runs)

    def _give_back_unanswered(self) -> None:
        try:
            if not self._claimer.is_settled():
                self.counts["released"] += self._claimer.give_back_unanswered()
                if self._claimer.is_settled():
                    self._trouble = None
                    self._staff.look_soon()
        except DatabaseUnavailable as error:
            self._take_trouble(error)

    def _begin(self, run: ClaimedRun, claimed_at: float) -> None:
        self.counts["claimed"] += 1
        log_claimed(self._log, run)
        begun = self._staff.crew_of(run.job_type).begin(run)
        if isinstance(begun, Ending):
            self._heartbeat.hold(run.lease, claimed_at, lambda: None)
            self._heartbeat.is_over(run.lease)
            self._finalizer.add(run, begun)
        else:
            self._heartbeat.hold(run.lease, claimed_at, begun.process.kill)
            self._attempts[run.lease.run_id] = begun
        self._database.reach("attempt.handed_over")

    # Ending.

    def _hear(self, said: Said) -> None:
        attempt = self._attempts.get(said.frame.get("run_id", 0))
        if attempt is None or attempt.process is not said.child:
            return
        if said.frame["kind"] == "progress":
            with suppress(BadPayload):
                progress = check_payload(said.frame.get("progress"), _PROGRESS_BYTES)
                self._heartbeat.report(attempt.run.lease, progress=progress)
        elif said.frame["kind"] == "report":
            del self._attempts[attempt.run.lease.run_id]
            self._end(attempt, attempt.reported(said.frame))
            self._staff.crew_of(attempt.run.job_type).is_over(attempt)
        else:
            attempt.hear(said.frame)

    def _bury(self, process: Process) -> None:
        """A process has ended without a report, as commands do and children should not."""
        attempts = [each for each in self._attempts.values() if each.process is process]
        crew = self._staff.crew_of(attempts[0].run.job_type) if attempts else None
        for attempt, ending in crew.bury(attempts) if crew else ():
            del self._attempts[attempt.run.lease.run_id]
            self._end(attempt, ending)
        process.close()

    def _end(self, attempt: Attempt, ending: Ending) -> None:
        self._database.reach("attempt.ended")
        lease = attempt.run.lease
        self._heartbeat.is_over(lease)
        self._suspect_at_work = False
        self._staff.look_soon()
        if attempt.stopping is Why.LEASE_LOST:
            self._heartbeat.let_go(lease)
            self.counts["lost"] += 1
            return
        if attempt.stopping in (Why.SHUTDOWN, Why.UNRENEWED):
            self._say("stopped", attempt, result=ending.outcome.value, error=ending.error)
        self._finalizer.add(attempt.run, ending)

    def _hear_news(self) -> None:
        while not self._heartbeat.news.empty():
            news, lease = self._heartbeat.news.get()
            attempt = self._attempts.get(lease.run_id)
            if attempt is None or attempt.run.lease != lease:
                continue
            if news is News.CANCEL_REQUESTED:
                attempt.stop(Why.CANCEL)
            elif news is News.UNRENEWED:
                left = self._config.lease * (1 - FENCE_SHARE) / 2
                attempt.stop(Why.UNRENEWED, within=min(left, attempt.policy.kill_after))
            elif attempt.stop(Why.LEASE_LOST, within=timedelta(0)):
                self._say("lease lost", attempt, result="nothing written")

    def _say(self, event: str, attempt: Attempt, **fields: object) -> None:
        run = attempt.run
        self._log.warning(event, run_id=run.lease.run_id, job_type=run.job_type, attempt=run.attempt, **fields)

    def _stop_if_told(self) -> None:
        if self._stop.at is None:
            return
        grace = 0.0 if self._stop.times > 1 else self._config.grace.total_seconds()
        if clock.elapsed() >= self._stop.at + grace:
            for attempt in self._attempts.values():
                attempt.stop(Why.SHUTDOWN)

    def _take_trouble(self, error: DatabaseUnavailable) -> None:
        """The database is away: ask again in a moment, for as long as a restart takes."""
        self._staff.look_again_in(_LOOK_AGAIN_SECONDS)
        if self._trouble is None:
            self._trouble_since = clock.elapsed()
            self._log.error("database", result="unavailable", error=str(error))
        self._trouble = error
