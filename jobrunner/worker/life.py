"""The life of the runs in hand, from the claim to the result: gives them to the pools and takes their ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobrunner import clock
from jobrunner.children.events import Reported
from jobrunner.children.messages import NOT_BEGUN, Checkpoint, Progress, Report
from jobrunner.children.process import Process
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Policy
from jobrunner.store.queue.claims import Claim
from jobrunner.store.queue.finalize import Ended, Refusal
from jobrunner.worker.attempt import StopReason, with_wait
from jobrunner.worker.background_calls import BackgroundCalls
from jobrunner.worker.claimer import Claimer
from jobrunner.worker.context import TickContext
from jobrunner.worker.finalizer import MOST_UNWRITTEN, Finalizer, Left
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.period import Period
from jobrunner.worker.phase import AT_WORK_PHASES, Phase
from jobrunner.worker.pools.pool import Pool, PoolCapacity, Steps
from jobrunner.worker.pools.pools import Pools
from jobrunner.worker.run_log import log_claimed, log_left, log_run

_LONGEST_WAIT_SECONDS = 0.25
_DOUBT_SECONDS = 0.3
"""A service manager that stops all processes of a service sends the tick its signal within this time, too."""
_UNREADABLE = AttemptResult(
    Outcome.FAILED,
    error_type="unreadable",
    error="its payload could not be read in a quarter of the lease, or not at all; see the log of the tick",
)


class Life:
    """Takes runs from the claim to the finalizer. Main thread only."""

    def __init__(
        self, context: TickContext, hand: Hand, pools: Pools, claimer: Claimer, background: BackgroundCalls[Any]
    ) -> None:
        self.finalizer = Finalizer(context, hand, background, self.leave, self._count_beginning)
        # Whether a process has ended a run, and whether a run has ended that other runs wait for.
        self.has_ended = False
        self.has_ended_parent = False
        self._context = context
        self._hand = hand
        self._pools = pools
        self._claimer = claimer
        # The pool that the last claim in another thread was for.
        self._asked_for: Pool | None = None
        # How many due runs of a pool no process was started for, because they seemed to be over soon.
        self._seemed_few: dict[Pool, int] = {}
        # Whether a quarantined run is due: None means that the database was not asked yet. Whether one may be at work.
        self._is_quarantined_due: bool | None = None
        self._is_quarantined_at_work = False
        # How many runs of this tick may be at work on the host, by the last claim.
        self._permits = 0

    def _count_beginning(self) -> int:
        return sum(pool.count_waiting() for pool in self._pools if pool.begins_at_once)

    # From the database into the hand. What asks the database raises DatabaseUnavailable.

    def is_claiming(self) -> bool:
        """Whether no more may be claimed now: a claim has no answer yet, or a quarantined run is at work."""
        is_alone = self._is_quarantined_at_work and self._hand.count(*AT_WORK_PHASES) > 0
        return is_alone or self._claimer.is_asking()

    def take_answer(self) -> None:
        """Take the runs that another thread has claimed, if there is an answer."""
        if self._asked_for is not None and (taken := self._claimer.answer()) is not None:
            self._take_for(self._asked_for, *taken)

    def claim(self, period: Period) -> None:
        """Claim as many runs for each pool as it has capacity for and the period allows; a quarantined one alone."""
        if self._claim_quarantined():
            return
        # The pool of the last claim beside the loop comes last, so that it does not keep out the others.
        for pool in sorted(self._pools, key=lambda pool: pool is self._asked_for):
            if pool.types.policies and not self._claimer.is_asking():
                if pool.ask_at <= clock.elapsed():
                    self._claim_for(pool, period)
                else:
                    self._grow(pool, list(pool.types.policies.values()), period)

    def _claim_for(self, pool: Pool, period: Period) -> None:
        policies, capacity = list(pool.types.policies.values()), pool.capacity()
        wanted = int(min(capacity.claimable.runs(capacity.claimable.permits), period.most_runs()))
        if wanted > 0:
            request = self._claimer.request(policies, wanted, capacity.claimable, capacity.limits, capacity.may_wait)
            # Set before the claim, because what happens meanwhile may be a reason to ask again soon.
            pool.ask_at = clock.elapsed() + period.ask_again_seconds
            # In another thread, if every child has work, which goes on meanwhile, or if a write would hold it up.
            is_in_background = not capacity.claimable.permits or self._hand.count(Phase.WRITING) > 0
            if is_in_background and self._claimer.ask(request):
                self._asked_for = pool
                return
            self._take_for(pool, *self._claimer.take(request))
            capacity = pool.capacity()
        self._grow(pool, policies, period, capacity)

    def _grow(
        self, pool: Pool, policies: Sequence[Policy], period: Period, capacity: PoolCapacity | None = None
    ) -> None:
        """Start processes if there are so many runs for them that their start pays. ``capacity`` is that of now."""
        is_asked, seemed = pool.ask_at <= clock.elapsed(), self._seemed_few.get(pool, 0)
        if not (is_asked or seemed or self._hand.count(Phase.WAITING)):
            return
        capacity = capacity or pool.capacity()
        if not capacity.growth:
            return
        # Runs that wait for a child are claimed already, so the database does not count them as due.
        due = sum(held.run.job_type in pool.types.known for held in self._hand.each_in(Phase.WAITING))
        pays = capacity.worth_growing_for
        if not (is_asked or pays <= max(due, seemed)):
            return
        due += self._claimer.count_due(policies, max(capacity.growth, pays))
        self._seemed_few[pool] = due if due < pays else 0
        if due >= pays:
            pool.grow(min(due, capacity.growth) - self._pools.starts.under_way)
        if is_asked and not due:
            pool.ask_at = clock.elapsed() + period.ask_again_seconds

    def _claim_quarantined(self) -> bool:
        """Claim a run whose lease has expired twice in a row, before all others and alone. False: none is due."""
        if self._is_quarantined_due is None:
            self._is_quarantined_due = self._claimer.is_quarantined_due()
        if not self._is_quarantined_due:
            return False
        if not self._hand.count(*AT_WORK_PHASES, Phase.WAITING) and self._pools.make_ready():
            usable = [pool for pool in self._pools if pool.capacity().claimable.any]
            policies = [policy for pool in usable for policy in pool.types.policies.values()]
            claim, runs = self._claimer.take(self._claimer.request(policies, 1, quarantined=True))
            self._is_quarantined_at_work = self._is_quarantined_due = bool(runs)
            self._take(claim, runs)
        return True

    def _take_for(self, pool: Pool, claim: Claim, runs: list[RunInHand]) -> None:
        pool.allow(claim.places)
        pool.opens_at = None if claim.opens_in is None else clock.elapsed() + claim.opens_in
        if pool.opens_at is not None:
            pool.ask_at = min(pool.ask_at, pool.opens_at)
        if claim.may_be_more:
            pool.ask_at = 0.0
        self._take(claim, runs)

    def _take(self, claim: Claim, runs: list[RunInHand]) -> None:
        """Give the runs of a claim to the pools."""
        self._permits = claim.permits
        self._context.counts["claimed"] += len(runs)
        now = clock.elapsed()
        for held in runs:
            if held.is_unreadable:
                self.end(held, _UNREADABLE)
            elif now > held.begin_before:
                # This host has stalled since the claim: another tick may have the run by now.
                self.give_back(held)
        self.give()

    # From the hand to the pools.

    def give(self) -> None:
        """Start the waiting runs, as many as the pools can take. Return those that have waited for too long."""
        is_closed = self._context.stop.at is not None or self.finalizer.is_behind()
        ahead = 0 if is_closed else MOST_UNWRITTEN - self.finalizer.unwritten()
        for pool in self._pools:
            permits = 0 if is_closed else self._permits - self._hand.permits_in_use
            self._act_on(pool.start(permits, ahead))
        if self._context.stop.at is not None:
            for pool in self._pools:
                pool.recall()
        self._give_back_overdue()

    def _act_on(self, steps: Steps) -> None:
        for held, result in steps:
            if result is None:
                self._begin(held)
            else:
                self.end(held, result)

    def _begin(self, held: RunInHand) -> None:
        """Log that a run is at work from now on."""
        log_claimed(self._context.log, held.run)
        self._context.database.hit("attempt.handed_over")
        if self._context.pinging is not None:
            self._context.pinging.begun(held.run)

    def give_back(self, held: RunInHand) -> None:
        """Let the returner return a run that has certainly not begun."""
        self._hand.move(held, Phase.RETURNING)
        self._context.counts["claimed"] -= 1

    def _give_back_overdue(self) -> None:
        if self._context.stop.at is None and not self._is_any_overdue():
            return
        for held in self._hand.in_phase(Phase.WAITING):
            pool = self._pools.serving(held.run.job_type)
            is_retired = held.run.job_type not in pool.types.policies
            if is_retired or self._context.stop.at is not None or self._latest_of(held, pool) <= clock.elapsed():
                self.give_back(held)

    def _is_any_overdue(self) -> bool:
        has_retired = any(len(pool.types.policies) < len(pool.types.known) for pool in self._pools)
        return has_retired or min(self._overdue_at(), default=float("inf")) <= clock.elapsed()

    def _overdue_at(self) -> list[float]:
        """When a waiting run will have waited for too long."""
        first: dict[Pool, float] = {}
        pools = sum(bool(pool.types.known) for pool in self._pools)
        for held in self._hand.each_in(Phase.WAITING):
            # The first of a pool has waited for longest.
            if (pool := self._pools.serving(held.run.job_type)) not in first:
                first[pool] = self._latest_of(held, pool)
                if len(first) == pools:
                    break
        return list(first.values())

    def _latest_of(self, held: RunInHand, pool: Pool) -> float:
        # As long as a pool takes runs, the others may go on waiting for it.
        return max(held.waits_since, pool.took_at) + _LONGEST_WAIT_SECONDS

    # From the pools to the finalizer.

    def hear(self, reported: Reported) -> None:
        """Take a child's messages about runs. One is dropped if the child does not work on that run by then."""
        for message in reported.messages:
            held = self._hand.at_work(message.run_id)
            if held is None or held.attempt.process is not reported.child:
                continue
            if isinstance(message, Report):
                self._take_report(held, message)
            elif isinstance(message, Progress):
                self._hand.report(held, progress=message.progress)
            elif isinstance(message, Checkpoint):
                held.checkpoint = message.checkpoint
            else:
                held.attempt.receive(message)

    def _take_report(self, held: RunInHand, report: Report) -> None:
        steps = self._pools.serving(held.run.job_type).ended(held, report)
        if report.outcome == NOT_BEGUN:
            self.give_back(held)
        self._act_on(steps)

    def reap(self, process: Process) -> None:
        """Take the end of a process that has sent no report. For a command this is usual, for a child it is not."""
        runs = [held for held in self._hand.in_phase(*AT_WORK_PHASES) if held.attempt.process is process]
        self._pools.ask_soon()
        if runs:
            self._act_on(self._pools.serving(runs[0].run.job_type).died(runs))
        process.close()

    def end(self, held: RunInHand, result: AttemptResult) -> None:
        """Take the result of a run that its process has ended, or that could not be started."""
        attempt, held.result = held.started, result
        if attempt is None:
            log_claimed(self._context.log, held.run)
        else:
            self._context.database.hit("attempt.ended")
            self.has_ended = True
        self._hand.move(held, Phase.ENDED)
        if attempt is not None and attempt.is_doubtful:
            # A service manager may be stopping all processes. Then the tick gets its own stop signal a moment later.
            held.doubt_until = clock.elapsed() + _DOUBT_SECONDS
        self._settle(held, result)

    def settle_doubts(self) -> None:
        """Decide the results in doubt: those of runs that stopped with the tick, and those whose time is over."""
        for held in self._in_doubt():
            assert held.result is not None
            self._settle(held, held.result)

    def _in_doubt(self) -> list[RunInHand]:
        return [held for held in self._hand.each_in(Phase.ENDED) if held.doubt_until is not None]

    def _settle(self, held: RunInHand, result: AttemptResult) -> None:
        """Give the result to the finalizer, unless it is still in doubt."""
        if held.doubt_until is not None:
            if self._context.stop.at is not None:
                result = held.attempt.stopped_with_its_tick(result)
            elif clock.elapsed() < held.doubt_until:
                return
        if held.started is not None and (stopping := held.started.stopping) is not None:
            if stopping is StopReason.LEASE_LOST:
                self.leave([(held, None)])
                return
            if stopping in (StopReason.SHUTDOWN, StopReason.UNRENEWED):
                log_run(self._context.log, "stopped", held.run, result=result.outcome.value, error=result.error)
        if result.outcome is not Outcome.SUCCEEDED:
            policy = self._pools.serving(held.run.job_type).types.known[held.run.job_type]
            result = with_wait(result, policy, held.run.attempt)
        self.finalizer.add(held, result)

    def leave(self, left: Sequence[Left]) -> None:
        """Let runs out of the hand: log, count and ping what became of each (``log_left`` explains its answer)."""
        self._hand.release(*(held for held, _ in left))
        log, counts, pinging = self._context.log, self._context.counts, self._context.pinging
        for held, answer in left:
            if pinging is not None and isinstance(answer, Ended | Refusal):
                pinging.ended(held.run, answer, held.result, held.progress, held.checkpoint)
            # After a handler's own transaction perhaps: it has not said whether others wait for the run.
            self.has_ended_parent |= answer.has_dependants if isinstance(answer, Ended) else answer is Refusal.COMMITTED
            counts[log_left(log, held.run, held.result, answer)] += 1

    # Questions of the loop.

    def is_settled(self) -> bool:
        """Whether no result is in doubt or to be written, and no claim is without an answer."""
        return not self._in_doubt() and self.finalizer.is_settled() and not self._claimer.is_asking()

    def next_steps(self) -> list[float]:
        """When ``give`` or ``settle_doubts`` has something to do, even if nothing happens."""
        doubts = [held.doubt_until for held in self._in_doubt() if held.doubt_until is not None]
        return self._overdue_at() + doubts
