"""The life of a run as data and one pure rule. Read this first.

``TRANSITIONS`` is the whole table: the code, the CHECK constraints of the schema, the diagram in the
README and a property test are made from it. ``decide`` turns the end of an attempt into the run's next
state; the owner's finalize and the recovery of an expired lease both ask it, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from jobrunner import backoff
from jobrunner.durations import format_duration

MOST_RELEASES_IN_A_ROW = 10
QUARANTINE_AFTER_EXPIRIES = 2
"""From its second ``lease_expired`` in a row a run is started alone in its tick (promise P7)."""


class Status(StrEnum):
    """Where a run stands. ``failed`` will be tried again; ``dead`` will not, and a person must look."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD = "dead"
    CANCELLED = "cancelled"


CLAIMABLE = (Status.QUEUED, Status.FAILED)
UNFINISHED = (*CLAIMABLE, Status.RUNNING)
FINISHED = (Status.SUCCEEDED, Status.DEAD, Status.CANCELLED)


class Event(StrEnum):
    """What moves a run from one status to the next."""

    ENQUEUE = "enqueue"
    CLAIM = "claim"
    SUCCEED = "succeed"
    FAIL = "fail"
    GIVE_UP = "give up"
    HAND_BACK = "hand back"
    RELEASE = "release"
    POSTPONE = "postpone"
    DROP = "drop"
    CANCEL = "cancel"
    EXPIRE = "start deadline passed"
    DISCARD = "discard"
    RETRY = "retry"
    FORCE_RETRY = "retry --force"


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table: ``event`` takes a run from any of ``sources`` to ``target``."""

    event: Event
    sources: tuple[Status, ...]
    target: Status
    when: str


TRANSITIONS = (
    Transition(Event.ENQUEUE, (), Status.QUEUED, "enqueued, or its slot expanded"),
    Transition(Event.CLAIM, CLAIMABLE, Status.RUNNING, "run_at is due: attempts + 1"),
    Transition(Event.SUCCEED, (Status.RUNNING,), Status.SUCCEEDED, "the handler returns"),
    Transition(Event.FAIL, (Status.RUNNING,), Status.FAILED, "error, timeout or crash, attempts left"),
    Transition(Event.GIVE_UP, (Status.RUNNING,), Status.DEAD, "none left, or a permanent error"),
    Transition(Event.HAND_BACK, (Status.RUNNING,), Status.QUEUED, "never begun: attempts - 1"),
    Transition(Event.RELEASE, (Status.RUNNING,), Status.QUEUED, "shut down at work, or snoozed: attempts - 1"),
    Transition(Event.POSTPONE, (Status.RUNNING,), Status.FAILED, "does not fit this code: attempts - 1"),
    Transition(Event.DROP, (Status.RUNNING,), Status.CANCELLED, "shut down at work, on_stop = drop"),
    Transition(Event.CANCEL, (Status.RUNNING, *CLAIMABLE), Status.CANCELLED, "a person; any end but success"),
    Transition(Event.EXPIRE, CLAIMABLE, Status.DEAD, "no attempt may start after it"),
    Transition(Event.DISCARD, (Status.QUEUED, Status.FAILED, Status.CANCELLED), Status.DEAD, "a person, with a reason"),
    Transition(Event.RETRY, (Status.FAILED, Status.DEAD, Status.CANCELLED), Status.QUEUED, "a person"),
    Transition(Event.FORCE_RETRY, (Status.SUCCEEDED,), Status.QUEUED, "a person, with --force"),
)
_BY_EVENT = {transition.event: transition for transition in TRANSITIONS}


def target(event: Event, source: Status | None) -> Status:
    """The status that ``event`` leads to. Raises ValueError where the table has no such arrow."""
    transition = _BY_EVENT[event]
    if source not in transition.sources and not (source is None and not transition.sources):
        raise ValueError(f"no run goes from {source} by {event}")
    return transition.target


def allowed(event: Event, source: Status) -> bool:
    """Whether the table has an arrow for ``event`` out of ``source``."""
    return source in _BY_EVENT[event].sources


class Outcome(StrEnum):
    """How one attempt ended: the ``outcome`` of its row in ``job_attempts``."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DISCARDED = "discarded"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    LEASE_EXPIRED = "lease_expired"
    RELEASED = "released"
    DROPPED = "dropped"
    SNOOZED = "snoozed"
    INCOMPATIBLE = "incompatible"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What is known when an attempt ends.

    ``wait`` is the pause before the next attempt (for a snooze: until it is claimable again); None asks
    for the default backoff. ``error`` is one line; the stack is ``traceback``.
    """

    outcome: Outcome
    error_type: str | None = None
    error: str | None = None
    traceback: str | None = None
    output: str | None = None
    exit_signal: int | None = None
    result: object = None
    wait: timedelta | None = None


@dataclass(frozen=True, slots=True)
class RunState:
    """The columns of a running row that decide where it goes.

    ``incompatible_for`` is how long ago it was first found that it does not fit the code that took it.
    """

    attempts: int
    max_attempts: int
    cancel_requested: bool
    releases: int
    lease_expiries: int
    incompatible_for: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the one write that ends the attempt must say.

    ``wait`` None leaves ``run_at`` as it is. ``outcome`` is that of the attempt.
    """

    event: Event
    status: Status
    attempts: int
    releases: int
    lease_expiries: int
    wait: timedelta | None
    outcome: Outcome
    error_type: str | None
    error: str | None


def decide(
    run: RunState,
    ending: AttemptResult,
    default_wait: Callable[[int], timedelta] = backoff.DEFAULT.wait,
    deploy_grace: timedelta = timedelta(0),
) -> Decision:
    """Where a running row goes when its attempt ends. Success stands; cancel wins over everything else.

    ``deploy_grace`` is for how long a run that does not fit the code is tried again.
    """
    if ending.outcome is Outcome.SUCCEEDED:
        return _verdict(run, Event.SUCCEED, ending, releases=0, lease_expiries=0)
    if run.cancel_requested:
        return replace(_verdict(run, Event.CANCEL, ending), outcome=Outcome.CANCELLED)
    if ending.outcome is Outcome.SNOOZED:
        wait = ending.wait or timedelta(0)
        return _verdict(run, Event.RELEASE, ending, attempts=run.attempts - 1, releases=0, wait=wait)
    if ending.outcome is Outcome.RELEASED:
        return _release(run, ending, default_wait)
    if ending.outcome is Outcome.INCOMPATIBLE:
        return _postpone(run, ending, deploy_grace)
    if ending.outcome is Outcome.DROPPED:
        return _verdict(run, Event.DROP, ending)
    return _charge(run, ending, default_wait)


def _release(run: RunState, ending: AttemptResult, default_wait: Callable[[int], timedelta]) -> Decision:
    if run.releases + 1 < MOST_RELEASES_IN_A_ROW:
        return _verdict(
            run, Event.RELEASE, ending, wait=timedelta(0), attempts=run.attempts - 1, releases=run.releases + 1
        )
    # A run that no tick lives long enough for would be handed back for ever: the tenth time counts.
    told = replace(
        ending,
        error_type="released",
        error=f"handed back {MOST_RELEASES_IN_A_ROW} times in a row; it needs longer than the ticks live",
    )
    return _charge(run, told, default_wait)


def _postpone(run: RunState, ending: AttemptResult, grace: timedelta) -> Decision:
    # Code and runs of two versions meet in each deploy. Which of them is wrong shows when the deploy must be over.
    if run.incompatible_for < grace:
        told = replace(ending, error=f"{ending.error} (tried again for {format_duration(grace)}: a deploy?)")
        wait = backoff.UNTIL_DEPLOYED.wait(1) if ending.wait is None else ending.wait
        return _verdict(run, Event.POSTPONE, told, attempts=run.attempts - 1, wait=wait)
    if grace:
        ending = replace(ending, error=f"{ending.error}; so it was for {format_duration(grace)}, on every try")
    return _verdict(run, Event.GIVE_UP, ending, releases=0, lease_expiries=0)


def _charge(run: RunState, ending: AttemptResult, default_wait: Callable[[int], timedelta]) -> Decision:
    expired = ending.outcome is Outcome.LEASE_EXPIRED
    expiries = run.lease_expiries + 1 if expired else 0
    if ending.outcome is Outcome.DISCARDED or run.attempts >= run.max_attempts:
        return _verdict(run, Event.GIVE_UP, ending, releases=0, lease_expiries=expiries)
    wait = default_wait(run.attempts) if ending.wait is None else ending.wait
    return _verdict(run, Event.FAIL, ending, wait=wait, releases=0, lease_expiries=expiries)


def _verdict(
    run: RunState,
    event: Event,
    ending: AttemptResult,
    *,
    wait: timedelta | None = None,
    attempts: int | None = None,
    releases: int | None = None,
    lease_expiries: int | None = None,
) -> Decision:
    return Decision(
        event=event,
        status=target(event, Status.RUNNING),
        attempts=run.attempts if attempts is None else attempts,
        releases=run.releases if releases is None else releases,
        lease_expiries=run.lease_expiries if lease_expiries is None else lease_expiries,
        wait=wait,
        outcome=ending.outcome,
        error_type=ending.error_type,
        error=ending.error,
    )


def diagram() -> str:
    """The table as a Mermaid state diagram, for the README."""
    arrows = [
        f"    {source} --> {transition.target}: {transition.event}"
        for transition in TRANSITIONS
        for source in transition.sources or ("[*]",)
    ]
    return "\n".join(["stateDiagram-v2", *arrows])
