"""What must hold of the status of a run: it follows from its attempts and from what people did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache

from jobrunner.lifecycle import FINISHED, TRANSITIONS, Event, Outcome, Status
from jobrunner.text import iso_instant
from jobrunner.verify.checks.attempts import OUTCOMES
from jobrunner.verify.promise import Facts, History, promise

ENDS_BY: Mapping[Outcome, tuple[Event, ...]] = {
    Outcome.SUCCEEDED: (Event.SUCCEED,),
    **dict.fromkeys(
        (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.CRASHED, Outcome.LEASE_EXPIRED), (Event.FAIL, Event.GIVE_UP)
    ),
    Outcome.DISCARDED: (Event.GIVE_UP,),
    Outcome.RELEASED: (Event.RELEASE, Event.FAIL, Event.GIVE_UP),
    Outcome.DROPPED: (Event.DROP,),
    Outcome.SNOOZED: (Event.RELEASE,),
    Outcome.INCOMPATIBLE: (Event.POSTPONE, Event.GIVE_UP),
    Outcome.CANCELLED: (Event.CANCEL, Event.FAIL, Event.GIVE_UP),
}
"""By which events an attempt with this outcome moves its run."""
_BY_ATTEMPT = frozenset(
    {Event.SUCCEED, Event.FAIL, Event.GIVE_UP, Event.RELEASE, Event.POSTPONE, Event.DROP, Event.ENQUEUE}
)
_SHOW = "look at its history: jobrunner show {subject}"
_RETRIES = (Event.RETRY.value, Event.FORCE_RETRY.value)
_CANCELS = (Event.CANCEL.value, "replace")


@promise("P1", "run", _SHOW)
def moves_allowed(history: History, facts: Facts) -> Iterator[str]:
    """Each status of a run can be reached from the one before it by the table of transitions."""
    run, status = history.run, Status.QUEUED.value
    for each in history.attempts:
        if Status.RUNNING not in _reached_from(status):
            yield f"run {run.id} was begun again after it was {status}"
        if each.status is None or each.outcome not in OUTCOMES:
            # Written by hand, or by a newer version.
            return
        if each.status not in _left_by(each.outcome):
            yield f"attempt {each.sequence} of run {run.id} {each.outcome}, and left it {each.status}"
        status = each.status
    if run.status != status and run.status not in _reached_from(status):
        yield f"run {run.id} is {run.status}, which no run becomes after it was {status}"


@cache
def _left_by(outcome: str) -> frozenset[str]:
    return frozenset(each.target.value for each in TRANSITIONS if each.event in ENDS_BY[Outcome(outcome)])


@cache
def _reached_from(status: str) -> frozenset[str]:
    """The statuses that a run can have after this one without another row of an attempt."""
    moves = [each for each in TRANSITIONS if each.event not in _BY_ATTEMPT]
    reached = {status}
    while True:
        more = {move.target.value for move in moves if reached & set(move.sources)} - reached
        if not more:
            return frozenset(reached)
        reached |= more


@promise("P12", "run", _SHOW)
def ends_explained(history: History, facts: Facts) -> Iterator[str]:
    """A run that has ended by its last attempt has the outcome and the end of that attempt."""
    run, last = history.run, history.last
    if last is None or last.status is None or run.finished_at is None:
        return
    ended = f"its last attempt {last.outcome} at {iso_instant(last.finished_at)} and left it {last.status}"
    if run.status == Status.SUCCEEDED and (last.outcome, last.finished_at) != (Outcome.SUCCEEDED, run.finished_at):
        yield f"run {run.id} succeeded at {iso_instant(run.finished_at)}, but {ended}"
    elif last.finished_at == run.finished_at and last.status != run.status:
        yield f"run {run.id} is {run.status}, but {ended}"


@promise("P12", "run", "find out who did it: jobrunner history --since 7d")
def changes_recorded(history: History, facts: Facts) -> Iterator[str]:
    """What people and ticks did to a run beside its attempts has a row in the audit trail: a retry, a cancellation, the
    end without an attempt.
    """
    run, changes = history.run, history.changes
    if changes is None:
        return
    retries = sum(at >= facts.recorded_since for at in _ends_undone(history))
    known = sum(changes.get(each, 0) for each in _RETRIES)
    if retries > known:
        yield f"run {run.id} was queued again {retries} times after it had ended, and {known} retries are recorded"
    asked_at = run.cancel_requested_at
    if asked_at is not None and asked_at >= facts.recorded_since and not history.was_changed(*_CANCELS):
        yield f"the cancellation of run {run.id} was requested at {iso_instant(asked_at)}, and no row says by whom"
    ended_at = _ended_without_attempt(history)
    if ended_at is None or ended_at < facts.recorded_since:
        return
    dead = (Event.DISCARD.value, Event.EXPIRE.value)
    if not history.was_changed(*(_CANCELS if run.status == Status.CANCELLED else dead)):
        yield f"run {run.id} became {run.status} without an attempt, and no row says why"


def _ends_undone(history: History) -> Iterator[datetime]:
    """When the run ended each time that it was queued again afterwards."""
    run, last = history.run, history.last
    for each in history.attempts[:-1]:
        if each.status in FINISHED:
            yield each.finished_at
    if last is None or last.status not in FINISHED or run.finished_at == last.finished_at:
        return
    # A cancelled run can be discarded, too.
    if (last.status, run.status) != (Status.CANCELLED, Status.DEAD):
        yield last.finished_at


def _ended_without_attempt(history: History) -> datetime | None:
    run, last = history.run, history.last
    if run.status not in (Status.CANCELLED, Status.DEAD) or (last is not None and last.finished_at == run.finished_at):
        return None
    return run.finished_at
