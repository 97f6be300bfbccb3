"""The runs in hand: every run that this tick has claimed, from the claim until its last write.

Where is this run now? Here, and nowhere else: ``phase`` says which phases there are and which follows which.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any

from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.lifecycle import AttemptResult
from jobrunner.model import ClaimedRun, Lease
from jobrunner.worker.attempt import Attempt
from jobrunner.worker.phase import AT_WORK_PHASES, LAST_PHASES, MOVES, IllegalMove, Phase

_DUE_SHARE = 0.125
"""Half of the usual time between two beats."""


class News(Enum):
    """What the heartbeat and the watchdog have learned about a lease. The main loop must act on it."""

    CANCEL_REQUESTED = "cancel requested"
    LEASE_LOST = "lease lost"
    UNRENEWED = "unrenewed"


@dataclass(slots=True)
class PendingWrite:
    """How the finalizer goes on with an end that is not written yet.

    It is tried again at ``try_at``, after ever longer pauses. ``group_size`` is how many may share its transaction,
    itself included: fewer where that has failed. What ``has_failed`` is tried again at leisure: it holds up nobody by
    its age.
    """

    try_at: float
    group_size: int
    pause_seconds: float
    is_scrubbed: bool = False
    has_failed: bool = False


@dataclass(slots=True, eq=False)
class RunInHand:
    """One run. Times are on the clock of ``clock.elapsed``.

    ``claimed`` None: only its lease is known, since its claim got no answer. It must not be begun after
    ``begin_before``. ``waits_since`` is when it was claimed or recalled; ``queue`` is where it is prefetched,
    ``queued_seconds`` what it adds to that. ``takes_permit``: it counts against the host's ``concurrency`` while it is
    at work. ``started`` is its life in a process, ``result`` how that has ended, ``ended_at`` when; ``doubt_until`` is
    until when the result may turn out to mean something else. ``is_locked`` tells that another transaction held its row
    when it was to be returned. ``told`` is what the main loop was told of its lease, ``reports`` what its handler says
    meanwhile.
    """

    lease: Lease
    claimed: ClaimedRun | None
    begin_before: float
    waits_since: float
    renewed_at: float
    phase: Phase = Phase.WAITING
    takes_permit: bool = True
    queue: object | None = None
    queued_seconds: float = 0.0
    started: Attempt | None = None
    result: AttemptResult | None = None
    ended_at: float | None = None
    doubt_until: float | None = None
    is_locked: bool = False
    write: PendingWrite | None = None
    told: set[News] = field(default_factory=set)
    reports: dict[str, Any] = field(default_factory=dict)

    @property
    def run(self) -> ClaimedRun:
        """The run as it was claimed. There is one in every phase but RETURNING."""
        assert self.claimed is not None
        return self.claimed

    @property
    def attempt(self) -> Attempt:
        """Its life in a process. There is one while it is at work, and there was one if its handler has begun."""
        assert self.started is not None
        return self.started


class Hand:
    """All runs in hand. The main thread moves them; the heartbeat and the watchdog see a locked snapshot of the leases.

    ``page`` has those that were surely not begun, for the case that this process is killed. ``permits_in_use`` is how
    many runs at work count against the host's ``concurrency``.
    """

    def __init__(self, lease: timedelta, page: BegunPage) -> None:
        self.page = page
        self.permits_in_use = 0
        self._lease_seconds = lease.total_seconds()
        # One dictionary for each phase, as an ordered set.
        self._phases: list[dict[RunInHand, None]] = [{} for _ in Phase]
        self._at_work: dict[int, RunInHand] = {}
        # Other threads look these up: changed and iterated under the lock only.
        self._by_lease: dict[Lease, RunInHand] = {}
        self._lock = threading.Lock()

    # The life of a run. Main thread only.

    def take(self, run: ClaimedRun, sent_at: float, begin_before: float) -> RunInHand:
        """A run was claimed by a statement that was sent at ``sent_at``."""
        return self._add(RunInHand(run.lease, run, begin_before, clock.elapsed(), sent_at))

    def take_to_return(self, lease: Lease) -> RunInHand:
        """A lease that is held by a claim which got no answer. Nothing can be done with it but to return it."""
        now = clock.elapsed()
        return self._add(RunInHand(lease, None, now, now, now, Phase.RETURNING))

    def _add(self, held: RunInHand) -> RunInHand:
        self.page.note([held.lease])
        with self._lock:
            self._by_lease[held.lease] = held
        self._phases[held.phase][held] = None
        return held

    def move(self, held: RunInHand, phase: Phase) -> None:
        """The run is in another phase from here on. Raises IllegalMove for one that does not follow its own."""
        if phase not in MOVES[held.phase]:
            raise IllegalMove(f"run {held.lease.run_id}: {held.phase.name} does not lead to {phase.name}")
        self._leave(held)
        held.phase = phase
        self._phases[phase][held] = None
        if phase in AT_WORK_PHASES:
            self._at_work[held.lease.run_id] = held
            self.permits_in_use += held.takes_permit
        elif phase is Phase.WAITING:
            held.waits_since, held.started = clock.elapsed(), None
        elif phase is Phase.ENDED and held.ended_at is None:
            held.ended_at = clock.elapsed()
            self.page.forget(held.lease)

    def release(self, *runs: RunInHand) -> None:
        """They are written, returned, or another owner's: this tick has nothing to do with them any more."""
        for held in runs:
            if held.phase not in LAST_PHASES:
                raise IllegalMove(f"run {held.lease.run_id}: it cannot leave the hand from {held.phase.name}")
            self._leave(held)
            self.page.forget(held.lease)
        with self._lock:
            for held in runs:
                del self._by_lease[held.lease]

    def clear(self) -> None:
        """Nothing is in hand any more, whatever state it was in."""
        with self._lock:
            self._by_lease.clear()
        self._at_work.clear()
        for phase in self._phases:
            phase.clear()

    def _leave(self, held: RunInHand) -> None:
        del self._phases[held.phase][held]
        if held.phase in AT_WORK_PHASES:
            del self._at_work[held.lease.run_id]
            self.permits_in_use -= held.takes_permit

    # Questions about phases. Main thread only.

    def in_phase(self, *phases: Phase) -> list[RunInHand]:
        """The runs in these phases; within each in the order in which they came into it."""
        return [held for phase in phases for held in self._phases[phase]]

    def prefetched(self) -> Iterator[RunInHand]:
        """Those in the queues of children, without a copy: nothing may be moved meanwhile."""
        return iter(self._phases[Phase.PREFETCHED])

    def count(self, *phases: Phase) -> int:
        """How many runs are in these phases."""
        return sum(len(self._phases[phase]) for phase in phases)

    def at_work(self, run_id: int) -> RunInHand | None:
        """The run that a process works on now; None: none does."""
        return self._at_work.get(run_id)

    def __len__(self) -> int:
        return len(self._by_lease)

    # The leases. Any thread.

    def renewable(self) -> list[RunInHand]:
        """Those whose leases are to be renewed, the one that was not for the longest time first."""
        with self._lock:
            return sorted(filter(self._is_renewable, self._by_lease.values()), key=_renewed_at)

    def due(self) -> list[RunInHand]:
        """Those that a write of the main thread should renew along with its own work."""
        before = clock.elapsed() - self._lease_seconds * _DUE_SHARE
        with self._lock:
            return [each for each in self._by_lease.values() if each.renewed_at <= before and self._is_renewable(each)]

    def _is_renewable(self, held: RunInHand) -> bool:
        # An end that the database refuses for good must not keep its run, and its tick, for ever.
        return held.ended_at is None or clock.elapsed() <= held.ended_at + self._lease_seconds

    def note_renewed(self, leases: Iterable[Lease], sent_at: float) -> None:
        """A statement that was sent at ``sent_at`` has renewed these."""
        with self._lock:
            for lease in leases:
                if (held := self._by_lease.get(lease)) is not None:
                    held.renewed_at = max(held.renewed_at, sent_at)

    def time_left(self, held: RunInHand) -> float:
        """Seconds until the lease is over unless it is renewed; negative once it is."""
        return held.renewed_at + self._lease_seconds - clock.elapsed()

    def ages(self) -> list[tuple[RunInHand, float]]:
        """Each run, and how many seconds ago its lease was renewed."""
        now = clock.elapsed()
        with self._lock:
            return [(held, now - held.renewed_at) for held in self._by_lease.values()]

    def of_runs(self, run_ids: Collection[int]) -> list[RunInHand]:
        """Those of these runs whose leases are to be renewed."""
        with self._lock:
            of_them = [held for held in self._by_lease.values() if held.lease.run_id in run_ids]
        return [held for held in of_them if self._is_renewable(held)]

    # What the main loop is told, and what handlers report. Any thread.

    def tell(self, held: RunInHand, news: News) -> bool:
        """Note that the main loop is told this. False: it was told before, or there is no handler to be stopped."""
        with self._lock:
            is_old = news in held.told or held.ended_at is not None or held.lease not in self._by_lease
            held.told.add(news)
        return not is_old

    def report(self, held: RunInHand, **columns: Any) -> None:
        """Have ``progress`` or ``output`` written with the next beat."""
        with self._lock:
            held.reports |= columns

    def take_reports(self) -> dict[Lease, dict[str, Any]]:
        """What is to be written of each lease. It counts as written; see ``put_back_reports``."""
        with self._lock:
            taken = {lease: held.reports for lease, held in self._by_lease.items() if held.reports}
            for lease in taken:
                self._by_lease[lease].reports = {}
        return taken

    def put_back_reports(self, columns: Mapping[Lease, dict[str, Any]]) -> None:
        """These could not be written. What was reported since then is newer."""
        with self._lock:
            for lease, old in columns.items():
                if (held := self._by_lease.get(lease)) is not None:
                    held.reports = old | held.reports


def _renewed_at(held: RunInHand) -> float:
    return held.renewed_at
