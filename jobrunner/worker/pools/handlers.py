"""The pool of plain handlers: children that run one at a time, each with a short queue of prefetched runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import inf
from operator import attrgetter

from jobrunner import clock
from jobrunner.children.events import Reported
from jobrunner.children.messages import NOT_BEGUN, Report, StartRun
from jobrunner.children.process import Process
from jobrunner.children.python_child import ChildProcess
from jobrunner.children.supervisor import Supervisor
from jobrunner.model import Capacity
from jobrunner.worker.attempt import Attempt
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import Hand, RunInHand
from jobrunner.worker.phase import Phase
from jobrunner.worker.pools.pool import Pool, PoolCapacity, Steps, start_of
from jobrunner.worker.pools.prefetch import PrefetchQueue
from jobrunner.worker.pools.starts import ChildStarts
from jobrunner.worker.pools.throughput import AHEAD_SECONDS, INERTIA, Throughput

_SLOW_FACTOR = 4
_UNACCOUNTED_SECONDS = 2.0
_LONGEST_WAIT_SECONDS = 0.25
_WORTH_MOVING_SECONDS = 0.02
_LONGEST_GATHERING_SECONDS = 0.04
_STRICT_GATHERING_SECONDS = 0.002
_LOOK_SECONDS = 0.03
_MOST_AT_A_TIME = 512
"""Runs in one claim. The fixed cost of a claim is that of a hundred runs."""

_seconds = attrgetter("seconds")
_began_at = attrgetter("first.attempt.began_at")
_token = attrgetter("lease.token")


class HandlerPool(Pool):
    """One child for each permit of the host. The throughput estimate decides how many runs each child gets."""

    def __init__(self, context: TickContext, hand: Hand, supervisor: Supervisor, starts: ChildStarts) -> None:
        super().__init__(hand)
        self._config = context.config
        self._log = context.log
        self._supervisor = supervisor
        self._starts = starts
        self._throughput = Throughput(strict=context.config.strict)
        self._queues: dict[Process, PrefetchQueue] = {}
        # If strict: the children that wait until their last result is written, each with its last run.
        self._unwritten: dict[ChildProcess, RunInHand] = {}
        self._strict_seconds = 0.0
        # The processor time of this process when the first run had ended: its start is no cost of a run.
        self._used_before = 0.0
        self._is_served = not context.database.waits_unfairly

    def capacity(self) -> PoolCapacity:
        has_nothing_to_serve = self._starts.are_known and not self.types.policies
        queues = self._open_queues()
        children = self._supervisor.children if self._config.strict else len(queues) + len(self._supervisor.idle)
        steps = [self._look_at(each) for each in self._queues.values() if each.length]
        growth, worth_growing_for = self._starts.growth(), 1
        if growth and not self._config.strict and (until := self._late_at()) is not None:
            most = self._throughput.most_children(self._feed_seconds())
            growth = min(growth, max(0, most - self._supervisor.children))
            if self._queues:
                steps.append(until)
                worth_growing_for = self._throughput.most_during(self._starts.seconds)
        return PoolCapacity(
            self._claimable(queues),
            self._throughput.most_of_each(self.types.policies, children),
            growth=growth,
            is_usable=self._starts.is_any() and not has_nothing_to_serve,
            is_ready=self._starts.is_settled(),
            next_step_at=min(steps, default=None),
            gathering_seconds=self._gathering_seconds(queues),
            worth_growing_for=worth_growing_for,
        )

    def _claimable(self, queues: list[PrefetchQueue]) -> Capacity:
        if not self.types.policies:
            return Capacity(0)
        waiting = self.count_waiting()
        # Waiting runs are for the idle children.
        length, idle = self._throughput.queue_length(), 0 if waiting else len(self._supervisor.idle)
        ahead = max(0, sum(length - 1 - queue.length for queue in queues) - waiting)
        if not idle and 2 * ahead < (length - 1) * len(queues):
            # Every child has enough work for now: one large claim later is cheaper than many small ones.
            ahead = 0
        # The limit per claim: a claimed run that waits is charged, and another host could work on it.
        return Capacity(idle, min(length, 1 + _MOST_AT_A_TIME // max(1, idle)), min(ahead, _MOST_AT_A_TIME))

    def _feed_seconds(self) -> float:
        """The processor time of this process for one run. Measured, because a machine may be three times as slow."""
        ended = self._throughput.learned - 1
        return (clock.processor_seconds() - self._used_before) / ended if ended > 0 else inf

    def _late_at(self) -> float | None:
        """When a child is late with its run; None: it is. Until then the others may wait, if they seem to be short."""
        if not self._queues:
            return inf
        first = min(self._queues.values(), key=_began_at)
        late_at = first.first.attempt.began_at + max(self._starts.seconds / 10, 2 * self._throughput.recent_seconds)
        # What this process has not read yet is no run that takes long.
        return None if clock.elapsed() >= late_at and not first.child.has_unread() else late_at

    def _gathering_seconds(self, queues: list[PrefetchQueue]) -> float:
        if self._supervisor.idle or any(queue.child.is_waiting for queue in queues):
            return 0.0
        if self._config.strict:
            # Where a transaction waits for a server, one for the results of all children is quicker than one for each.
            is_worth_it = self._is_served and len(self._queues) > 1 and self._strict_seconds < _STRICT_GATHERING_SECONDS
            return self._strict_seconds if is_worth_it else 0.0
        left = (queue.seconds_left(self._expected_seconds(queue.first)) for queue in queues)
        return min(_LONGEST_GATHERING_SECONDS, min(left, default=0.0) / 2)

    def grow(self, count: int) -> None:
        self._starts.start(count)

    # Starting.

    def start(self, permits: int, ahead: int) -> Steps:
        self._release_written()
        self._recall_behind_the_stuck()
        if permits > 0 and self._supervisor.idle and self.ask_at > clock.elapsed() and not self.count_waiting():
            self._recall_behind_the_slowest()
        started: Steps = []
        ahead -= sum(queue.length for queue in self._queues.values())
        queues = [queue for queue in self._open_queues() if not queue.child.is_waiting]
        given: dict[ChildProcess, list[StartRun]] = {}
        # Called in each turn, also while every child has work: then the waiting runs are not gone through.
        for held in self._startable() if queues or self._supervisor.idle else ():
            if ahead <= 0:
                # What has ended unwritten and what is queued must not get more: all of it would be lost with this tick.
                break
            if permits > 0 and self._supervisor.idle:
                permits -= 1
                queue = self._start_on_idle_child(held)
                started.append((held, None))
                if not queue.is_closed:
                    queues.append(queue)
            elif queues and (queue := min(queues, key=_seconds)).seconds < AHEAD_SECONDS:
                ahead -= 1
                self._prefetch(held, queue)
                if queue.is_closed:
                    queues.remove(queue)
            else:
                break
            given.setdefault(queue.child, []).append(self._start_of(held))
        for child, starts in given.items():
            child.give(starts)
        if given:
            self.took_at = clock.elapsed()
        return started

    def _startable(self) -> Iterator[RunInHand]:
        """The waiting runs, claim by claim. In each the short ones come first: a long run closes the queue it joins.

        A run of a retired type is returned: an idle child may have other code than the first child.
        """
        known, short = self.types.policies, self._throughput.short_types()
        if not short:
            yield from (held for held in self._hand.in_phase(Phase.WAITING) if held.run.job_type in known)
            return
        for _, of_claim in groupby(self._hand.in_phase(Phase.WAITING), _token):
            waiting = [held for held in of_claim if held.run.job_type in known]
            first = [held for held in waiting if held.run.job_type in short]
            yield from first
            if len(first) < len(waiting):
                yield from (held for held in waiting if held.run.job_type not in short)

    def _start_on_idle_child(self, held: RunInHand) -> PrefetchQueue:
        child = self._supervisor.acquire()
        self._work_on(held, child)
        is_closed = not self._throughput.is_short(held.run.job_type)
        queue = self._queues[child] = PrefetchQueue(self._hand, child, held, is_closed=is_closed)
        return queue

    def _prefetch(self, held: RunInHand, queue: PrefetchQueue) -> None:
        """Add the run to the queue, and close the queue if other runs must not wait behind it."""
        expected = self._expected_seconds(held)
        held.queued_seconds = min(AHEAD_SECONDS, expected)
        queue.add(held)
        queue.is_closed = expected > AHEAD_SECONDS

    def _start_of(self, held: RunInHand) -> StartRun:
        return start_of(held, self.types.known[held.run.job_type], self._config, self._supervisor.page)

    def _open_queues(self) -> list[PrefetchQueue]:
        return [queue for queue in self._queues.values() if queue.is_open()]

    def _expected_seconds(self, held: RunInHand) -> float:
        return self._throughput.expected_seconds(held.run.job_type)

    # Ending.

    def ended(self, held: RunInHand, report: Report) -> Steps:
        queue, attempt = self._queue_of(held), held.attempt
        ended: Steps = [] if report.outcome == NOT_BEGUN else [(held, attempt.reported(report))]
        ended_at = clock.elapsed()
        if report.ended_at is not None:
            # A handler may forge this time, so it is limited to what is possible.
            ended_at = min(max(report.ended_at, attempt.began_at), ended_at)
            if self._config.strict:
                self._strict_seconds += (ended_at - attempt.began_at - self._strict_seconds) / INERTIA
            else:
                self._throughput.learn(held.run.job_type, ended_at - attempt.began_at)
                if self._throughput.learned == 1:
                    self._used_before = clock.processor_seconds()
        if queue is None:
            return ended
        if report.is_last:
            self._log.warning(
                "child", result="replaced", error="two runs in a row failed because a connection was closed"
            )
        if attempt.stopping is not None or report.is_last:
            # The child got stop signals, or accepts no more runs. It is killed with all that it started, and replaced.
            queue.recall()
            del self._queues[queue.child]
            queue.child.kill()
            return ended
        queue.child.next_section()
        if not queue.length:
            del self._queues[queue.child]
            if self._config.strict:
                self._unwritten[queue.child] = held
            else:
                self._supervisor.release(queue.child)
            return ended
        return [*ended, (self._work_on(queue.advance(), queue.child, began_at=ended_at), None)]

    def _release_written(self) -> None:
        """Make the children idle whose last result is written."""
        for child, held in list(self._unwritten.items()):
            if held not in self._hand:
                del self._unwritten[child]
                self._throughput.learn(held.run.job_type, clock.elapsed() - held.attempt.began_at)
                self._supervisor.release(child)

    def died(self, runs: Sequence[RunInHand]) -> Steps:
        queue = self._queue_of(runs[0])
        if queue is None:
            return [(held, held.attempt.died()) for held in runs]
        del self._queues[queue.child]
        if queue.recall():
            never_begun = Phase.WAITING if queue.first.attempt.stopping is None else Phase.RETURNING
            self._hand.move(queue.first, never_begun)
            return []
        # A queued run could not be recalled and has no report only if the child sent invalid frames before it died.
        # Then it is unknown whether the run had begun, so it counts as begun.
        unreported = [self._work_on(held, queue.child) for held in queue.behind]
        return [(held, held.attempt.died()) for held in (*runs, *unreported)]

    def _work_on(self, held: RunInHand, child: ChildProcess, began_at: float | None = None) -> RunInHand:
        held.started = Attempt(held.run, self.types.known[held.run.job_type], child, began_at)
        self._hand.move(held, Phase.WORKING)
        return held

    def _queue_of(self, held: RunInHand) -> PrefetchQueue | None:
        queue = self._queues.get(held.attempt.process)
        return queue if queue is not None and queue.first is held else None

    # Recalling.

    def _look_at(self, queue: PrefetchQueue) -> float:
        """When the reports of a child are read that has not rung. One may be of a run before a slow one."""
        return min(self._stuck_at(queue), clock.elapsed() + _LOOK_SECONDS)

    def recall(self, run_id: int | None = None) -> list[Reported]:
        if run_id is None:
            for queue in self._queues.values():
                self._recall_behind(queue)
            return []
        for queue in self._queues.values():
            if queue.holds(run_id):
                never_begun = queue.recall()
                reported = self._supervisor.receive(queue.child)
                first = Reported(queue.child, [Report(queue.first.lease.run_id, NOT_BEGUN)])
                return [*reported, first] if never_begun else reported
        return []

    def _stuck_at(self, queue: PrefetchQueue) -> float:
        longest = max(_LONGEST_WAIT_SECONDS, min(_SLOW_FACTOR * self._expected_seconds(queue.first), 1.0))
        return queue.first.attempt.began_at + longest

    def _recall_behind_the_stuck(self) -> None:
        for queue in self._queues.values():
            stuck_since = clock.elapsed() - self._stuck_at(queue)
            if queue.length and stuck_since >= 0:
                self._recall_behind(queue)
            # This is checked after the recall. A child sends its report before it takes the next run; the report may
            # still be unread, because a claim took long.
            if queue.length and stuck_since >= _UNACCOUNTED_SECONDS and not queue.child.has_unread():
                # A queued run is gone without a report: the handler has read from the queue of its child.
                queue.child.kill()

    def _recall_behind_the_slowest(self) -> None:
        """Recall from the longest queue, because nothing is due any more and a child is idle."""
        queue = max(self._queues.values(), key=_seconds, default=None)
        if queue is not None and queue.seconds > _WORTH_MOVING_SECONDS:
            self._recall_behind(queue)

    def _recall_behind(self, queue: PrefetchQueue) -> None:
        if queue.recall():
            # The recall also took the first run, which the child had not begun: send it again.
            queue.child.give([self._start_of(queue.first)])
