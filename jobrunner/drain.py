"""Drain: claim, hand over, watch and finalize, until nothing is claimable, the batch or the budget is used.

One loop in the main thread. Handlers run in children; leases are renewed by the heartbeat's thread. No
transaction is open while a handler runs.
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
from jobrunner.errors import BadPayload, DatabaseUnavailable, HandlersUnavailable, UsageError
from jobrunner.execute.frames import Frame
from jobrunner.execute.process import ChildProcess
from jobrunner.execute.supervisor import Died, Event, Ready, Said, StartFailed, Supervisor
from jobrunner.finalizing import Finalizer
from jobrunner.heartbeat import FENCE_SHARE, Heartbeat, News
from jobrunner.log import Log
from jobrunner.model import ClaimedRun, Lease, Owner, Policy
from jobrunner.payload import check_payload
from jobrunner.report import log_claimed
from jobrunner.stopping import StopRequest
from jobrunner.store.database import Database
from jobrunner.watch import Watch

_TURN_SECONDS = 0.5
_MOST_FAILED_STARTS = 2
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
        self._types = types
        self._heartbeat = Heartbeat(
            database, watch, lease=config.lease, every=config.heartbeat, log=log, wake=supervisor.wake
        )
        self._finalizer = Finalizer(config, owner, database, self._heartbeat, log, self.counts)
        self._claimer = Claimer(config, owner, database, self._heartbeat, log)
        self._attempts: dict[ChildProcess, Attempt] = {}
        self._policies: dict[str, Policy] | None = None
        self._failed_starts: list[str] = []
        self._began_at = clock.elapsed()
        self._budget_ends_at = self._began_at + config.budget.total_seconds()
        self._look_at = 0.0
        self._checks_suspects = True
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
            self._spawn(1)
            while True:
                self._heartbeat.turn()
                self._give_back_unanswered()
                self._claim()
                if not self._attempts and self._is_settled() and not self._may_go_on():
                    break
                self._turn()
        finally:
            self._heartbeat.close()
        if self._has_no_children():
            raise HandlersUnavailable(self._failed_starts[-1])
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
        # One that is being killed counts: a fresh one takes its place.
        has_children = len(self._supervisor) > 0
        soon = self._trouble is not None or self._look_at <= clock.elapsed()
        return self._may_claim() and has_children and soon

    def _may_claim(self) -> bool:
        now = clock.elapsed()
        return (
            self._stop.at is None
            and now < self._budget_ends_at
            and self.counts["claimed"] < self._config.batch
            and (bool(self._attempts) or not self._has_given_up())
        )

    def _has_no_children(self) -> bool:
        return len(self._failed_starts) >= _MOST_FAILED_STARTS

    def _turn(self) -> None:
        events = self._supervisor.turn(self._pause())
        # The news first: whoever was killed for its lease has not crashed.
        self._hear_news()
        for event in events:
            self._handle(event)
        for attempt in self._attempts.values():
            attempt.advance()
            if attempt.has_new_output():
                self._heartbeat.report(attempt.run.lease, output=attempt.child.output())
        self._stop_if_told()
        self._finalizer.work()

    def _pause(self) -> float:
        steps = [attempt.next_step_at() for attempt in self._attempts.values()]
        due = [step for step in (*steps, self._finalizer.next_try_at()) if step is not None]
        if self._may_claim() and self._supervisor.idle and not self._suspect_at_work:
            due.append(self._look_at)
        return min(_TURN_SECONDS, min(due, default=float("inf")) - clock.elapsed())

    # Children.

    def _spawn(self, count: int) -> None:
        if self._has_no_children():
            return
        room = self._config.concurrency - len(self._supervisor)
        for _ in range(min(count, room)):
            try:
                self._supervisor.spawn()
            except OSError as error:
                # Out of processes, memory or descriptors: those that there are go on.
                self._handle(StartFailed(f"starting a child failed: {error.strerror}"))
                return

    def _handle(self, event: Event) -> None:
        if isinstance(event, Ready):
            self._learn(event.policies)
        elif isinstance(event, StartFailed):
            self._failed_starts.append(event.reason)
            self._log.error("child", result="not started", error=event.reason)
            if self._may_claim():
                self._spawn(1)
        elif isinstance(event, Said):
            self._hear(event)
        elif isinstance(event, Died):
            attempt = self._attempts.pop(event.child, None)
            if attempt is not None:
                self._end(attempt, None)
            event.child.close()

    def _learn(self, policies: list[Policy]) -> None:
        if self._policies is not None:
            return
        known = {policy.job_type: policy for policy in policies}
        for name in self._types or ():
            if name not in known:
                raise UsageError(f"--types: this host has no handler for {name!r}")
        self._policies = {name: policy for name, policy in known.items() if self._types is None or name in self._types}

    def _hear(self, said: Said) -> None:
        attempt = self._attempts.get(said.child)
        if attempt is None:
            return
        lease = attempt.run.lease
        if said.frame["kind"] == "progress":
            with suppress(BadPayload):
                self._heartbeat.report(lease, progress=check_payload(said.frame.get("progress"), _PROGRESS_BYTES))
            return
        if said.frame.get("run_id") != lease.run_id:
            return
        del self._attempts[said.child]
        self._end(attempt, said.frame)
        if attempt.stopping is None:
            self._supervisor.take_back(said.child)
        else:
            # It was sent signals: a fresh one takes its place, and what it started goes with it.
            said.child.kill()

    # Claiming.

    def _claim(self) -> None:
        """Take as many runs as children are idle: nothing is claimed that is not handed over at once."""
        if self._policies is None or not self._may_claim() or clock.elapsed() < self._look_at:
            return
        if not self._policies:
            self._look_at = float("inf")
            return
        if not self._claimer.is_settled() or self._suspect_at_work or (self._checks_suspects and self._attempts):
            return
        if not self._supervisor.idle and self._supervisor.starting:
            return
        try:
            self._claim_for_idle(list(self._policies.values()))
            self._trouble = None
        except DatabaseUnavailable as error:
            self._take_trouble(error)

    def _claim_for_idle(self, policies: list[Policy]) -> None:
        if not self._supervisor.idle:
            self._spawn_for_due(policies)
            return
        # A suspect, one that took its owner down twice in a row, is alone in its tick: before all others.
        if self._checks_suspects:
            self._suspect_at_work = self._checks_suspects = bool(self._take(policies, 1, suspect=True))
        if self._suspect_at_work:
            return
        wanted = min(len(self._supervisor.idle), self._config.batch - self.counts["claimed"])
        if self._take(policies, wanted, suspect=False) == wanted:
            self._spawn_for_due(policies)
        else:
            self._look_at = clock.elapsed() + _LOOK_AGAIN_SECONDS

    def _take(self, policies: list[Policy], limit: int, *, suspect: bool) -> int:
        """Claim and hand over; returns how many."""
        claimed = self._claimer.take(policies, limit, suspect=suspect)
        for run in claimed.runs:
            self._begin(run, claimed.sent_at)
        return len(claimed.runs)

    def _spawn_for_due(self, policies: list[Policy]) -> None:
        """Start as many children as there is work for."""
        spare = self._config.concurrency - len(self._supervisor)
        if spare <= 0 or self._has_no_children():
            return
        due = self._claimer.count_due(policies, spare)
        self._spawn(due - self._supervisor.starting)
        if not due:
            self._look_at = clock.elapsed() + _LOOK_AGAIN_SECONDS

    def _give_back_unanswered(self) -> None:
        try:
            if not self._claimer.is_settled():
                self.counts["released"] += self._claimer.give_back_unanswered()
                if self._claimer.is_settled():
                    self._trouble, self._look_at = None, 0.0
        except DatabaseUnavailable as error:
            self._take_trouble(error)

    def _begin(self, run: ClaimedRun, claimed_at: float) -> None:
        assert self._policies is not None
        self.counts["claimed"] += 1
        log_claimed(self._log, run)
        child = self._supervisor.idle[0]
        attempt = Attempt(run, self._policies[run.job_type], child)
        self._heartbeat.hold(run.lease, claimed_at, child.kill)
        self._attempts[child] = attempt
        if not self._supervisor.hand(child, attempt.frame(self._config.payload_limit, self._config.grace)):
            del self._attempts[child]
            child.kill()
            self._finalizer.add(run, attempt.never_began())
        self._database.reach("attempt.handed_over")

    # Ending.

    def _end(self, attempt: Attempt, report: Frame | None) -> None:
        """The handler is over: it reported, or with no report its child died."""
        self._database.reach("attempt.ended")
        lease = attempt.run.lease
        self._heartbeat.is_over(lease)
        self._suspect_at_work = False
        self._look_at = min(self._look_at, clock.elapsed())
        if attempt.stopping is Why.LEASE_LOST:
            self._heartbeat.let_go(lease)
            self.counts["lost"] += 1
            return
        ending = attempt.died() if report is None else attempt.reported(report)
        if attempt.stopping in (Why.SHUTDOWN, Why.UNRENEWED):
            self._log.warning(
                "stopped",
                run_id=lease.run_id,
                job_type=attempt.run.job_type,
                attempt=attempt.run.attempt,
                result=ending.outcome.value,
                error=ending.error,
            )
        self._finalizer.add(attempt.run, ending)

    def _hear_news(self) -> None:
        while not self._heartbeat.news.empty():
            news, lease = self._heartbeat.news.get()
            attempt = self._attempt_of(lease)
            if attempt is None:
                continue
            if news is News.CANCEL_REQUESTED:
                attempt.stop(Why.CANCEL)
            elif news is News.UNRENEWED:
                left = self._config.lease * (1 - FENCE_SHARE) / 2
                attempt.stop(Why.UNRENEWED, within=min(left, attempt.policy.kill_after))
            elif attempt.stop(Why.LEASE_LOST, within=timedelta(0)):
                self._log.warning(
                    "lease lost",
                    run_id=lease.run_id,
                    job_type=attempt.run.job_type,
                    attempt=attempt.run.attempt,
                    result="nothing written",
                )

    def _attempt_of(self, lease: Lease) -> Attempt | None:
        return next((each for each in self._attempts.values() if each.run.lease == lease), None)

    def _stop_if_told(self) -> None:
        if self._stop.at is None:
            return
        grace = 0.0 if self._stop.times > 1 else self._config.grace.total_seconds()
        if clock.elapsed() >= self._stop.at + grace:
            for attempt in self._attempts.values():
                attempt.stop(Why.SHUTDOWN)

    def _take_trouble(self, error: DatabaseUnavailable) -> None:
        """The database is away: ask again in a moment, for as long as a restart takes."""
        self._look_at = clock.elapsed() + _LOOK_AGAIN_SECONDS
        if self._trouble is None:
            self._trouble_since = clock.elapsed()
            self._log.error("database", result="unavailable", error=str(error))
        self._trouble = error
