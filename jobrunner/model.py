"""The nouns that rooms hand to each other. Frozen; times are aware and in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

from jobrunner import backoff
from jobrunner.backoff import Backoff

DEFAULT_MAX_ATTEMPTS = 5
DEFAULT_TIMEOUT = timedelta(minutes=15)
DEFAULT_KILL_AFTER = timedelta(seconds=5)
MOST_WAITING = 10**9
DEFAULT_MISFIRE_MOST = 100
FIRST_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
LAST_INSTANT = datetime(9999, 12, 31, tzinfo=UTC)
"""What a database may hold. The year that ends with the last one is in Python's calendar in every time zone."""

WhenFull: TypeAlias = Literal["refuse", "drop"]
OnStop: TypeAlias = Literal["release", "drop"]
Misfire: TypeAlias = Literal["latest", "skip", "all"]
Overlap: TypeAlias = Literal["skip", "queue", "allow", "replace"]
Source: TypeAlias = Literal["command", "code", "file"]
PLACES = {"code": "the code", "file": "jobrunner.toml"}
"""Where what was not said by a command stands, in words: there a person changes it."""
Origin: TypeAlias = Literal["slot", "trigger", "backfill", "again"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How runs of one job type are tried. ``timeout`` None: no limit, which a handler must ask for.

    ``concurrency`` is how many of them may be at work on one host, all its ticks together; None: as many as the host
    has places. Those of an async type share one child and take no places of the host's.
    ``max_waiting`` is how many may wait before an enqueue is refused or dropped (``when_full``); None: any number.
    ``on_stop`` is what becomes of a run that is still at work when a stopped tick's grace is over.
    """

    job_type: str
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    timeout: timedelta | None = DEFAULT_TIMEOUT
    backoff: Backoff = backoff.DEFAULT
    kill_after: timedelta = DEFAULT_KILL_AFTER
    concurrency: int | None = None
    is_async: bool = False
    max_waiting: int | None = None
    when_full: WhenFull = "refuse"
    on_stop: OnStop = "release"

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data. What a child sends of it is checked by ``children.protocol.policy_of``."""
        return {
            "job_type": self.job_type,
            "max_attempts": self.max_attempts,
            "timeout_seconds": None if self.timeout is None else self.timeout.total_seconds(),
            "backoff": self.backoff.as_data(),
            "kill_after_seconds": self.kill_after.total_seconds(),
            "concurrency": self.concurrency,
            "is_async": self.is_async,
            "max_waiting": self.max_waiting,
            "when_full": self.when_full,
            "on_stop": self.on_stop,
        }


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lease: one tick on one host. ``name`` goes into ``locked_by``."""

    host: str
    name: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to end one attempt: every write of the owner names both."""

    run_id: int
    token: str


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run that this tick owns, with what its handler needs to know. ``timeout`` None: no limit."""

    lease: Lease
    job_type: str
    payload: dict[str, Any]
    attempt: int
    max_attempts: int
    timeout: timedelta | None
    run_at: datetime
    scheduled_for: datetime | None
    started_at: datetime

    @property
    def lateness(self) -> timedelta:
        """How long after its slot, or else its run_at, it was claimed."""
        return max(timedelta(0), self.started_at - (self.scheduled_for or self.run_at))


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many runs a pool can take: ``per_permit`` for each of ``places`` permits, and ``ahead`` behind others."""

    places: int
    per_permit: int = 1
    ahead: int = 0

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return self.runs(self.places) > 0

    def runs(self, places: int) -> int:
        """How many that are if so many places are free."""
        return max(0, min(places, self.places)) * self.per_permit + self.ahead


@dataclass(frozen=True, slots=True)
class SlotPolicy:
    """What becomes of slots that come late or while a run is unfinished. Made by ``make_slot_policy``, which checks it.

    ``misfire_window`` is how late a slot may get its run, ``misfire_most`` how many late ones may with ``misfire`` all.
    ``start_deadline`` is how long after its run_at a run may still be started, ``jitter`` within how long after its
    slot it becomes due, ``ends_at`` the last moment that can be a slot, ``max_runs`` how many runs there are to be in
    all. None: no limit.
    """

    misfire: Misfire = "latest"
    misfire_window: timedelta | None = None
    misfire_most: int = DEFAULT_MISFIRE_MOST
    overlap: Overlap = "skip"
    start_deadline: timedelta | None = None
    jitter: timedelta | None = None
    ends_at: datetime | None = None
    max_runs: int | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """What somebody (a person, the code, the file) says that a definition should be. ``source`` says who.

    ``application`` is whose code or file that is, where several share a database; "" where nobody said.
    ``renamed_from`` is the name that the definition had before, if it is there under that name still.
    """

    name: str
    job_type: str
    schedule: str
    timezone: str
    payload: dict[str, Any]
    source: Source
    policy: SlotPolicy = SlotPolicy()
    description: str | None = None
    application: str = ""
    renamed_from: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A row of ``job_definitions``. ``runs_made`` counts the runs made of its slots, also those that were pruned."""

    id: int
    name: str
    job_type: str
    payload: dict[str, Any]
    schedule: str
    timezone: str
    last_slot_at: datetime
    last_error: str | None
    source: str = "command"
    policy: SlotPolicy = SlotPolicy()
    runs_made: int = 0
    description: str | None = None
    paused_at: datetime | None = None

    @property
    def concurrency_key(self) -> str | None:
        """What all its runs have in common, so that never two of them are at work. None: any number may be."""
        return None if self.policy.overlap == "allow" else f"definition:{self.id}"
