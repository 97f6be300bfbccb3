"""The life of a run as data and one pure rule. Read this first.

``TRANSITIONS`` is the whole table. The code, the CHECK constraints of the schema, the diagram in
docs/reference/lifecycle.md and a property test are made from it. ``decide`` gives the next state of a run whose attempt
has ended. The finalize of the owner and the recovery of an expired lease both call it, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple, assert_never

from jobrunner import backoff
from jobrunner.durations import format_duration

MOST_RELEASES_IN_A_ROW = 10
QUARANTINE_AFTER_EXPIRIES = 2
"""After so many ``lease_expired`` in a row a run is quarantined: its tick starts it alone (promise P7)."""


class Status(StrEnum):
    """The status of a run. A ``failed`` run is tried again. A ``dead`` run is not, and an operator must look at it."""

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
    RETURN = "return unstarted"
    RELEASE = "release"
    POSTPONE = "postpone"
    DROP = "drop"
    CANCEL = "cancel"
    EXPIRE = "start deadline passed"
    DISCARD = "discard"
    RETRY = "retry"
    FORCE_RETRY = "retry --force"


class Transition(NamedTuple):
    """One row of the table: ``event`` moves a run from any of ``sources`` to ``target``."""

    event: Event
    sources: tuple[Status, ...]
    target: Status
    when: str


TRANSITIONS = (
    Transition(Event.ENQUEUE, (), Status.QUEUED, "enqueued, or its slot expanded"),
    Transition(Event.CLAIM, CLAIMABLE, Status.RUNNING, "run_at is due: attempts + 1"),
    Transition(
        Event.SUCCEED, (Status.RUNNING,), Status.SUCCEEDED, "the handler returns, or its own transaction commits"
    ),
    Transition(Event.FAIL, (Status.RUNNING,), Status.FAILED, "error, timeout or crash, attempts left"),
    Transition(Event.GIVE_UP, (Status.RUNNING,), Status.DEAD, "no attempts left, or a permanent error"),
    Transition(Event.RETURN, (Status.RUNNING,), Status.QUEUED, "never started: attempts - 1"),
    Transition(Event.RELEASE, (Status.RUNNING,), Status.QUEUED, "its tick stops, or a snooze: attempts - 1"),
    Transition(Event.POSTPONE, (Status.RUNNING,), Status.FAILED, "does not fit this code: attempts - 1"),
    Transition(Event.DROP, (Status.RUNNING,), Status.CANCELLED, "its tick stops, and on_stop = drop"),
    Transition(Event.CANCEL, (Status.RUNNING, *CLAIMABLE), Status.CANCELLED, "somebody, unless the attempt succeeds"),
    Transition(Event.EXPIRE, CLAIMABLE, Status.DEAD, "waited past its start deadline"),
    Transition(Event.DISCARD, (Status.QUEUED, Status.FAILED, Status.CANCELLED), Status.DEAD, "somebody, with a reason"),
    Transition(Event.RETRY, (Status.FAILED, Status.DEAD, Status.CANCELLED), Status.QUEUED, "somebody"),
    Transition(Event.FORCE_RETRY, (Status.SUCCEEDED,), Status.QUEUED, "somebody, with --force"),
)
_BY_EVENT = {transition.event: transition for transition in TRANSITIONS}


def target(event: Event, source: Status | None) -> Status:
    """The status after ``event``. Raises ValueError if the table has no such transition."""
    transition = _BY_EVENT[event]
    if source not in transition.sources and not (source is None and not transition.sources):
        raise ValueError(f"no run goes from {source} by {event}")
    return transition.target


def sources(event: Event) -> tuple[Status, ...]:
    """The statuses from which ``event`` moves a run."""
    return _BY_EVENT[event].sources


def allowed(event: Event, source: Status) -> bool:
    """Whether the table has a transition by ``event`` from ``source``."""
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


class AttemptResult(NamedTuple):
    """What is known when an attempt ends.

    ``wait`` is the pause before the next attempt, and after a snooze the pause until the run is claimable again. None
    means the default backoff. ``error`` is one line, and ``traceback`` is the stack.
    ``error_class`` is the path of the class of the handler's exception.
    ``peak_memory_bytes`` and ``processor_seconds`` are what it has cost; None means that this is not known.
    """

    outcome: Outcome
    error_type: str | None = None
    error: str | None = None
    traceback: str | None = None
    output: str | None = None
    exit_signal: int | None = None
    result: object = None
    wait: timedelta | None = None
    error_class: str | None = None
    peak_memory_bytes: int | None = None
    processor_seconds: float | None = None


class RunState(NamedTuple):
    """The columns of a running row that decide its next status.

    ``incompatible_for`` is the time since the run was first found not to fit the code that claimed it.
    """

    attempts: int
    max_attempts: int
    cancel_requested: bool
    releases: int
    lease_expiries: int
    incompatible_for: timedelta = timedelta(0)


class Decision(NamedTuple):
    """What the write that ends the attempt must contain.

    ``wait`` None leaves ``run_at`` unchanged. ``outcome`` is that of the attempt.
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
    result: AttemptResult,
    default_wait: Callable[[int], timedelta] = backoff.DEFAULT.wait,
    deploy_grace: timedelta = timedelta(0),
) -> Decision:
    """Decide the next status of a running row whose attempt has ended. Success wins, then a cancel request.

    ``deploy_grace`` says for how long a run that does not fit the code is tried again.
    """
    if result.outcome is Outcome.SUCCEEDED:
        return _decision(run, Event.SUCCEED, result, releases=0, lease_expiries=0)
    if run.cancel_requested:
        return _decision(run, Event.CANCEL, result)._replace(outcome=Outcome.CANCELLED)
    match result.outcome:
        case Outcome.SNOOZED:
            wait = result.wait or timedelta(0)
            return _decision(run, Event.RELEASE, result, attempts=run.attempts - 1, releases=0, wait=wait)
        case Outcome.RELEASED:
            return _release(run, result, default_wait)
        case Outcome.INCOMPATIBLE:
            return _postpone(run, result, deploy_grace)
        case Outcome.DROPPED:
            return _decision(run, Event.DROP, result)
        case Outcome.FAILED | Outcome.TIMED_OUT | Outcome.CRASHED | Outcome.LEASE_EXPIRED:
            return _charge(run, result, default_wait)
        case Outcome.DISCARDED | Outcome.CANCELLED:
            return _charge(run, result, default_wait)
        case _:
            assert_never(result.outcome)


def _release(run: RunState, result: AttemptResult, default_wait: Callable[[int], timedelta]) -> Decision:
    if run.releases + 1 < MOST_RELEASES_IN_A_ROW:
        return _decision(
            run, Event.RELEASE, result, wait=timedelta(0), attempts=run.attempts - 1, releases=run.releases + 1
        )
    # A run that takes longer than any tick lives would be released forever. So the tenth release in a row counts.
    charged = result._replace(
        error_type="released",
        error=f"handed back {MOST_RELEASES_IN_A_ROW} times in a row; it needs longer than the ticks live",
    )
    return _charge(run, charged, default_wait)


def _postpone(run: RunState, result: AttemptResult, grace: timedelta) -> Decision:
    # During a deploy the code and a run may be of different versions. After the grace the deploy must be over.
    if run.incompatible_for < grace:
        postponed = result._replace(error=f"{result.error} (tried again for {format_duration(grace)}: a deploy?)")
        wait = backoff.UNTIL_DEPLOYED.wait(1) if result.wait is None else result.wait
        return _decision(run, Event.POSTPONE, postponed, attempts=run.attempts - 1, wait=wait)
    if grace:
        result = result._replace(error=f"{result.error}; the same on every try for {format_duration(grace)}")
    return _decision(run, Event.GIVE_UP, result, releases=0, lease_expiries=0)


def _charge(run: RunState, result: AttemptResult, default_wait: Callable[[int], timedelta]) -> Decision:
    expired = result.outcome is Outcome.LEASE_EXPIRED
    expiries = run.lease_expiries + 1 if expired else 0
    if result.outcome is Outcome.DISCARDED or run.attempts >= run.max_attempts:
        return _decision(run, Event.GIVE_UP, result, releases=0, lease_expiries=expiries)
    wait = default_wait(run.attempts) if result.wait is None else result.wait
    return _decision(run, Event.FAIL, result, wait=wait, releases=0, lease_expiries=expiries)


def _decision(
    run: RunState,
    event: Event,
    result: AttemptResult,
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
        outcome=result.outcome,
        error_type=result.error_type,
        error=result.error,
    )
