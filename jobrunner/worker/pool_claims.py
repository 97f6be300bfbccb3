"""Claims runs for one pool after the other, in this thread or beside the loop."""

from __future__ import annotations

from jobrunner import clock
from jobrunner.children.supervisor import Supervisor
from jobrunner.worker.claimer import Claimed, Claimer, Wanted
from jobrunner.worker.hand import Hand
from jobrunner.worker.life import Life
from jobrunner.worker.period import Period
from jobrunner.worker.phase import Phase
from jobrunner.worker.pools.pool import Pool
from jobrunner.worker.pools.pools import Pools


class PoolClaims:
    """Knows which pool the claim beside the loop is for. Every method may raise DatabaseUnavailable."""

    def __init__(self, hand: Hand, pools: Pools, claimer: Claimer, life: Life, supervisor: Supervisor) -> None:
        self._hand = hand
        self._pools = pools
        self._claimer = claimer
        self._life = life
        self._supervisor = supervisor
        # The pool that the last claim in another thread was for.
        self._asked_for: Pool | None = None

    def take_answer(self) -> None:
        """Take the runs that another thread has claimed, if there is an answer."""
        pool = self._asked_for
        if pool is not None and (claimed := self._claimer.answer()) is not None:
            self._take(pool, claimed)

    def claim(self, period: Period) -> None:
        """Claim as many runs for each pool as it has capacity for and the period allows."""
        # The pool of the last claim beside the loop comes last, so that it does not keep out the others.
        for pool in sorted(self._pools, key=lambda pool: pool is self._asked_for):
            self._claim_for(pool, period)

    def _claim_for(self, pool: Pool, period: Period) -> None:
        if not pool.types.policies or pool.ask_at > clock.elapsed() or self._claimer.is_asking():
            return
        policies, capacity = list(pool.types.policies.values()), pool.capacity()
        wanted = int(min(capacity.claimable.runs(capacity.claimable.permits), period.most_runs()))
        if wanted > 0:
            request = Wanted(policies, wanted, capacity.claimable, capacity.limits)
            # Set before the claim, because what happens meanwhile may be a reason to ask again soon.
            pool.ask_at = clock.elapsed() + period.ask_again_seconds
            # Beside, if every child has work, which goes on meanwhile, or if a write would hold this claim up.
            is_beside = not capacity.claimable.permits or self._hand.count(Phase.WRITING) > 0
            if is_beside and self._claimer.ask(request):
                self._asked_for = pool
                return
            self._take(pool, self._claimer.take(request))
        if pool.ask_at <= clock.elapsed() and (spare := pool.capacity().growth):
            self._grow(pool, spare, period)

    def _take(self, pool: Pool, claimed: Claimed) -> None:
        pool.opens_at = None if claimed.opens_in is None else clock.elapsed() + claimed.opens_in
        if pool.opens_at is not None:
            pool.ask_at = min(pool.ask_at, pool.opens_at)
        if claimed.may_be_more:
            pool.ask_at = 0.0
        self._life.take(claimed)

    def _grow(self, pool: Pool, spare: int, period: Period) -> None:
        waits = any(held.run.job_type in pool.types.known for held in self._hand.in_phase(Phase.WAITING))
        # Runs that wait for a child are claimed already, so the database does not count them as due.
        due = self._claimer.count_due(list(pool.types.policies.values()), spare) + waits
        pool.grow(due - self._supervisor.starting)
        if not due:
            pool.ask_at = clock.elapsed() + period.ask_again_seconds
