"""The pool of ``async def`` handlers: one child runs many. When it dies, the pool decides which run is charged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from jobrunner import clock
from jobrunner.children.events import Reported
from jobrunner.children.messages import NOT_BEGUN, Report, StartRun
from jobrunner.children.python_child import ChildProcess
from jobrunner.children.supervisor import Supervisor
from jobrunner.model import Capacity, Policy
from jobrunner.settings.config import Config
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import AT_WORK_PHASES, Phase
from jobrunner.worker.pools.coroutine_attempt import AsyncAttempt, charged
from jobrunner.worker.pools.loop_queue import LoopQueue
from jobrunner.worker.pools.pool import Pool, PoolCapacity, Steps, start_of
from jobrunner.worker.pools.starts import ChildStarts
from jobrunner.worker.pools.throughput import AHEAD_SECONDS, Throughput

_MANY = 20
_GATHERING_SECONDS = 0.01
"""With many runs at work, those that end within this time are finalized together."""
_LONGEST_GATHERING_SECONDS = 0.04
_LONGEST_WAIT_SECONDS = 0.25
_UNACCOUNTED_SECONDS = 2.0
_LOOK_SECONDS = 0.03
MOST_WAITING = 512
"""Runs that wait in a tick for the place of one at work, of all types."""


class CoroutinePool(Pool):
    """One child with an event loop. Its runs use no permits of the host, because each type has its own limit."""

    begins_at_once = True

    def __init__(self, hand: Hand, supervisor: Supervisor, config: Config, starts: ChildStarts) -> None:
        super().__init__(hand)
        self._config = config
        self._supervisor = supervisor
        self._starts = starts
        self._child: ChildProcess | None = None
        # The last child that has reported: until then it has no event loop, and would take tokens for plain runs.
        self._looping: ChildProcess | None = None
        # By the name that the type has today: its former names have no places of their own.
        self._at_work: Counter[str] = Counter()
        # How many runs of a type may be at work in this tick, by the last claim.
        self._places: dict[str, int] = {}
        self._throughput = Throughput(strict=config.strict)
        self._queue = LoopQueue(hand)
        self._is_one_at_a_time = False

    def capacity(self) -> PoolCapacity:
        if not self.types.policies:
            return PoolCapacity(Capacity(0), is_usable=False)
        child = self._live_child()
        is_served = child is not None or self._supervisor.idle or self._supervisor.starting
        may_wait = self._may_wait()
        return PoolCapacity(
            self._claimable(child, sum(may_wait.values())),
            may_wait=may_wait,
            growth=0 if is_served else 1,
            is_usable=self._starts.is_any(),
            is_ready=child is not None or self._starts.is_settled(),
            next_step_at=min(self._stuck_at(), clock.elapsed() + _LOOK_SECONDS) if self._queue else None,
            gathering_seconds=self._gathering_seconds(),
        )

    def _gathering_seconds(self) -> float:
        if self._queue:
            job_type = self._queue.job_type
            in_turn = len(self._queue) / max(1, self._at_work[job_type])
            return min(_LONGEST_GATHERING_SECONDS, in_turn * self._throughput.expected_seconds(job_type) / 2)
        return _GATHERING_SECONDS if self._at_work.total() >= _MANY else 0.0

    def _claimable(self, child: ChildProcess | None, may_wait: int) -> Capacity:
        if child is None and not self._supervisor.idle:
            return Capacity(0)
        if child is not None and (child.is_being_killed or child.channel_lost_at is not None):
            return Capacity(0)
        in_hand = self._at_work.total() + len(self._queue) + self.count_waiting()
        if self._is_one_at_a_time:
            return Capacity(0, ahead=1 - in_hand)
        if 2 * len(self._queue) > may_wait:
            # There is enough work for now: one large claim later is cheaper than many small ones.
            return Capacity(0)
        most = sum({each.family: each.concurrency or 1 for each in self.types.known.values()}.values())
        return Capacity(0, ahead=most + may_wait - in_hand)

    def _may_wait(self) -> dict[str, int]:
        """How many short runs of each type are claimed beside those at work: one begins as soon as another ends."""
        if self._is_one_at_a_time:
            return {}
        names = self.types.policies.keys() & (self._throughput.short_types() - self._late_types())
        short = [self.types.policies[name] for name in names]
        most = MOST_WAITING // max(1, len(short))
        return {
            policy.job_type: min(most, (policy.concurrency or 1) * (self._throughput.most(policy.job_type) - 1))
            for policy in short
        }

    def _late_types(self) -> set[str]:
        """The types of which a run is at work for longer than others may wait for it."""
        late = set()
        for held in self._hand.each_in(Phase.WORKING):
            if clock.elapsed() - held.attempt.began_at < AHEAD_SECONDS:
                # The others have begun after it.
                break
            late.add(held.run.job_type)
        return late

    def allow(self, places: Mapping[str, int]) -> None:
        self._places.update(places)

    def grow(self, count: int) -> None:
        self._starts.start(min(count, 1))

    def start(self, permits: int, ahead: int) -> Steps:
        child = self._live_child()
        if child is not None and self._queue:
            self._recall_behind_the_stuck(child)
        # While another thread claimed, the child may have died, and another pool may have taken the idle one.
        if not self._hand.count(Phase.WAITING) or (child is None and not self._supervisor.idle):
            return []
        begun = self._take_places()
        if begun:
            child = self._child = child or self._supervisor.acquire(for_event_loop=True)
            for held in begun:
                self._work_on(held, child)
            child.begin([self._start_of(held) for held in begun])
            self.took_at = clock.elapsed()
        if child is not None and child is self._looping and (queued := self._choose_ahead(ahead - len(self._queue))):
            job_type = queued[0].run.job_type
            self._queue.add(job_type, queued)
            child.give([self._start_of(held) for held in queued], self._at_work[job_type])
            self.took_at = clock.elapsed()
        return [(held, None) for held in begun]

    def _take_places(self) -> list[RunInHand]:
        """The waiting runs that begin now, as many as there are places for.

        A run of a retired type is returned: the next child may have other code.
        """
        # Called twice in each turn, with hundreds of runs that wait for a place: so it ends when none is left.
        known, chosen = self.types.policies, []
        free = {name for name, policy in known.items() if self._has_place(policy)}
        for held in self._hand.each_in(Phase.WAITING) if free else ():
            if held.run.job_type not in free:
                continue
            policy = known[held.run.job_type]
            if self._has_place(policy):
                self._at_work[policy.family] += 1
                chosen.append(held)
            else:
                # Perhaps by runs of another name of the type.
                free.discard(policy.job_type)
                if not free:
                    break
        return chosen

    def _has_place(self, policy: Policy) -> bool:
        if self._is_one_at_a_time:
            return not self._at_work.total()
        # What is queued takes each place that gets free.
        is_queued = len(self._queue) > 0 and policy.family == self._queue.job_type
        return not is_queued and self._at_work[policy.family] < self._places_of(policy)

    def _places_of(self, policy: Policy) -> int:
        return self._places.get(policy.job_type, policy.concurrency or 1)

    def _choose_ahead(self, most: int) -> list[RunInHand]:
        """The waiting runs that are queued in the child: of one short type, all places of which are taken."""
        may_wait = self._may_wait() if most > 0 else {}
        waiting = [held for held in self._hand.each_in(Phase.WAITING) if held.run.job_type in may_wait]
        if not waiting:
            return []
        job_type = self._queue.job_type if self._queue else waiting[0].run.job_type
        policy = self.types.policies.get(job_type)
        # The child counts by the name of the run, so not where runs of former names take places of the type.
        if policy is None or len(policy.names) > 1 or self._at_work[job_type] != self._places_of(policy):
            return []
        return list(islice((held for held in waiting if held.run.job_type == job_type), most))

    def _start_of(self, held: RunInHand) -> StartRun:
        return start_of(held, self.types.known[held.run.job_type], self._config, self._supervisor.page)

    def _work_on(self, held: RunInHand, child: ChildProcess, began_at: float | None = None) -> RunInHand:
        held.started = AsyncAttempt(held.run, self.types.known[held.run.job_type], child, began_at)
        self._hand.move(held, Phase.WORKING)
        return held

    def ended(self, held: RunInHand, report: Report) -> Steps:
        # The child stays, so that the next runs can use its event loop and what the handlers keep in it.
        job_type, attempt, ended_at = held.run.job_type, held.attempt, clock.elapsed()
        self._looping = _child_of(held)
        family = self.types.known[job_type].family
        self._at_work[family] -= 1
        steps: Steps = []
        if report.outcome != NOT_BEGUN:
            if report.ended_at is not None:
                # A handler may forge this time, so it is limited to what is possible.
                ended_at = min(max(report.ended_at, attempt.began_at), ended_at)
            self._throughput.learn(job_type, ended_at - attempt.began_at)
            steps.append((held, attempt.reported(report)))
        if (following := self._queue.advance(job_type)) is not None:
            self._at_work[family] += 1
            steps.append((self._work_on(following, self._looping, began_at=ended_at), None))
        return steps

    def died(self, runs: Sequence[RunInHand]) -> Steps:
        child = _child_of(runs[0])
        self._recall(child)
        # What is left of the queue has no report, and was taken by the child: so it counts as at work.
        taken = [self._work_on(held, child) for held in self._queue.clear()]
        mine = [held for held in (*runs, *taken) if held.phase in AT_WORK_PHASES]
        attempts = {held: held.attempt for held in mine if isinstance(held.attempt, AsyncAttempt)}
        blamed, have_blocked = charged(list(attempts.values())) if attempts else ([], False)
        if not blamed:
            # It is not known which run ended the child. Run one at a time for the rest of the tick to find it.
            self._is_one_at_a_time = True
        self._at_work.clear()
        results: Steps = []
        for held, attempt in attempts.items():
            if attempt not in blamed:
                results.append((held, attempt.released_with_child(blamed)))
            else:
                others = len(attempts) - len(blamed)
                results.append((held, attempt.blocked(others) if have_blocked else attempt.died()))
        return results

    # Recalling.

    def recall(self, run_id: int | None = None) -> list[Reported]:
        child = self._live_child()
        if child is None:
            return []
        if run_id is None:
            self._recall(child)
            return []
        if self._queue.holds(run_id):
            self._recall(child)
        # A run that the child has begun, or ended, is that by the reports of those before it.
        return self._supervisor.receive(child)

    def _stuck_at(self) -> float:
        return self._queue.moved_at + _LONGEST_WAIT_SECONDS

    def _recall_behind_the_stuck(self, child: ChildProcess) -> None:
        stuck_since = clock.elapsed() - self._stuck_at()
        if stuck_since >= 0:
            self._recall(child)
        if self._queue and stuck_since >= _UNACCOUNTED_SECONDS and not child.has_unread():
            # A queued run is gone without a report: a handler has read the tokens of the child.
            child.kill()

    def _recall(self, child: ChildProcess) -> None:
        """Take back what the child has not begun, also what should be at work by the last reports."""
        recalled = set(child.recall())
        self._queue.remove(recalled)
        for run_id in recalled:
            if (held := self._hand.at_work(run_id)) is not None:
                self._at_work[self.types.known[held.run.job_type].family] -= 1
                self._hand.move(held, Phase.WAITING if held.attempt.stopping is None else Phase.RETURNING)

    def close(self) -> None:
        """Release the child if it has no work. Then it ends by itself."""
        child = self._live_child()
        if child is not None and not self._at_work.total():
            self._supervisor.release(child)
            self._child = None

    def _live_child(self) -> ChildProcess | None:
        if self._child is not None and self._child.exit_status is not None:
            self._child = None
        return self._child


def _child_of(held: RunInHand) -> ChildProcess:
    child = held.attempt.process
    assert isinstance(child, ChildProcess)
    return child
