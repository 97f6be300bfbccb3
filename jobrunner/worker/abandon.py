"""Returns all runs in hand, uncharged, when a tick cannot go on.

This code does not depend on the state of the main loop. It uses only the hand, which has every lease that is held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from jobrunner import clock
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.log import Log
from jobrunner.model import Lease
from jobrunner.store.queue import claims, finalize
from jobrunner.store.queue.finalize import Refusal
from jobrunner.worker.context import TickContext
from jobrunner.worker.finalizer import MOST_UNWRITTEN, Finalizer
from jobrunner.worker.hand import Hand
from jobrunner.worker.phase import BEGUN_PHASES

_WRITING_SECONDS = 3.0
_LOCKED_SECONDS = 1.0
"""For so long a row is tried again that another transaction has locked, perhaps the renewal of its own lease."""
_RELEASED = AttemptResult(
    Outcome.RELEASED, error_type="released", error="stopped because its tick had to end: an internal error"
)


def abandon(context: TickContext, hand: Hand, finalizer: Finalizer) -> None:
    """Write the results that are known, then return every other run in hand.

    A run whose handler may have begun gets a released attempt; the caller must have killed all handlers. Raises
    nothing: a run that cannot be returned is recovered when its lease expires.
    """
    _try(context.log, partial(_write_results, finalizer))
    held = hand.renewable()
    begun = {each.lease: each.unwritten_checkpoint for each in held if each.phase in BEGUN_PHASES}
    never_begun = [each.lease for each in held if each.phase not in BEGUN_PHASES]
    for token in {lease.token for lease in never_begun}:
        run_ids = {lease.run_id for lease in never_begun if lease.token == token}
        _try(context.log, partial(_return, context, token, run_ids))
    for start in range(0, len(begun), MOST_UNWRITTEN):
        _try(context.log, partial(_release, context, dict(islice(begun.items(), start, start + MOST_UNWRITTEN))))
    hand.clear()


def _write_results(finalizer: Finalizer) -> None:
    ends_at = clock.elapsed() + _WRITING_SECONDS
    while not finalizer.is_settled() and clock.elapsed() < ends_at:
        finalizer.work()
        clock.sleep(0.01)


def _return(context: TickContext, token: str, run_ids: Collection[int]) -> None:
    """Return runs of one claim. A row that the heartbeat renews at this moment is locked, and is tried again."""
    ends_at = clock.elapsed() + _LOCKED_SECONDS
    while run_ids:
        work = partial(claims.return_unstarted, token=token, run_ids=run_ids)
        run_ids = context.database.write(work).locked
        if run_ids and clock.elapsed() >= ends_at:
            return
        clock.sleep(0.01 if run_ids else 0)


def _release(context: TickContext, begun: Mapping[Lease, Any]) -> None:
    """End the attempts of these leases as released, each with its checkpoint; again those whose rows are locked."""
    ends_at = clock.elapsed() + _LOCKED_SECONDS
    leases: Sequence[Lease] = [*begun]
    while leases:
        ends = [(lease, _RELEASED) for lease in leases]
        checkpoints = {lease: begun[lease] for lease in leases if begun[lease] is not None}
        work = partial(finalize.finalize_all, owner=context.owner, ends=ends, checkpoints=checkpoints)
        answers = zip(leases, context.database.write(work), strict=True)
        leases = [lease for lease, answer in answers if answer is Refusal.LOCKED]
        if leases and clock.elapsed() >= ends_at:
            return
        clock.sleep(0.01 if leases else 0)


def _try(log: Log, work: Callable[[], object]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the others must be returned all the same
        log.error("return runs", result="failed", error=f"{type(error).__name__}: {error}"[:500])
