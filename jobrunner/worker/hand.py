"""The runs in hand: every run that this tick has claimed, from the claim until its last write.

No other part of the parent stores runs. ``phase`` lists the phases and says which may follow which.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from enum import Enum
from types import MappingProxyType
from typing import Any

from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.lifecycle import AttemptResult
from jobrunner.model import ClaimedRun, Lease
from jobrunner.store.drivers.database import Database
from jobrunner.worker.attempt import Attempt
from jobrunner.worker.phase import AT_WORK_PHASES, LAST_PHASES, MOVES, IllegalMove, Phase

_DUE_SHARE = 0.125
"""Of the lease: half of the usual time between two beats."""


class News(Enum):
    """What the heartbeat or the watchdog has found out about a lease. The main loop must act on it."""

    CANCEL_REQUESTED = "cancel requested"
    LEASE_LOST = "lease lost"
    UNRENEWED = "unrenewed"


class FailedWrite:
    """How the finalizer goes on with a result whose write has failed.

    The write is tried again at ``try_at``; the pauses get longer. ``group_size`` is how many results may share its
    transaction, itself included; it gets smaller when a write fails.
    """

    def __init__(self, try_at: float, group_size: int, pause_seconds: float) -> None:
        self.try_at = try_at
        self.group_size = group_size
        self.pause_seconds = pause_seconds
        self.is_scrubbed = False


class RunInHand:
    """One run. Times are on the clock of ``clock.elapsed``.

    ``run`` is missing if only its lease is known, because its claim got no answer. ``is_unreadable``: it was claimed
    without its payload, which cannot be read, so its attempt fails. It must not begin after ``begin_before``.
    ``waits_since`` is when it was claimed or recalled. ``queued_seconds`` is what it adds to the length of the prefetch
    queue that it is in. ``takes_permit``: it counts against the host's ``concurrency`` while it is at work.
    ``is_committed``: its handler's own transaction has ended it, so it needs no lease any more, although the handler
    may still be at work. ``started`` is its attempt, ``result`` is how the attempt ended, ``ended_at`` is when. Until
    ``doubt_until`` the result may change, because a stop signal may explain it. ``write`` None: its write has not
    failed. ``is_locked``: another transaction held its row when it was to be returned. ``news`` is what was posted
    about its lease. ``reports`` is what is not written yet, ``progress`` the newest progress of all. ``checkpoint`` is
    the newest that this attempt has sent, None: none; ``kept`` is the one of them that was written last.
    """

    # What stands here belongs to all runs, until it is set for one: most runs need none of it.
    run: ClaimedRun
    is_unreadable = False
    takes_permit = True
    queued_seconds = 0.0
    started: Attempt | None = None
    result: AttemptResult | None = None
    ended_at: float | None = None
    doubt_until: float | None = None
    is_locked = False
    is_committed = False
    write: FailedWrite | None = None
    news: frozenset[News] = frozenset()
    reports: Mapping[str, Any] = MappingProxyType({})
    progress: dict[str, Any] | None = None
    checkpoint: dict[str, Any] | None = None
    kept: dict[str, Any] | None = None

    def __init__(self, lease: Lease, phase: Phase, renewed_at: float, begin_before: float, waits_since: float) -> None:
        self.lease = lease
        self.phase = phase
        self.renewed_at = renewed_at
        self.begin_before = begin_before
        self.waits_since = waits_since

    @property
    def unwritten_checkpoint(self) -> dict[str, Any] | None:
        """Its newest checkpoint, unless that is written. None: there is nothing to write."""
        # Not by its value: {"value": 1} and {"value": true} are equal in Python.
        return None if self.checkpoint is self.kept else self.checkpoint

    @property
    def attempt(self) -> Attempt:
        """Its attempt. There is one while the run is at work, and after that if a process has worked on it."""
        assert self.started is not None
        return self.started


class Hand:
    """All runs in hand. The main thread moves them; the heartbeat and the watchdog read the leases under a lock.

    ``page`` notes the runs that have certainly not begun, in case this process is killed. ``permits_in_use`` is how
    many runs at work count against the host's ``concurrency``.
    """

    def __init__(self, lease: timedelta, page: BegunPage) -> None:
        self.page = page
        self.permits_in_use = 0
        self._lease_seconds = lease.total_seconds()
        # One dictionary for each phase, as an ordered set.
        self._phases: list[dict[RunInHand, None]] = [{} for _ in Phase]
        self._at_work: dict[int, RunInHand] = {}
        # Other threads read this too, so it is changed and iterated only under the lock.
        self._by_lease: dict[Lease, RunInHand] = {}
        self._lock = threading.Lock()
        self._beat_ends_at = 0.0  # Infinite while one is under way.

    # The life of a run. Main thread only.

    def take(self, runs: Iterable[ClaimedRun], sent_at: float, begin_before: float) -> list[RunInHand]:
        """Add runs that were claimed by a statement sent at ``sent_at``."""
        now = clock.elapsed()
        taken = []
        for run in runs:
            held = RunInHand(run.lease, Phase.WAITING, sent_at, begin_before, now)
            held.run = run
            taken.append(held)
        self._add(taken)
        return taken

    def take_to_return(self, lease: Lease) -> RunInHand:
        """Add a lease that belongs to a claim without an answer. It can only be returned."""
        now = clock.elapsed()
        held = RunInHand(lease, Phase.RETURNING, now, 0.0, now)
        self._add([held])
        return held

    def _add(self, taken: list[RunInHand]) -> None:
        self.page.note([held.lease for held in taken])
        with self._lock:
            self._by_lease.update((held.lease, held) for held in taken)
        for held in taken:
            self._phases[held.phase][held] = None

    def move(self, held: RunInHand, phase: Phase) -> None:
        """Put the run into another phase. Raises IllegalMove if that phase may not follow its current one."""
        before, phases = held.phase, self._phases
        if phase not in MOVES[before]:
            raise IllegalMove(f"run {held.lease.run_id}: {before.name} does not lead to {phase.name}")
        del phases[before][held]
        if before in AT_WORK_PHASES:
            del self._at_work[held.lease.run_id]
            self.permits_in_use -= held.takes_permit
        held.phase = phase
        phases[phase][held] = None
        if phase in AT_WORK_PHASES:
            self._at_work[held.lease.run_id] = held
            self.permits_in_use += held.takes_permit
        elif phase is Phase.WAITING:
            held.waits_since, held.started = clock.elapsed(), None
        elif phase is Phase.ENDED and held.ended_at is None:
            held.ended_at = clock.elapsed()
            self.page.forget(held.lease)

    def release(self, *runs: RunInHand) -> None:
        """Remove runs that are written or returned, or that belong to another owner by now."""
        for held in runs:
            if held.phase not in LAST_PHASES:
                raise IllegalMove(f"run {held.lease.run_id}: it cannot leave the hand from {held.phase.name}")
            del self._phases[held.phase][held]
            if held.ended_at is None:
                self.page.forget(held.lease)
        with self._lock:
            for held in runs:
                del self._by_lease[held.lease]

    def clear(self) -> None:
        """Remove all runs, whatever phase they are in."""
        with self._lock:
            self._by_lease.clear()
        self._at_work.clear()
        self._phases = [{} for _ in Phase]

    # Questions about phases. Main thread only.

    def in_phase(self, *phases: Phase) -> list[RunInHand]:
        """The runs in these phases. Within a phase they are in the order in which they entered it."""
        return [held for phase in phases for held in self._phases[phase]]

    def each_in(self, phase: Phase) -> Iterator[RunInHand]:
        """The runs in this phase in their order, without a copy: do not move any run while you iterate."""
        return iter(self._phases[phase])

    def count(self, *phases: Phase) -> int:
        """How many runs are in these phases."""
        return sum(map(len, map(self._phases.__getitem__, phases)))

    def at_work(self, run_id: int) -> RunInHand | None:
        """The run with this id if a process works on it now, else None."""
        return self._at_work.get(run_id)

    def __len__(self) -> int:
        return len(self._by_lease)

    def __contains__(self, held: RunInHand) -> bool:
        return held in self._phases[held.phase]

    # The leases. Any thread.

    def renewable(self) -> list[RunInHand]:
        """The runs whose leases are to be renewed. The one with the oldest renewal is first."""
        with self._lock:
            return sorted(filter(self._is_renewable, self._by_lease.values()), key=lambda held: held.renewed_at)

    def due_leases(self, database: Database) -> list[Lease]:
        """The leases that a write should renew, too: none, unless writers starve each other in this database."""
        return [held.lease for held in self.due()] if database.waits_unfairly else []

    def due(self) -> list[RunInHand]:
        """The runs whose leases a write of the main thread should renew, too."""
        before = clock.elapsed() - self._lease_seconds * _DUE_SHARE
        with self._lock:
            return [each for each in self._by_lease.values() if each.renewed_at <= before and self._is_renewable(each)]

    def _is_renewable(self, held: RunInHand) -> bool:
        if held.is_committed:
            return False
        # A result that the database always refuses must not keep its run, and its tick, forever.
        return held.ended_at is None or clock.elapsed() <= held.ended_at + self._lease_seconds

    @contextmanager
    def beating(self) -> Iterator[None]:
        """While the block runs, a beat is under way, which may have locked the rows of runs."""
        self._beat_ends_at = float("inf")
        try:
            yield
        finally:
            self._beat_ends_at = clock.elapsed()

    def was_beating(self, since: float) -> bool:
        """Whether a beat was under way at any time since then."""
        return self._beat_ends_at >= since

    def note_renewed(self, leases: Iterable[Lease], sent_at: float) -> None:
        """Note that a statement sent at ``sent_at`` has renewed these leases."""
        with self._lock:
            for lease in leases:
                if (held := self._by_lease.get(lease)) is not None:
                    held.renewed_at = max(held.renewed_at, sent_at)

    def note_committed(self, leases: Iterable[Lease]) -> None:
        """Note that the handlers' own transactions have ended these runs."""
        with self._lock:
            for lease in leases:
                if (held := self._by_lease.get(lease)) is not None:
                    held.is_committed = True

    def time_left(self, held: RunInHand) -> float:
        """Seconds until the lease expires unless it is renewed; negative after it has expired."""
        return held.renewed_at + self._lease_seconds - clock.elapsed()

    def ages(self) -> list[tuple[RunInHand, float]]:
        """Each run that needs its lease, and how many seconds ago the lease was renewed."""
        now = clock.elapsed()
        with self._lock:
            return [(held, now - held.renewed_at) for held in self._by_lease.values() if not held.is_committed]

    def of_runs(self, run_ids: Collection[int]) -> list[RunInHand]:
        """The runs with these ids whose leases are to be renewed, or whose handlers are at work without one."""
        with self._lock:
            of_them = [held for held in self._by_lease.values() if held.lease.run_id in run_ids]
        return [held for held in of_them if self._is_renewable(held) or (held.is_committed and held.ended_at is None)]

    # News for the main loop, and reports of handlers. Any thread.

    def note_news(self, held: RunInHand, news: News) -> bool:
        """Note news for the main loop. False means that it is not new, or that there is no handler to stop."""
        with self._lock:
            is_old = news in held.news or held.ended_at is not None or held.lease not in self._by_lease
            held.news |= {news}
        return not is_old

    def report(self, held: RunInHand, **columns: Any) -> None:
        """Note ``progress`` or ``output``, which the next beat writes."""
        with self._lock:
            held.reports = {**held.reports, **columns}
            held.progress = columns.get("progress", held.progress)

    def take_reports(self) -> dict[Lease, dict[str, Any]]:
        """Remove and return the reports of each lease. If they cannot be written, call ``put_back_reports``."""
        with self._lock:
            taken = {lease: dict(held.reports) for lease, held in self._by_lease.items() if held.reports}
            for lease in taken:
                self._by_lease[lease].reports = {}
        return taken

    def unwritten_checkpoints(self) -> dict[Lease, dict[str, Any]]:
        """The newest checkpoint of each lease that has one which is not written. Call ``note_kept`` when it is."""
        with self._lock:
            newest = ((lease, held.unwritten_checkpoint) for lease, held in self._by_lease.items())
            return {lease: checkpoint for lease, checkpoint in newest if checkpoint is not None}

    def note_kept(self, checkpoints: Mapping[Lease, dict[str, Any]]) -> None:
        """Note that these were written. A newer one of the same run stays to be written."""
        with self._lock:
            for lease, checkpoint in checkpoints.items():
                if (held := self._by_lease.get(lease)) is not None:
                    held.kept = checkpoint

    def put_back_reports(self, columns: Mapping[Lease, dict[str, Any]]) -> None:
        """Note reports again that could not be written. Newer reports of the same run win."""
        with self._lock:
            for lease, old in columns.items():
                if (held := self._by_lease.get(lease)) is not None:
                    held.reports = {**old, **held.reports}
