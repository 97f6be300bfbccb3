"""What must hold of the key of a run, and of what it waits for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from jobrunner.lifecycle import CLAIMABLE, FINISHED
from jobrunner.store.verify.records import Key, Run
from jobrunner.text import iso_instant
from jobrunner.verify.promise import Facts, History, promise

_AFTER = "after"
_SHOW = "find out what it waits for: jobrunner explain {subject}"


@promise("P4", "run", "compare both runs: jobrunner show {subject}")
def one_run_per_key(history: History, facts: Facts) -> Iterator[str]:
    """Each idempotency key has a row, and no second run had it while the first one held it."""
    run, key = history.run, history.key
    if key is None:
        return
    if key.has_row is None:
        yield f"the key of run {run.id} has no row, so that it can be enqueued again"
    elif key.holder_id is not None and key.holder_id > run.id and _held(run, key, facts):
        yield f"run {key.holder_id} has the key of run {run.id}, which still held it"


def _held(run: Run, key: Key, facts: Facts) -> bool:
    """Whether the run held its key when its holder was created."""
    since, rules_since = facts.recorded_since, key.ruled_at or run.created_at
    created_at = key.holder_created_at
    if created_at is None or run.created_at < since or rules_since > run.created_at:
        # The holder is deleted, or came from elsewhere, or the type had another rule then.
        return False
    if facts.stepped(run.created_at, created_at):
        return False
    if key.key_scope == "active":
        is_open = run.finished_at is None and key.holder_finished_at is None
        return is_open or (run.finished_at is not None and run.finished_at > created_at + facts.slack)
    if key.key_scope == "window":
        window = timedelta(seconds=key.key_window or 0)
        return created_at + facts.slack < run.created_at + window
    return True


@promise("P1", "run", _SHOW)
def parents_first(history: History, facts: Facts) -> Iterator[str]:
    """A run that waits for others begins after they have ended, and the end of each of them is noted at once."""
    run = history.run
    for each in history.parents:
        has_begun = bool(history.attempts) or run.lease_token is not None
        # Somebody may want it at once.
        if has_begun and each.parent_status is None and not history.was_changed("retry", "retry --force"):
            yield f"run {run.id} has begun, but run {each.parent_id}, for which it was to wait, has not ended"
        if each.parent_id == run.id and run.finished_at is None:
            yield f"run {run.id} waits for itself"
        is_over = each.actual_status is None or each.actual_status in FINISHED
        if is_over and each.parent_status is None and run.finished_at is None:
            ended = "deleted" if each.actual_status is None else each.actual_status
            yield f"run {run.id} still waits for run {each.parent_id}, which is {ended}"


@promise("P1", "run", _SHOW)
def gates_exist(history: History, facts: Facts) -> Iterator[str]:
    """No run waits behind a gate that does not exist, once a tick has had the time to see it."""
    run, gate = history.run, history.gate
    if gate is None or run.status not in CLAIMABLE:
        return
    since = max(run.run_at, run.updated_at, run.created_at)
    if run.gate == _AFTER:
        if not history.parents and facts.had_tick(since):
            yield f"run {run.id} waits for other runs since {iso_instant(since)}, and there are none"
        return
    agreed = facts.agreed.get(run.job_type)
    if agreed is None or not facts.had_tick(max(since, agreed)):
        return
    if gate.limited is None:
        yield f"run {run.id} waits for the limits of its type {run.job_type}, which has none"
    elif gate.has_turn is None and gate.fair_by is None:
        # Claims find the gate of a fair type also without its row.
        yield f"run {run.id} waits behind a gate that has no row, so that no claim looks there"
    elif run.gate.partition(" ")[0] != (gate.concurrency_key or "all"):
        yield f"run {run.id} waits behind a gate that is none of the limits of its type {run.job_type}"
