"""Returns all runs in hand, uncharged, when a tick cannot go on.

This code does not depend on the state of the main loop. It uses only the hand, which has every lease that is held.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from jobrunner import clock
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.log import Log
from jobrunner.store.queue import claims, finalize
from jobrunner.worker.context import TickContext
from jobrunner.worker.finalizer import MOST_UNWRITTEN, Finalizer
from jobrunner.worker.hand import Hand
from jobrunner.worker.phase import BEGUN_PHASES

_WRITING_SECONDS = 3.0
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
    begun = [each.lease for each in held if each.phase in BEGUN_PHASES]
    never_begun = [each.lease for each in held if each.phase not in BEGUN_PHASES]
    for token in {lease.token for lease in never_begun}:
        run_ids = [lease.run_id for lease in never_begun if lease.token == token]
        _try(
            context.log, partial(context.database.write, partial(claims.return_unstarted, token=token, run_ids=run_ids))
        )
    for start in range(0, len(begun), MOST_UNWRITTEN):
        group = [(lease, _RELEASED) for lease in begun[start : start + MOST_UNWRITTEN]]
        work = partial(finalize.finalize_all, owner=context.owner, ends=group)
        _try(context.log, partial(context.database.write, work))
    hand.clear()


def _write_results(finalizer: Finalizer) -> None:
    ends_at = clock.elapsed() + _WRITING_SECONDS
    while not finalizer.is_settled() and clock.elapsed() < ends_at:
        finalizer.work()
        time.sleep(0.01)


def _try(log: Log, work: Callable[[], object]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the others must be returned all the same
        log.error("return runs", result="failed", error=f"{type(error).__name__}: {error}"[:500])
