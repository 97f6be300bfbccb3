"""The heartbeat: renews this tick's leases from a thread with its own connection.

It renews only while the main loop turns, so a stuck parent loses its leases. It tells the main loop which
leases are lost and which runs somebody wants cancelled. A lease that could not be renewed in time is given up: its
handler is told to stop at three quarters of the lease and killed just before the end, so that it is over before
anybody else may start the run (self-fencing). That is the watch's work, which waits for no database.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.log import Log
from jobrunner.model import Lease
from jobrunner.store import holding
from jobrunner.store.database import Connection, Database
from jobrunner.store.holding import Renewal
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.watchdog import LONGEST_CALL_SHARE, TickThread, Watchdog

FENCE_SHARE = 0.75
"""Three beats missed: the handler is told to stop."""
_DUE_SHARE = 0.125
"""Half of the usual time between two beats."""
_FIRST_PORTION, _LARGEST_PORTION = 1000, 10_000
_KILL_SHARE = 0.9
"""The watch looks every 32nd of the lease: killed at the latest when seven hundredths of it are left."""


class News(Enum):
    """What the main loop must act on."""

    CANCEL_REQUESTED = "cancel requested"
    LEASE_LOST = "lease lost"
    UNRENEWED = "unrenewed"


@dataclass(slots=True)
class _Held:
    renewed_at: float
    kill: Callable[[], None] = lambda: None
    over_at: float | None = None
    told: set[News] = field(default_factory=set)
    columns: dict[str, Any] = field(default_factory=dict)


class Heartbeat(TickThread):
    """Every method but ``run`` is for the main thread. ``wake`` ends the main loop's wait when there is news."""

    def __init__(
        self, main: Database, watch: Watchdog, *, lease: timedelta, every: timedelta, log: Log, wake: Callable[[], None]
    ) -> None:
        super().__init__(name="jobrunner-heartbeat", daemon=True)
        self.news: queue.SimpleQueue[tuple[News, Lease]] = queue.SimpleQueue()
        self._database = main.twin()
        self._watch = watch
        self._lease = lease
        self._lease_seconds = lease.total_seconds()
        self._every_seconds = every.total_seconds()
        self._log = log
        self._wake = wake
        self._held: dict[Lease, _Held] = {}
        self._lock = threading.Lock()
        self._nudge = threading.Event()
        self._beaten = threading.Event()
        self._closing = False
        # Those that could not be renewed, since somebody has locked their rows: tried again soon, by themselves.
        self._locked: list[Lease] = []
        self._portion = BatchSize(_LARGEST_PORTION, lease, first=_FIRST_PORTION)
        self._turned_at = self._beat_at = clock.elapsed()
        watch.add(self._database, self._fence)

    def hold(self, leases: Iterable[Lease], since: float) -> None:
        """Keep leases that were claimed by a statement sent at ``since``."""
        with self._lock:
            self._held.update((lease, _Held(since)) for lease in leases)

    def begin(self, lease: Lease, kill: Callable[[], None]) -> None:
        """A handler works under the lease from here on; ``kill`` ends it."""
        with self._lock:
            if lease in self._held:
                self._held[lease].kill = kill

    def is_over(self, lease: Lease) -> None:
        """The handler has ended: there is nobody to stop. Renewed until the end is written, for one lease at most."""
        with self._lock:
            self._held[lease].over_at = clock.elapsed()

    def let_go(self, *leases: Lease) -> None:
        """The runs are finalized, or somebody else's."""
        with self._lock:
            for lease in leases:
                self._held.pop(lease, None)

    def lose(self, run_ids: Collection[int]) -> set[int]:
        """These runs were just claimed: if leases on them are still held, they are lost. The ids of such runs."""
        lost = [lease for lease in self.held() if lease.run_id in run_ids]
        for lease in lost:
            self._tell(News.LEASE_LOST, lease)
        return {lease.run_id for lease in lost}

    def held(self) -> list[Lease]:
        """The leases that are being renewed, the one that was not for the longest time first."""
        with self._lock:
            renewed = [lease for lease, held in self._held.items() if self._is_renewed(held)]
            return sorted(renewed, key=lambda lease: self._held[lease].renewed_at)

    def _is_renewed(self, held: _Held) -> bool:
        # An end that the database refuses for good must not keep its run, and its tick, for ever.
        return held.over_at is None or clock.elapsed() <= held.over_at + self._lease_seconds

    def count_held(self) -> int:
        """How many leases there are to be renewed."""
        return len(self._held)

    def due(self) -> list[Lease]:
        """Those of the leases that a write of the main thread should renew along with its own work."""
        with self._lock:
            before = clock.elapsed() - self._lease_seconds * _DUE_SHARE
            due = [lease for lease, held in self._held.items() if held.renewed_at <= before]
            return [lease for lease in due if self._is_renewed(self._held[lease])]

    def time_left(self, lease: Lease) -> float:
        """Seconds until the lease is over unless it is renewed; negative once it is."""
        with self._lock:
            held = self._held.get(lease)
            return 0.0 if held is None else held.renewed_at + self._lease_seconds - clock.elapsed()

    def renewed(self, leases: Iterable[Lease], sent_at: float) -> None:
        """A statement sent at ``sent_at`` has renewed these."""
        with self._lock:
            for lease in leases:
                if lease in self._held:
                    self._held[lease].renewed_at = max(self._held[lease].renewed_at, sent_at)

    def report(self, lease: Lease, **columns: Any) -> None:
        """Have ``progress`` or ``output`` written with the next beat."""
        with self._lock:
            if lease in self._held:
                self._held[lease].columns |= columns

    def turn(self) -> None:
        """The main loop turns. After a stall the leases come first: waits until a beat has told which are left."""
        stalled = clock.elapsed() - self._turned_at > self._lease_seconds * LONGEST_CALL_SHARE
        self._turned_at = clock.elapsed()
        if stalled and self._held:
            self._beaten.clear()
            self._nudge.set()
            self._beaten.wait(self._lease_seconds * LONGEST_CALL_SHARE)
            self._turned_at = clock.elapsed()

    def close(self) -> None:
        """Stop beating and close the connection."""
        self._closing = True
        self._watch.remove(self._database)
        self._nudge.set()
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
            nudged = self._nudge.wait(pause)
            self._nudge.clear()
            began_at = clock.elapsed()
            if nudged or began_at - self._beat_at >= self._every_seconds:
                if self._try_to_beat(self.held()):
                    self._beat_at = began_at
            elif self._locked:
                self._try_to_beat(self._locked)
            self._beaten.set()

    def _try_to_beat(self, due: list[Lease]) -> bool:
        if clock.elapsed() - self._turned_at > self._lease_seconds / 2:
            return False
        try:
            self._renew_all(due)
            self._write_reports()
        except JobrunnerError as error:
            if not self._closing:
                self._log.warning("heartbeat", result="failed", error=str(error))
        except Exception as error:  # noqa: BLE001 - the thread must live: without it every lease is lost
            self._log.error("heartbeat", result="failed", error=f"{type(error).__name__}: {error}"[:500])
        else:
            return True
        return False

    def _renew_all(self, due: list[Lease]) -> None:
        """In as many writes as it takes: those that come after one that failed are the first in the next beat."""
        self._locked = []
        while due:
            some, due = due[: self._portion.size], due[self._portion.size :]
            began_at = clock.elapsed()
            try:
                self._renew(some)
            except DatabaseUnavailable as error:
                if self._portion.is_cut(error, clock.elapsed() - began_at):
                    self._portion.was_cut()
                raise
            self._portion.took(clock.elapsed() - began_at)

    def _renew(self, due: list[Lease]) -> None:
        def work(connection: Connection) -> Renewal:
            renewal = holding.renew(connection, due, self._lease)
            self._database.hit("heartbeat.before_commit")
            return renewal

        sent_at = clock.elapsed()
        renewal = self._database.write(work)
        self._database.hit("heartbeat.committed")
        self.renewed(renewal.renewed, sent_at)
        self._locked += [lease for lease in due if lease in renewal.locked]
        for lease in due:
            if renewal.renewed.get(lease):
                self._tell(News.CANCEL_REQUESTED, lease)
            elif lease not in renewal.renewed and lease not in renewal.locked:
                self._tell(News.LEASE_LOST, lease)

    def _write_reports(self) -> None:
        """Apart from the renewal: what a handler says must not be able to cost a lease."""
        with self._lock:
            columns = {lease: held.columns for lease, held in self._held.items() if held.columns}
            for lease in columns:
                self._held[lease].columns = {}
        if not columns:
            return
        written = self._database.write(lambda connection: holding.report(connection, columns))
        with self._lock:
            for lease in columns.keys() - written & self._held.keys():
                self._held[lease].columns = columns[lease] | self._held[lease].columns

    def _fence(self) -> None:
        with self._lock:
            ages = {lease: clock.elapsed() - held.renewed_at for lease, held in self._held.items()}
        for lease, age in ages.items():
            if age >= self._lease_seconds * FENCE_SHARE:
                self._tell(News.UNRENEWED, lease)
            if age >= self._lease_seconds * _KILL_SHARE:
                self._kill(lease)

    def _kill(self, lease: Lease) -> None:
        with self._lock:
            held = self._held.get(lease)
        if held is not None and held.over_at is None:
            # From the watch's thread: the main loop may be what is stuck.
            held.kill()

    def _tell(self, news: News, lease: Lease) -> None:
        with self._lock:
            held = self._held.get(lease)
            if held is None or held.over_at is not None or news in held.told:
                return
            held.told.add(news)
        self.news.put((news, lease))
        self._wake()
