"""Stopping: ends handlers that must not go on, for one of the reasons in ``StopReason``."""

from __future__ import annotations

from datetime import timedelta

from jobrunner import clock
from jobrunner.worker.attempt import StopReason
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import Hand, News, RunInHand
from jobrunner.worker.heartbeat import FENCE_SHARE, Heartbeat
from jobrunner.worker.life import Life
from jobrunner.worker.phase import AT_WORK_PHASES, Phase
from jobrunner.worker.pools.pools import Pools
from jobrunner.worker.run_log import log_run


class Stopper:
    """Stops handlers on a timeout, on news of a lease and on a stop signal. Main thread only."""

    def __init__(self, context: TickContext, hand: Hand, pools: Pools, life: Life) -> None:
        self._context = context
        self._hand = hand
        self._pools = pools
        self._life = life

    def act_on_news(self, heartbeat: Heartbeat) -> None:
        """Act on the heartbeat's news of the leases."""
        while not heartbeat.news.empty():
            news, held = heartbeat.news.get()
            if held.phase in (Phase.WAITING, Phase.PREFETCHED):
                # A queued run may begin before the recall; then it is stopped below. Else it is returned.
                self._recall(held.lease.run_id)
                if held.phase is Phase.WAITING:
                    self._life.give_back(held)
            if held.phase in AT_WORK_PHASES:
                self._act(news, held)

    def _act(self, news: News, held: RunInHand) -> None:
        if news is News.CANCEL_REQUESTED:
            self._stop(held, StopReason.CANCEL)
        elif news is News.UNRENEWED:
            left = self._context.config.lease * (1 - FENCE_SHARE) / 2
            self._stop(held, StopReason.UNRENEWED, within=min(left, held.attempt.policy.kill_after))
        elif self._stop(held, StopReason.LEASE_LOST, within=timedelta(0)):
            log_run(self._context.log, "lease lost", held.run, result="nothing written")

    def stop_due(self) -> None:
        """Stop the runs whose time is over, take the next steps of stopping, and note what is new."""
        for held in self._hand.in_phase(*AT_WORK_PHASES):
            if held.attempt.stopping is None and held.attempt.is_overdue():
                self._stop(held, StopReason.TIMEOUT)
            if held.phase not in AT_WORK_PHASES:
                # Stopping has received the report of its child, so the run has ended.
                continue
            held.attempt.advance()
            if held.attempt.has_new_output():
                self._hand.report(held, output=held.attempt.tail.text())
            if (checkpoint := held.attempt.new_checkpoint()) is not None:
                held.checkpoint = checkpoint
        stop = self._context.stop
        grace = 0.0 if stop.times > 1 else self._context.config.grace.total_seconds()
        if stop.at is not None and clock.elapsed() >= stop.at + grace:
            for held in self._hand.in_phase(Phase.WORKING):
                self._stop(held, StopReason.SHUTDOWN)

    def next_steps(self) -> list[float]:
        """When ``stop_due`` has something to do."""
        steps = [held.attempt.next_step_at() for held in self._hand.in_phase(*AT_WORK_PHASES)]
        return [step for step in steps if step is not None]

    def _stop(self, held: RunInHand, reason: StopReason, within: timedelta | None = None) -> bool:
        """Begin to stop a handler; whether that was needed. First recall the queued runs of its child.

        So a signal to the child stops no other run.
        """
        if held.phase is Phase.WORKING:
            self._recall(held.lease.run_id)
        if held.phase is Phase.WORKING:
            self._hand.move(held, Phase.STOPPING)
        return held.phase is Phase.STOPPING and held.attempt.stop(reason, within)

    def _recall(self, run_id: int) -> None:
        for pool in self._pools:
            for reported in pool.recall(run_id):
                self._life.hear(reported)
