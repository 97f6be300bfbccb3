"""What a pool is: it runs some job types, says how many runs it can take now, and starts them.

The loop claims for one pool after the other. A pool knows processes; it does not know the database. All runs are in the
hand (``worker.hand``): a pool starts the waiting runs of its types and stores none of them itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from jobrunner.children.begun_page import BegunPage
from jobrunner.children.events import Reported
from jobrunner.children.messages import Report, StartRun
from jobrunner.lifecycle import AttemptResult
from jobrunner.model import Capacity, Policy
from jobrunner.settings.config import Config
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase

_job_type = attrgetter("run.job_type")
Steps: TypeAlias = list[tuple[RunInHand, AttemptResult | None]]
"""Runs that have ended, each with its result, and with None those that are at work from now on, in this order."""


class PoolCapacity(NamedTuple):
    """How many runs a pool can take, and what it waits for.

    ``claimable`` is how many runs it can take now. ``limits`` holds the most runs that it wants of a type, ``may_wait``
    how many of a type may wait until others of it have ended.
    ``growth`` is how many more processes it could start, if ``worth_growing_for`` runs are due.
    ``is_usable``: it may still start runs in this tick. ``is_ready``: it can start a run at once, or it will never be
    able to. ``next_step_at`` is when ``start`` has something to do even if nothing happens; None means that nothing is
    planned. For ``gathering_seconds`` the loop may let reports collect, because every child has work.
    """

    claimable: Capacity
    limits: Mapping[str, int] = MappingProxyType({})
    may_wait: Mapping[str, int] = MappingProxyType({})
    growth: int = 0
    is_usable: bool = True
    is_ready: bool = True
    next_step_at: float | None = None
    gathering_seconds: float = 0.0
    worth_growing_for: int = 1


def start_of(held: RunInHand, policy: Policy, config: Config, page: BegunPage) -> StartRun:
    """What a child needs to know of the run, which is of the type with this policy."""
    return StartRun.of(
        held.run,
        config.payload_limit,
        begin_before=held.begin_before,
        alarm_after=policy.kill_after + config.grace,
        slot=page.slot_of(held.lease),
    )


class ServedTypes:
    """The job types of one pool.

    ``policies`` holds the types that it claims; it is empty until they are known. ``known`` also holds the types that
    it no longer claims, because runs of them may still be in hand.
    """

    def __init__(self) -> None:
        self.policies: Mapping[str, Policy] = {}
        self.known: Mapping[str, Policy] = {}

    def learn(self, policies: Sequence[Policy]) -> None:
        """Set the job types of the pool."""
        self.policies = self.known = {policy.job_type: policy for policy in policies}

    def retire(self, job_types: Collection[str]) -> None:
        """Claim and begin no more runs of these types, because the code of this host has changed."""
        self.policies = {name: policy for name, policy in self.policies.items() if name not in job_types}


class Pool(ABC):
    """Starts runs in processes. ``ask_at`` is when the loop asks the database for its runs next (``clock.elapsed``).

    ``opens_at`` is when a limit allows runs that wait; None: none waits for such an instant. ``took_at`` is when it
    last took a waiting run. ``begins_at_once``: its waiting runs need no process that has ended another one, only the
    next turn of the loop.
    """

    begins_at_once = False

    def __init__(self, hand: Hand) -> None:
        self.types = ServedTypes()
        self.ask_at = 0.0
        self.opens_at: float | None = None
        self.took_at = 0.0
        self._hand = hand

    @abstractmethod
    def capacity(self) -> PoolCapacity:
        """How many runs it can take now."""

    def allow(self, places: Mapping[str, int]) -> None:  # noqa: B027 - most pools count permits
        """Learn from a claim how many runs of a type this tick may have at work."""

    @abstractmethod
    def start(self, permits: int, ahead: int) -> Steps:
        """Start the waiting runs. Those that could not be started have ended.

        They may use at most ``permits`` more permits. At most ``ahead`` runs may be prefetched in total.
        """

    def recall(self, run_id: int | None = None) -> list[Reported]:
        """Recall the runs that its processes have not begun; with ``run_id`` only those in the queue of that run.

        Returns the messages that arrived from that child in the meantime.
        """
        return []

    def grow(self, count: int) -> None:  # noqa: B027 - a pool that starts a process for each run need not grow
        """Start processes for ``count`` more runs. The runs can begin in a later step."""

    @abstractmethod
    def ended(self, held: RunInHand, report: Report) -> Steps:
        """Take the report of this run. If it certainly did not begin, it has no result."""

    @abstractmethod
    def died(self, runs: Sequence[RunInHand]) -> Steps:
        """Take the end of these runs by the death of their process. One that certainly did not begin has no result."""

    def _waiting(self) -> list[RunInHand]:
        if not self.types.known:
            return []
        return [held for held in self._hand.each_in(Phase.WAITING) if held.run.job_type in self.types.known]

    def count_waiting(self) -> int:
        """How many runs of these types wait in the tick."""
        if not self.types.known:
            return 0
        # Asked several times in each turn, with hundreds of runs: so the loop is not one of Python.
        return sum(map(self.types.known.__contains__, map(_job_type, self._hand.each_in(Phase.WAITING))))
