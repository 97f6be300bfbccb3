"""The heartbeat: renews this tick's leases in a thread with its own connection.

It renews only while the main loop goes on, so a stuck parent loses its leases. It posts news to the main loop: which
leases are lost and which runs have a cancel request. A lease that could not be renewed in time is given up: its
handler is asked to stop at three quarters of the lease and killed just before the end, so that it is dead before
another tick may start the run (self-fencing). The watchdog's thread does this, because it never waits for the database.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Collection
from functools import partial

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.store.drivers.database import Connection
from jobrunner.store.queue import holding
from jobrunner.store.queue.holding import Renewal
from jobrunner.worker import threads
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.context import TickContext
from jobrunner.worker.hand import Hand, News, RunInHand
from jobrunner.worker.phase import AT_WORK_PHASES
from jobrunner.worker.threads import TickThread
from jobrunner.worker.watchdog import LONGEST_CALL_SHARE

FENCE_SHARE = 0.75
"""Of the lease, which is three missed beats: then the handler is asked to stop."""
_FIRST_BATCH, _LARGEST_BATCH = 1000, 10_000
_KILL_SHARE = 0.9
"""Of the lease. The watchdog looks every 32nd of the lease, so it kills at the latest when 7 % of the lease is left."""


class Heartbeat(TickThread):
    """Renews leases. Call every method but ``run`` in the main thread. ``wake`` ends that thread's wait for news."""

    def __init__(self, context: TickContext, hand: Hand, wake: Callable[[], None]) -> None:
        super().__init__("jobrunner-heartbeat")
        self.news: queue.SimpleQueue[tuple[News, RunInHand]] = threads.SimpleQueue()
        self._hand = hand
        self._database = context.database.second_connection()
        self._watchdog = context.watchdog
        self._lease = context.config.lease
        self._lease_seconds = self._lease.total_seconds()
        self._every_seconds = context.config.heartbeat.total_seconds()
        self._log = context.log
        self._wake = wake
        self._beat_now = threads.Event()
        self._beat_done = threads.Event()
        self._closing = False
        # Runs whose lease could not be renewed because another transaction had locked the row. Tried again soon.
        self._locked: list[RunInHand] = []
        self._batch_size = BatchSize(_LARGEST_BATCH, self._lease, first=_FIRST_BATCH)
        self._step_at = self._beat_at = clock.elapsed()
        self._watchdog.add(self._database, self._fence)

    def note_lost(self, run_ids: Collection[int]) -> set[int]:
        """Note runs that were just claimed: earlier leases on them are lost. Returns the ids of runs that had one."""
        lost = self._hand.of_runs(run_ids)
        for held in lost:
            self._post(News.LEASE_LOST, held)
        return {held.lease.run_id for held in lost}

    def note_step(self) -> None:
        """Note that the main loop goes on. After a stall, first wait for a beat that finds the lost leases."""
        stalled = clock.elapsed() - self._step_at > self._lease_seconds * LONGEST_CALL_SHARE
        self._step_at = clock.elapsed()
        if stalled and len(self._hand):
            self._beat_done.clear()
            self._beat_now.set()
            self._beat_done.wait(self._lease_seconds * LONGEST_CALL_SHARE)
            self._step_at = clock.elapsed()

    def close(self) -> None:
        """Stop beating and close the connection."""
        self._closing = True
        self._watchdog.remove(self._database)
        self._beat_now.set()
        if self.is_alive():
            self.join(timeout=1)
        if self.is_alive():
            self._database.cut()
            self.join(timeout=5)
        self._database.close()

    def run(self) -> None:
        """Beat until closed."""
        pause = min(self._every_seconds, self._lease_seconds / 16, 1.0)
        while not self._closing:
            is_asked = self._beat_now.wait(pause)
            self._beat_now.clear()
            began_at = clock.elapsed()
            if is_asked or began_at - self._beat_at >= self._every_seconds:
                if self._try_to_beat(self._hand.renewable()):
                    self._beat_at = began_at
            elif self._locked:
                self._try_to_beat(self._locked)
            self._beat_done.set()

    def _try_to_beat(self, due: list[RunInHand]) -> bool:
        if clock.elapsed() - self._step_at > self._lease_seconds / 2:
            return False
        try:
            with self._hand.beating():
                self._renew_all(due)
                self._write_checkpoints()
                self._write_reports()
        except JobrunnerError as error:
            if not self._closing:
                self._log.warning("heartbeat", result="failed", error=str(error))
        except Exception as error:  # noqa: BLE001 - the thread must live: without it every lease is lost
            self._log.error("heartbeat", result="failed", error=f"{type(error).__name__}: {error}"[:500])
        else:
            return True
        return False

    def _renew_all(self, due: list[RunInHand]) -> None:
        """Renew in batches. If one fails, the next beat begins with the leases that were not renewed."""
        self._locked = []
        while due:
            some, due = due[: self._batch_size.size], due[self._batch_size.size :]
            began_at = clock.elapsed()
            try:
                self._renew(some)
            except DatabaseUnavailable as error:
                if self._batch_size.is_cut(error, clock.elapsed() - began_at):
                    self._batch_size.was_cut()
                raise
            self._batch_size.took(clock.elapsed() - began_at)

    def _renew(self, due: list[RunInHand]) -> None:
        leases = [held.lease for held in due]

        def work(connection: Connection) -> Renewal:
            renewal = holding.renew(connection, leases, self._lease)
            self._database.hit("heartbeat.before_commit")
            return renewal

        sent_at = clock.elapsed()
        renewal = self._database.write(work)
        self._database.hit("heartbeat.committed")
        self._hand.note_renewed(renewal.renewed, sent_at)
        self._hand.note_committed(renewal.committed)
        self._locked += [held for held in due if held.lease in renewal.locked]
        for held in due:
            if renewal.renewed.get(held.lease):
                self._post(News.CANCEL_REQUESTED, held)
            elif all(held.lease not in each for each in (renewal.renewed, renewal.locked, renewal.committed)):
                self._post(News.LEASE_LOST, held)

    def _write_checkpoints(self) -> None:
        """Write what runs keep for their next attempts, a group at a time: each may have some ten thousand bytes."""
        for group in holding.groups_of(self._hand.unwritten_checkpoints()):
            written = self._database.write(partial(holding.keep, checkpoints=group))
            self._hand.note_kept({lease: group[lease] for lease in written})

    def _write_reports(self) -> None:
        """Write progress and output. This is not part of the renewal, so that a bad value cannot cost a lease."""
        columns = self._hand.take_reports()
        if columns:
            written = self._database.write(lambda connection: holding.report(connection, columns))
            self._hand.put_back_reports({lease: columns[lease] for lease in columns.keys() - written})

    def _fence(self) -> None:
        for held, age in self._hand.ages():
            if age >= self._lease_seconds * FENCE_SHARE:
                self._post(News.UNRENEWED, held)
            attempt = held.started
            if age >= self._lease_seconds * _KILL_SHARE and held.phase in AT_WORK_PHASES and attempt is not None:
                # This runs in the watchdog's thread, because the main loop may be stuck.
                attempt.process.kill()

    def _post(self, news: News, held: RunInHand) -> None:
        if self._hand.note_news(held, news):
            self.news.put((news, held))
            self._wake()
