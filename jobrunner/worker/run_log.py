"""One log line for each thing that happens to a run."""

from __future__ import annotations

from jobrunner.lifecycle import Event
from jobrunner.log import Log
from jobrunner.model import ClaimedRun
from jobrunner.store.queue.finalize import Ended

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
    log.info("claimed", run_id=run.lease.run_id, job_type=run.job_type, attempt=run.attempt, result="running")


def log_ended(log: Log, ended: Ended, *, recovered: bool = False) -> str:
    """Log the end of an attempt; returns the word under which the tick counts it."""
    decision = ended.decision
    word = _WORDS[decision.event]
    fields = {"run_id": ended.run_id, "job_type": ended.job_type, "attempt": ended.attempt, "result": word}
    if decision.error is not None:
        fields |= {"error_type": decision.error_type, "error": decision.error}
    if decision.event in (Event.FAIL, Event.POSTPONE):
        fields["next_try"] = ended.run_at.isoformat(timespec="seconds")
    write = log.warning if recovered or decision.event in _WORTH_A_WARNING else log.info
    write("recovered" if recovered else word, **fields)
    return word


def log_committed(log: Log, run: ClaimedRun) -> None:
    """Log that a run was ended by its handler's own transaction."""
    log.info("succeeded", run_id=run.lease.run_id, job_type=run.job_type, attempt=run.attempt, result="succeeded")


def log_run(log: Log, event: str, run: ClaimedRun, **fields: object) -> None:
    """Log a warning about a run in hand."""
    log.warning(event, run_id=run.lease.run_id, job_type=run.job_type, attempt=run.attempt, **fields)
