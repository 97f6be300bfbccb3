"""Quarantined runs: those whose lease has expired twice in a row run before all others, and each alone in its tick."""

from __future__ import annotations

from jobrunner.worker.claimer import Claimer, Wanted
from jobrunner.worker.hand import Hand
from jobrunner.worker.life import Life
from jobrunner.worker.phase import AT_WORK_PHASES, Phase
from jobrunner.worker.pools.pools import Pools


class Quarantine:
    """Claims quarantined runs one by one. Main thread only."""

    def __init__(self, hand: Hand, pools: Pools, claimer: Claimer, life: Life) -> None:
        self._hand = hand
        self._pools = pools
        self._claimer = claimer
        self._life = life
        # None means that the database was not asked yet.
        self._is_due: bool | None = None
        self._is_at_work = False

    def is_at_work(self) -> bool:
        """Whether such a run is at work, so that no other run may be claimed."""
        return self._is_at_work and self._hand.count(*AT_WORK_PHASES) > 0

    def claim(self) -> bool:
        """Claim one if any is due. Returns False if none is due. Raises DatabaseUnavailable."""
        if self._is_due is None:
            self._is_due = self._claimer.is_quarantined_due()
        if not self._is_due:
            return False
        if not self._hand.count(*AT_WORK_PHASES, Phase.WAITING) and self._pools.make_ready():
            usable = [pool for pool in self._pools if pool.capacity().claimable.any]
            policies = [policy for pool in usable for policy in pool.types.policies.values()]
            claimed = self._claimer.take(Wanted(policies, 1, quarantined=True))
            self._is_at_work = self._is_due = bool(claimed.runs)
            self._life.take(claimed)
        return True
