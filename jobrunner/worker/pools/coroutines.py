"""The pool of ``async def`` handlers: one child runs many. When it dies, the pool decides which run is charged."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

from jobrunner import clock
from jobrunner.children.messages import NOT_BEGUN, Cancel, CancelReceived, Output, Report
from jobrunner.children.output import Tail
from jobrunner.children.protocol import OfRun
from jobrunner.children.python_child import ChildProcess
from jobrunner.children.supervisor import Supervisor
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Capacity, ClaimedRun, Policy
from jobrunner.settings.config import Config
from jobrunner.worker.attempt import Attempt, StopReason
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase
from jobrunner.worker.pools.pool import Pool, PoolCapacity, Steps, start_of
from jobrunner.worker.pools.starts import ChildStarts
from jobrunner.worker.pools.throughput import AHEAD_SECONDS, Throughput

_MANY = 20
_GATHERING_SECONDS = 0.01
"""With many runs at work, those that end within this time are finalized together."""
MOST_WAITING = 512
"""Runs that wait in a tick for the place of one at work, of all types."""


class AsyncAttempt(Attempt):
    """A run that shares an event loop. It is cancelled there to stop it; if that fails, the whole child is killed."""

    def __init__(self, run: ClaimedRun, policy: Policy, child: ChildProcess) -> None:
        super().__init__(run, policy, child)
        self.tail = Tail()
        self._bytes_seen = 0
        self.child = child
        self.loop_has_answered = False
        self.has_killed = False

    def stop(self, why: StopReason, within: timedelta | None = None) -> bool:
        """As for any attempt, but never at once: a lost lease of one run must not kill the other runs."""
        return super().stop(why, within or None)

    def receive(self, message: OfRun) -> None:
        """Take the output of the run, or note that its event loop has received the request to cancel it."""
        if isinstance(message, CancelReceived):
            self.loop_has_answered = True
        elif isinstance(message, Output):
            self.tail.add(message.text.encode("utf-8", "replace"))

    def _send(self, step: str) -> None:
        if step in ("ask", "interrupt"):
            self.child.send(Cancel(self.run.lease.run_id))
        else:
            self.has_killed = self.has_killed or step == "kill"
            super()._send(step)

    def _stopped(self, ending: AttemptResult) -> AttemptResult:
        stopped = super()._stopped(ending)
        # If the loop has answered, this run did not block it. Then the stack of the coroutine says more.
        return stopped._replace(traceback=ending.traceback) if self.loop_has_answered else stopped

    def _crashed(self) -> AttemptResult:
        if shared := self.process.tail.text():
            # Output that no run can be found for: from a library in C, or from a program that a handler started.
            self.tail.add(b"\n" + shared.encode())
        return super()._crashed()

    def blocked(self, others: int) -> AttemptResult:
        """The result of a run that blocked the event loop until the child was killed."""
        ending = self.died()
        if self.stopping is not None:
            return ending
        return ending._replace(
            error_type="blocked_loop",
            error=f"it blocked the event loop and {others} other run(s); use await, or asyncio.to_thread",
        )

    def released_with_child(self, charged: Sequence[Attempt]) -> AttemptResult:
        """The result of a run whose child died because of others: uncharged."""
        named = ", ".join(f"run {each.run.lease.run_id} ({each.run.job_type})" for each in charged)
        why = f"because of {named}" if named else "because of one of its runs, and it is not known which"
        return AttemptResult(
            Outcome.RELEASED,
            error_type="released",
            error=f"the child process that it shared ended {why}",
            output=self.tail.text(),
        )


class CoroutinePool(Pool):
    """One child with an event loop. Its runs use no permits of the host, because each type has its own limit."""

    begins_at_once = True

    def __init__(self, hand: Hand, supervisor: Supervisor, config: Config, starts: ChildStarts) -> None:
        super().__init__(hand)
        self._config = config
        self._supervisor = supervisor
        self._starts = starts
        self._child: ChildProcess | None = None
        # By the name that the type has today: its former names have no places of their own.
        self._at_work: Counter[str] = Counter()
        # How many runs of a type may be at work in this tick, by the last claim.
        self._places: dict[str, int] = {}
        self._throughput = Throughput(strict=config.strict)
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
            gathering_seconds=_GATHERING_SECONDS if self._at_work.total() >= _MANY else 0.0,
        )

    def _claimable(self, child: ChildProcess | None, may_wait: int) -> Capacity:
        if child is None and not self._supervisor.idle:
            return Capacity(0)
        if child is not None and (child.is_being_killed or child.channel_lost_at is not None):
            return Capacity(0)
        in_hand = self._at_work.total() + self.count_waiting()
        if self._is_one_at_a_time:
            return Capacity(0, ahead=1 - in_hand)
        most = sum({each.family: each.concurrency or 1 for each in self.types.known.values()}.values())
        return Capacity(0, ahead=most + may_wait - in_hand)

    def _may_wait(self) -> dict[str, int]:
        """How many short runs of each type are claimed beside those at work: one begins as soon as another ends."""
        if self._is_one_at_a_time or self._config.strict:
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
        # While another thread claimed, the child may have died, and another pool may have taken the idle one.
        if (child is None and not self._supervisor.idle) or not (chosen := self._take_places()):
            return []
        child = self._child = child or self._supervisor.acquire(for_event_loop=True)
        starts = []
        for held in chosen:
            policy = self.types.known[held.run.job_type]
            held.started = AsyncAttempt(held.run, policy, child)
            self._hand.move(held, Phase.WORKING)
            starts.append(start_of(held, policy, self._config, self._supervisor.page))
        child.begin(starts)
        self.took_at = clock.elapsed()
        return [(held, None) for held in chosen]

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
        places = self._places.get(policy.job_type, policy.concurrency or 1)
        return self._at_work[policy.family] < places

    def ended(self, held: RunInHand, report: Report) -> Steps:
        # The child stays, so that the next runs can use its event loop and what the handlers keep in it.
        self._at_work[self.types.known[held.run.job_type].family] -= 1
        if report.outcome == NOT_BEGUN:
            return []
        self._throughput.learn(held.run.job_type, clock.elapsed() - held.attempt.began_at)
        return [(held, held.attempt.reported(report))]

    def died(self, runs: Sequence[RunInHand]) -> Steps:
        mine = [(held, held.attempt) for held in runs if isinstance(held.attempt, AsyncAttempt)]
        attempts = [attempt for _, attempt in mine]
        charged, have_blocked = _charged(attempts)
        if not charged:
            # It is not known which run ended the child. Run one at a time for the rest of the tick to find it.
            self._is_one_at_a_time = True
        self._at_work.clear()
        results: Steps = []
        for held, attempt in mine:
            if attempt not in charged:
                results.append((held, attempt.released_with_child(charged)))
            else:
                others = len(mine) - len(charged)
                results.append((held, attempt.blocked(others) if have_blocked else attempt.died()))
        return results

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


def _charged(attempts: Sequence[AsyncAttempt]) -> tuple[list[AsyncAttempt], bool]:
    """The attempts that are charged for the child's end; and whether they blocked the loop of a run to be stopped."""
    killed_for = [attempt for attempt in attempts if attempt.has_killed]
    if any(attempt.loop_has_answered for attempt in killed_for):
        # The loop went on, so these runs did not stop when they were cancelled.
        return killed_for, False
    child = attempts[0].child
    # SIGKILL that this tick has not sent comes from the kernel, an operator or another thread. The step in which it
    # comes says nothing: the run of that step may only have waited beside the one that took all the memory.
    is_from_elsewhere = child.exit_status == -signal.SIGKILL and not child.is_being_killed
    running = None if is_from_elsewhere else child.running_run_id()
    if has_loop := [attempt for attempt in attempts if attempt.run.lease.run_id == running]:
        return has_loop, bool(killed_for)
    if killed_for or len(attempts) == 1:
        return killed_for or list(attempts), False
    return [attempt for attempt in attempts if attempt.is_overdue()], False
