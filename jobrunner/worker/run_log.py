"""One log line for each thing that happens to a run."""

from __future__ import annotations

from jobrunner.lifecycle import AttemptResult, Event, Outcome
from jobrunner.log import Log
from jobrunner.model import ClaimedRun
from jobrunner.store.queue.finalize import Ended, Refusal

_WORDS = {
    Event.SUCCEED: "succeeded",
    Event.FAIL: "failed",
    Event.POSTPONE: "postponed",
    Event.GIVE_UP: "dead",
    Event.CANCEL: "cancelled",
    Event.RELEASE: "released",
    Event.DROP: "dropped",
}

_WORTH_A_WARNING = (Event.FAIL, Event.POSTPONE, Event.GIVE_UP)


def log_claimed(log: Log, run: ClaimedRun) -> None:
    """Log that a run was claimed and its attempt begins."""
    if not log.is_silent:
        log.info("claimed", **_fields_of(run), result="running")


def log_ended(log: Log, ended: Ended, *, recovered: bool = False) -> str:
    """Log the end of an attempt; returns the word under which the tick counts it."""
    decision = ended.decision
    word = _WORDS[decision.event]
    if log.is_silent:
        return word
    fields = {"run_id": ended.run_id, "job_type": ended.job_type, "attempt": ended.attempt, "result": word}
    if decision.error is not None:
        fields |= {"error_type": decision.error_type, "error": decision.error}
    if decision.event in (Event.FAIL, Event.POSTPONE):
        fields["next_try"] = ended.run_at.isoformat(timespec="seconds")
    write = log.warning if recovered or decision.event in _WORTH_A_WARNING else log.info
    write("recovered" if recovered else word, **fields)
    return word


def log_left(log: Log, run: ClaimedRun, result: AttemptResult | None, answer: Ended | Refusal | str | None) -> str:
    """Log what became of a run that leaves the hand; returns the word under which the tick counts it.

    ``answer`` is that of its finalize, or the reason why there is none. None: its lease was lost while its handler was
    at work, which is logged already.
    """
    if isinstance(answer, Ended):
        return log_ended(log, answer)
    if answer is Refusal.ALREADY_APPLIED and result is not None:
        log_run(log, "finalized", run, result=answer.value)
        return result.outcome.value
    if answer is Refusal.COMMITTED and result is not None:
        if result.outcome is Outcome.SUCCEEDED:
            log.info("succeeded", **_fields_of(run), result="succeeded")
        else:
            log_run(log, "succeeded", run, result=answer.value, error=result.error)
        return Outcome.SUCCEEDED.value
    if isinstance(answer, Refusal):
        log_run(log, "lease lost", run, result=f"{answer.value}; nothing written")
    elif answer is not None:
        log_run(log, "not finalized", run, result=answer)
    return "lost"


def log_run(log: Log, event: str, run: ClaimedRun, **fields: object) -> None:
    """Log a warning about a run in hand."""
    log.warning(event, **_fields_of(run), **fields)


def _fields_of(run: ClaimedRun) -> dict[str, object]:
    return {"run_id": run.lease.run_id, "job_type": run.job_type, "attempt": run.attempt}
