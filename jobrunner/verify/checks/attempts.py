"""What must hold of the attempts of a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jobrunner.lifecycle import Outcome, Status
from jobrunner.store.verify.records import Attempt
from jobrunner.text import iso_instant
from jobrunner.verify.promise import Facts, History, promise

UNCHARGED = frozenset(
    {
        (Outcome.RELEASED, Status.QUEUED),
        (Outcome.SNOOZED, Status.QUEUED),
        (Outcome.INCOMPATIBLE, Status.FAILED),
    }
)
"""How an attempt ends that does not count: its outcome, and the status of its run afterwards."""
OUTCOMES = frozenset(each.value for each in Outcome)
_USED_UP = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.CRASHED, Outcome.LEASE_EXPIRED})
"""Outcomes after which a run is dead only if it has no attempts left."""
_SHOW = "look at its attempts: jobrunner show {subject}"


@promise("P2", "run", _SHOW)
def one_owner(history: History, facts: Facts) -> Iterator[str]:
    """No attempt of a run begins before the one before it has ended, unless that one has lost its lease."""
    run = history.run
    begins = [(each.sequence, each.started_at) for each in history.attempts]
    if run.status == Status.RUNNING and run.started_at is not None:
        begins.append((len(begins) + 1, run.started_at))
    for ended, (sequence, started_at) in zip(history.attempts, begins[1:], strict=False):
        is_early = started_at + facts.slack < ended.finished_at
        if is_early and ended.outcome != Outcome.LEASE_EXPIRED and not facts.stepped(started_at, ended.finished_at):
            yield (
                f"attempt {sequence} of run {run.id} began at {iso_instant(started_at)}, before attempt"
                f" {ended.sequence} ended at {iso_instant(ended.finished_at)}"
            )


@promise("P3", "run", _SHOW)
def own_host_only(history: History, facts: Facts) -> Iterator[str]:
    """Each attempt of a run that only one host may run was on that host, as with `on = "every-host"`."""
    run = history.run
    hosts = [each.host for each in history.attempts] + [run.host] * (run.status == Status.RUNNING)
    elsewhere = [each for each in hosts if run.only_host is not None and each != run.only_host]
    if elsewhere:
        yield f"only {run.only_host} may run the run {run.id}, and {elsewhere[0]} did"


@promise("P12", "run", _SHOW)
def attempts_recorded(history: History, facts: Facts) -> Iterator[str]:
    """Each attempt that was charged to a run has a row, the rows are numbered without gaps, and none is there twice."""
    run, attempts = history.run, history.attempts
    numbers = [each.sequence for each in attempts]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the attempts of run {run.id} are numbered {', '.join(map(str, numbers))}: a row is missing or too many"
        return
    if any(each.status is None or each.outcome not in OUTCOMES for each in attempts):
        # Written by hand, or by a newer version: what was charged is not known.
        return
    charged = 0
    for each in attempts:
        if each.attempt != charged + 1:
            yield f"row {each.sequence} of run {run.id} is attempt {each.attempt}, and {charged} were charged before"
            return
        charged += _is_charged(each)
    charged += run.status == Status.RUNNING and run.started_at is not None
    if run.attempts != charged:
        yield f"run {run.id} counts {run.attempts} attempts, and its rows show {charged}"


def _is_charged(attempt: Attempt) -> bool:
    return (attempt.outcome, attempt.status) not in UNCHARGED


@promise("P7", "run", _SHOW)
def attempts_bounded(history: History, facts: Facts) -> Iterator[str]:
    """A run has no more attempts than it may have, and is not tried again after its last one."""
    run, last = history.run, history.last
    if run.max_attempts is None:
        return
    if run.attempts > run.max_attempts:
        yield f"run {run.id} has had {run.attempts} attempts and may have {run.max_attempts}"
    elif (
        run.status == Status.FAILED
        and last is not None
        and (last.outcome, last.status) not in UNCHARGED
        and last.attempt >= run.max_attempts
    ):
        yield f"run {run.id} waits for another attempt although it has had all {run.max_attempts}"


@promise("P1", "run", _SHOW)
def attempts_used(history: History, facts: Facts) -> Iterator[str]:
    """A run that only failed is dead when its attempts are used up, and not before."""
    run, last = history.run, history.last
    if run.status != Status.DEAD or last is None or last.status != Status.DEAD or run.max_attempts is None:
        return
    if last.finished_at == run.finished_at and last.outcome in _USED_UP and last.attempt < run.max_attempts:
        yield f"run {run.id} is dead after attempt {last.attempt} of {run.max_attempts}, which {last.outcome}"


@promise("P6", "run", "find out what keeps it: jobrunner explain {subject}")
def leases_end(history: History, facts: Facts) -> Iterator[str]:
    """No run is running after its lease if a later tick has done all its work."""
    run = history.run
    if run.status != Status.RUNNING or run.locked_until is None or run.locked_until > facts.now:
        return
    if facts.had_tick(run.locked_until) and not facts.stepped(run.locked_until, facts.now):
        yield (
            f"run {run.id} is running under a lease that ended at {iso_instant(run.locked_until)}, and a tick that"
            " started later has ended; unless another session has locked its row, it should have been recovered"
        )


@promise("", "run", _SHOW)
def begun_in_time(history: History, facts: Facts) -> Iterator[str]:
    """No attempt of a run begins after its start deadline."""
    run, last, deadline = history.run, history.last, history.run.start_deadline_at
    ended_by_attempt = last is not None and (last.status, last.finished_at) == (run.status, run.finished_at)
    # While a run waits, an enqueue that replaces it can give it another deadline than that of its last claim.
    if deadline is None or run.claimed_at is None or not (run.status == Status.RUNNING or ended_by_attempt):
        return
    if run.claimed_at > deadline + facts.slack and not facts.stepped(deadline, run.claimed_at):
        yield (
            f"an attempt of run {run.id} began at {iso_instant(run.claimed_at)}, after its start deadline"
            f" {iso_instant(deadline)}"
        )


def lost_leases(history: History) -> int:
    """How often a lease was lost and the run was begun again: for a moment two handlers may have worked on it."""
    lost = sum(one.outcome == Outcome.LEASE_EXPIRED for one, _ in pairwise(history.attempts))
    last = history.last
    is_begun_again = last is not None and history.run.status == Status.RUNNING
    return lost + (is_begun_again and last is not None and last.outcome == Outcome.LEASE_EXPIRED)
