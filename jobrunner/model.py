"""The values that the rooms of jobrunner pass to each other. They are frozen. Times are aware and in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias

from jobrunner import backoff
from jobrunner.backoff import Backoff
from jobrunner.rates import Rate

MOST_WAITING = 10**9
DEFAULT_MISFIRE_MOST = 100
FIRST_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
LAST_INSTANT = datetime(9999, 12, 31, tzinfo=UTC)
"""What a database may hold. The year that ends with the last one is in Python's calendar in every time zone."""

WhenFull: TypeAlias = Literal["refuse", "drop"]
"""What happens to an enqueue while as many runs wait as ``max_pending`` allows."""
OnStop: TypeAlias = Literal["release", "drop"]
"""What happens to a run whose tick is stopped: it goes back to the queue, or it ends."""
KeyScope: TypeAlias = Literal["forever", "active", "window"]
"""How long a key stays taken."""
Taken: TypeAlias = Literal["existing", "raise", "replace"]
"""What happens to an enqueue whose key is taken."""
OnParentFailure: TypeAlias = Literal["cancel", "run"]
"""What happens to a run if one that it waits for ends dead or cancelled."""
Misfire: TypeAlias = Literal["latest", "skip", "all"]
"""Which of the slots that no tick saw in time get a run."""
Overlap: TypeAlias = Literal["skip", "queue", "allow", "replace"]
"""What happens to a slot while an earlier run of the schedule has not ended."""
On: TypeAlias = Literal["any-host", "every-host"]
"""Where a slot of a schedule gets its run: once on any host, or once on each host that can run its type."""
Source: TypeAlias = Literal["command", "code", "file", "host"]
SOURCE_NAMES = {"code": "the code", "file": "jobrunner.toml"}
"""Where the declarations of a source are written, and where an operator changes them."""
Origin: TypeAlias = Literal["slot", "trigger", "backfill", "again"]


class Actor(NamedTuple):
    """Who makes a change, and the reason if an operator gave one: what the audit trail keeps of every change."""

    name: str
    reason: str | None = None


TICK = Actor("tick")


def describe_pause(kind: str, name: str) -> str:
    """What a pause of this kind stops, in words. ``name`` is the job type, the host or the schedule; "" for all."""
    return "everything" if kind == "all" else f"{kind} {name}"


class Limits(NamedTuple):
    """What all hosts together may do with the runs of a type. None means no limit.

    ``concurrency_key`` are names of payload arguments; runs whose payloads have the same values there share a key.
    ``max_running`` is how many runs of the type may be running, and ``max_running_per_key`` how many of each key.
    ``fair_by`` is the name of the argument by whose values claims go round (``store.queue.fair``).
    """

    max_running: int | None = None
    rate: Rate | None = None
    concurrency_key: tuple[str, ...] = ()
    max_running_per_key: int | None = None
    rate_per_key: Rate | None = None
    fair_by: str | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """The names of the arguments whose values say behind which gate a run waits. Empty: there is one gate."""
        return self.concurrency_key or (() if self.fair_by is None else (self.fair_by,))

    def as_data(self) -> dict[str, Any]:
        """The options of the decorator."""
        rate, per_key = self.rate, self.rate_per_key
        return {
            "max_running": self.max_running,
            "rate": None if rate is None else rate.text,
            "burst": None if rate is None else rate.burst,
            "concurrency_key": list(self.concurrency_key) or None,
            "max_running_per_key": self.max_running_per_key,
            "rate_per_key": None if per_key is None else per_key.text,
            "burst_per_key": None if per_key is None else per_key.burst,
            "fair_by": self.fair_by,
        }


class Policy(NamedTuple):
    """How runs of one job type are executed. ``timeout`` None means no limit, and is never the default.

    ``concurrency`` is how many of them may be at work on one host, in all its ticks together. None means the host's
    concurrency. Runs of an async type share one child and use no permits of the host.
    ``max_waiting`` is how many may wait before an enqueue is refused or dropped (``when_full``). None means no limit.
    ``on_stop`` says what happens to a run that is still at work at the end of the grace of a stopped tick.
    ``key_scope`` is how long a key stays taken: forever, while its run is queued, running or failed, or for
    ``key_window`` from the creation of its run.
    ``limits`` are those over all hosts; None means none.
    ``formerly`` are the names that the type had before. ``current_name`` is that of today in the policy of a former
    name, whose runs the same handler runs; None: the ``job_type`` is.
    """

    job_type: str
    max_attempts: int = 5
    timeout: timedelta | None = timedelta(minutes=15)
    backoff: Backoff = backoff.DEFAULT
    kill_after: timedelta = timedelta(seconds=5)
    concurrency: int | None = None
    is_async: bool = False
    max_waiting: int | None = None
    when_full: WhenFull = "refuse"
    on_stop: OnStop = "release"
    key_scope: KeyScope = "forever"
    key_window: timedelta | None = None
    limits: Limits | None = None
    formerly: tuple[str, ...] = ()
    current_name: str | None = None

    @property
    def family(self) -> str:
        """What the names of one type have in common: the name of today."""
        return self.current_name or self.job_type

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the type, that of today first."""
        return (self.family, *self.formerly)

    def of_each_name(self) -> tuple[Policy, ...]:
        """The policy of the type under each of its names. A run keeps the name under which it was enqueued."""
        if not self.formerly:
            return (self,)
        return self, *(self._replace(job_type=name, current_name=self.job_type) for name in self.formerly)


class TickKind(NamedTuple):
    """What makes ticks replace each other: they have the same host, application and types.

    ``types`` are the job types of ``--type``, separated by commas; "" means all that the host can run.
    """

    host: str
    application: str
    types: str


class Owner(NamedTuple):
    """The holder of a lease: one tick on one host. ``name`` is written to ``locked_by``."""

    host: str
    name: str


class Lease(NamedTuple):
    """The right to end one attempt. Every write of the owner names both fields."""

    run_id: int
    token: str

    @classmethod
    def of(cls, row: Any) -> Lease:
        """The lease that a row names: a row of ``job_runs`` by its ``id``, every other one by its ``run_id``."""
        return cls(row.run_id if hasattr(row, "run_id") else row.id, row.lease_token)


class ClaimedRun(NamedTuple):
    """A run that this tick owns, with what its handler needs to know. ``timeout`` None means no limit.

    ``checkpoint`` is what its earlier attempts have kept, None: nothing.
    """

    lease: Lease
    job_type: str
    payload: dict[str, Any]
    attempt: int
    max_attempts: int
    timeout: timedelta | None
    run_at: datetime
    scheduled_for: datetime | None
    started_at: datetime
    definition_id: int | None = None
    traceparent: str | None = None
    checkpoint: Any = None

    @property
    def lateness_seconds(self) -> float:
        """The time from its slot, or without a slot from its run_at, to its claim."""
        return max(0.0, (self.started_at - (self.scheduled_for or self.run_at)).total_seconds())


class Capacity(NamedTuple):
    """How many runs a pool can take: ``per_permit`` for each of ``permits``, and ``ahead`` to wait behind others."""

    permits: int
    per_permit: int = 1
    ahead: int = 0

    @property
    def any(self) -> bool:
        """Whether the pool can take a run."""
        return self.runs(self.permits) > 0

    def runs(self, free: int) -> int:
        """How many runs the pool can take if so many permits are free."""
        return max(0, min(free, self.permits)) * self.per_permit + self.ahead


class OverlapPolicy(NamedTuple):
    """What happens to a slot while earlier runs of its schedule have not ended.

    ``waits_for`` says which of them keeps the slot from getting a run: any, one that waits, or none. ``is_alone``:
    never two of its runs are at work. ``replaces``: its run cancels the earlier ones.
    """

    words: str
    waits_for: Literal["unfinished", "waiting"] | None = None
    is_alone: bool = True
    replaces: bool = False


OVERLAPS: dict[str, OverlapPolicy] = {
    "skip": OverlapPolicy("no run for a slot while a run is unfinished", waits_for="unfinished"),
    "queue": OverlapPolicy("one run waits while another is running", waits_for="waiting"),
    "allow": OverlapPolicy("several runs may run at the same time", is_alone=False),
    "replace": OverlapPolicy("a new run cancels the unfinished ones", replaces=True),
}
"""A new one needs its name in ``Overlap``, too, and a migration of the check of ``job_definitions``."""


class SlotPolicy(NamedTuple):
    """What happens to late slots, and to slots while a run is unfinished. ``make_slot_policy`` makes and checks it.

    ``misfire_window`` is how late a slot may still get its run, and ``misfire_most`` how many late slots get one with
    ``misfire`` all. ``start_deadline`` is how long after its run_at a run may still start. ``jitter`` is the longest
    random delay from the slot to the run_at. ``ends_at`` is the last instant that can be a slot. ``max_runs`` is the
    number of runs in all; None means no limit. ``on`` says whether a slot gets one run, or one on each host.
    """

    misfire: Misfire = "latest"
    misfire_window: timedelta | None = None
    misfire_most: int = DEFAULT_MISFIRE_MOST
    overlap: Overlap = "skip"
    start_deadline: timedelta | None = None
    jitter: timedelta | None = None
    ends_at: datetime | None = None
    max_runs: int | None = None
    on: On = "any-host"

    @property
    def is_on_every_host(self) -> bool:
        """Whether a slot gets a run on each host."""
        return self.on == "every-host"


class Declaration(NamedTuple):
    """What a definition should be. ``source`` is where this is declared: a command, the code or the file.

    ``application`` is the owner of that code or file, where several applications share a database; "" means no name.
    ``renamed_from`` is the previous name of the definition, which it may still have in the database. ``former_names``
    are those of its type, if the definition has no name of its own: then it had these names, too.
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
    former_names: tuple[str, ...] = ()


class Definition(NamedTuple):
    """A row of ``job_definitions``. ``runs_made`` counts the runs of its slots, including those that were pruned.

    ``host``: only ticks of this host make its runs, and only they claim them. None: those of any host.
    """

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
    host: str | None = None

    @property
    def is_template(self) -> bool:
        """Whether it has no slots itself: each host has a definition of its own that is made of this one."""
        return self.policy.is_on_every_host and self.host is None

    @property
    def concurrency_key(self) -> str | None:
        """The key that all its runs share, so that never two are at work. None means that any number may be."""
        return f"definition:{self.id}" if OVERLAPS[self.policy.overlap].is_alone else None
