"""The records of what there may be to find: ``findings`` reads them, ``admin.findings`` judges them.

Named tuples and no dataclasses, whose making takes a tick that writes metrics some milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from jobrunner.store.questions.lockers import Locker
from jobrunner.store.questions.rhythm import Beat
from jobrunner.store.questions.snapshots import Holder

MOST_COUNTED = 10_000
"""Rows that a finding counts. Of more it says that there are more."""


class HostTick(NamedTuple):
    """The last tick of a host. ``ticks`` is how many it has, up to three."""

    host: str
    started_at: datetime
    finished_at: datetime | None
    error: str | None
    ticks: int


class KilledTicks(NamedTuple):
    """How many ticks of a host were killed in the last hour, and when the last of them started."""

    host: str
    ticks: int
    last_at: datetime


class Flow(NamedTuple):
    """The runs of a type that became due since an instant and wait still, and those that ended since."""

    since: datetime
    came: int
    ended: int


class DueType(NamedTuple):
    """A type with due runs. ``id`` and ``run_at`` are those of the run whose turn is next.

    Runs behind gates are among them if no limit is a reason to wait, or if no claim would see them. ``flow`` is looked
    at only if that run waits longer than its ``since``.
    """

    job_type: str
    id: int
    run_at: datetime
    runs: int
    flow: Flow | None = None


class DeadType(NamedTuple):
    """How many runs of a type died in the last hour, and one of them."""

    job_type: str
    runs: int
    id: int


class ExpiredLeases(NamedTuple):
    """Runs whose lease expired so long ago that a tick should have recovered them."""

    runs: int
    id: int | None
    first_at: datetime | None


class SilentTick(NamedTuple):
    """A tick that was killed, or that has not renewed its leases for half of their time. One of its runs is ``id``."""

    host: str | None
    locked_by: str
    runs: int
    id: int
    renewed_at: datetime
    ends_at: datetime


class UncertainEffects(NamedTuple):
    """The effects that an operator must settle, and since when the first of them is open."""

    effects: int
    first_at: datetime | None


class BrokenDefinition(NamedTuple):
    """A definition that cannot be expanded. ``last_error`` None: a clock was ahead when it was expanded."""

    name: str
    last_error: str | None
    last_slot_at: datetime


class BrokenPromise(NamedTuple):
    """A schedule that calls ``verify``, and what its newest run has found to be broken."""

    name: str
    id: int
    last_error: str


class Awaited(NamedTuple):
    """A host that is waited for: how many of its schedules have a late slot, and how many runs only it may run.

    ``name`` is one of these schedules, ``id`` one of these runs, and ``since`` when the first of all was due.
    """

    host: str
    schedules: int
    name: str | None
    runs: int
    id: int | None
    since: datetime


class OldPause(NamedTuple):
    """A job type, a host or everything, and who has paused it. ``name`` "" is that of everything."""

    kind: str
    name: str
    actor: str
    reason: str | None
    paused_at: datetime


class OldLimit(NamedTuple):
    """What somebody has set instead of the limits of a job type, without an end."""

    job_type: str
    max_running: int | None
    rate: str | None
    actor: str
    reason: str | None
    set_at: datetime


class Comparison(NamedTuple):
    """What half of the recent successful attempts of a type did not exceed, since an instant, and what 95 of 100 did
    not exceed in the weeks before: seconds, and bytes. None: it is not known of enough attempts.
    """

    job_type: str
    since: datetime
    attempts: int
    run_seconds: float | None
    usual_run_seconds: float | None
    memory_bytes: float | None
    usual_memory_bytes: float | None


class KnownTypes(NamedTuple):
    """What the ticks of a host can run. A host may have several kinds of ticks. ``problem``: only commands, and why.

    ``traceback`` is that of the problem.
    """

    host: str
    types: frozenset[str]
    problem: str | None = None
    traceback: str | None = None


class Facts(NamedTuple):
    """All of them, read at one instant of the database's clock.

    What only a host can tell comes last: how far its clock is ahead, and why it has no state folder, if it has none.
    """

    at: datetime
    hosts: list[HostTick]
    killed: list[KilledTicks]
    due: list[DueType]
    dead: list[DeadType]
    expired: ExpiredLeases
    silent: list[SilentTick]
    uncertain: UncertainEffects
    broken: list[BrokenDefinition]
    promises: list[BrokenPromise]
    awaited: list[Awaited]
    pauses: list[OldPause]
    set_limits: list[OldLimit]
    known: list[KnownTypes]
    compared: list[Comparison]
    beat: Beat
    lockers: list[Locker]
    snapshots: list[Holder]
    skew: timedelta = timedelta(0)
    state_problem: str | None = None


class Least(NamedTuple):
    """From how many attempts on, and from how many seconds or bytes on, those of a type are compared with former ones.
    The defaults compare none.
    """

    attempts: int = 1
    seconds: float = 1e18
    memory_bytes: int = 10**18


class Limits(NamedTuple):
    """When a tick that is open and has no live lease was killed, and an expired lease should have been recovered.

    ``behind``: how long the next run of a type must wait until its throughput is looked at. ``paused_for``: how long a
    pause, or a limit that was set without an end, must last to be noted. ``tick_age``: the threshold for ticks that
    have stopped. ``most``: see MOST_COUNTED. ``late``: from when on a run behind an open gate is late. ``least``: of
    which types the attempts are compared. ``old_transactions`` and ``old_bytes``: see
    ``snapshots.look``. ``killed`` are ticks that are known to be killed.
    """

    killed_after: timedelta
    expired_for: timedelta
    behind: timedelta
    paused_for: timedelta
    tick_age: timedelta
    most: int = MOST_COUNTED
    late: timedelta = timedelta(minutes=10)
    least: Least = Least()
    old_transactions: int = 10_000
    old_bytes: int = 64 * 2**20
    killed: Sequence[str] = ()
