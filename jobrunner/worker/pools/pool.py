"""Pools: who serves which kind of job types, how many runs each can take now, and how it starts one.

The loop claims for one pool after the other. A pool knows processes; it does not know the database. The runs are in the
hand (``worker.hand``): a pool starts those of its types that wait there, and keeps none for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from jobrunner.children.events import Said
from jobrunner.children.messages import Report, StartRun
from jobrunner.lifecycle import AttemptResult
from jobrunner.model import Capacity, Policy
from jobrunner.settings.config import Config
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase


@dataclass(frozen=True, slots=True)
class PoolCapacity:
    """What a pool can take, and what it waits for.

    ``claimable`` is for how many runs it has room now, ``limits`` are the types of which it wants no more than so many,
    ``growth`` is by how many processes it could grow. ``is_usable``: it may still start runs in this tick.
    ``is_ready``: there is nothing to wait for before it can start one, or no hope that it will. ``next_step_at`` is
    when ``start`` has something to do without any event; None: nothing is planned. For ``gathering_seconds`` reports
    may pile up while every child has something to do.
    """

    claimable: Capacity
    limits: Mapping[str, int] = field(default_factory=dict)
    growth: int = 0
    is_usable: bool = True
    is_ready: bool = True
    next_step_at: float | None = None
    gathering_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PoolStep:
    """What a pool has done: ``results`` are the runs that have ended, and how, ``started`` those that are at work now.

    ``prefetched`` is how many others were sent to children that are at work.
    """

    results: Sequence[tuple[RunInHand, AttemptResult]] = ()
    started: Sequence[RunInHand] = ()
    prefetched: int = 0


class ServedTypes:
    """The job types of one pool. ``policies`` are those of the types that it claims; empty while they are not known.

    ``known`` has also those of types that it claims no more, of which there may be runs in hand.
    """

    def __init__(self) -> None:
        self.policies: Mapping[str, Policy] = {}
        self.known: Mapping[str, Policy] = {}

    def learn(self, policies: Sequence[Policy]) -> None:
        """These are the job types that it serves."""
        self.policies = self.known = {policy.job_type: policy for policy in policies}

    def retire(self, job_types: Collection[str]) -> None:
        """Claim no more runs of these types, and begin none: the code of this host knows them otherwise by now."""
        self.policies = {name: policy for name, policy in self.policies.items() if name not in job_types}


class Pool(ABC):
    """Five methods. ``ask_at`` is when the database is to be asked for its runs (on the clock of ``clock.elapsed``)."""

    def __init__(self, hand: Hand) -> None:
        self.types = ServedTypes()
        self.ask_at = 0.0
        self._hand = hand

    @abstractmethod
    def capacity(self) -> PoolCapacity:
        """How many runs it could take now."""

    @abstractmethod
    def start(self, permits: int, ahead: int) -> PoolStep:
        """Start the runs that wait, with at most so many more permits; at most ``ahead`` may be prefetched in all.

        The results are those of runs that could not be started.
        """

    def recall(self, run_id: int | None = None) -> list[Said]:
        """Take back from its processes what they have not begun; with ``run_id`` only what stands beside that run.

        Returns what was heard from its child meanwhile.
        """
        return []

    def grow(self, count: int) -> None:  # noqa: B027 - a pool whose runs wait for no process needs none
        """Start what is needed for so many more runs; they can begin in a later step."""

    @abstractmethod
    def ended(self, runs: Sequence[RunInHand], report: Report | None) -> PoolStep:
        """These runs have ended: the one that was reported, or, with ``report`` None, those whose process has died.

        A run that was surely never begun waits again and has no result.
        """

    def _waiting(self) -> list[RunInHand]:
        known = self.types.known
        return [held for held in self._hand.in_phase(Phase.WAITING) if held.run.job_type in known]


def start_message(held: RunInHand, policy: Policy, config: Config, slot: int | None) -> StartRun:
    """What a child is told of a run. ``slot`` is its place in the page of ``children.begun_page``."""
    run = held.run
    timeout = run.timeout
    return StartRun(
        run_id=run.lease.run_id,
        job_type=run.job_type,
        payload=run.payload,
        attempt=run.attempt,
        max_attempts=run.max_attempts,
        started_at=run.started_at.isoformat(),
        lateness_seconds=run.lateness.total_seconds(),
        result_limit=config.payload_limit,
        begin_before=held.begin_before,
        scheduled_for=None if run.scheduled_for is None else run.scheduled_for.isoformat(),
        timeout_seconds=None if timeout is None else timeout.total_seconds(),
        # When the kernel ends it, should this tick stand still: after timeout, kill_after and this much more.
        alarm_seconds=None if timeout is None else (timeout + policy.kill_after + config.grace).total_seconds(),
        slot=slot,
    )
