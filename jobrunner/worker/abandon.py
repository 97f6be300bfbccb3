"""When a tick cannot go on: what it has in hand goes back at once, charged to nobody.

Nothing here trusts the state in which the main loop was left. The heartbeat knows every lease that is held.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import partial

from jobrunner import clock
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.log import Log
from jobrunner.model import Lease, Owner
from jobrunner.store import claims, finalize
from jobrunner.store.database import Database
from jobrunner.worker.finalizer import MOST_UNWRITTEN, Finalizer
from jobrunner.worker.heartbeat import Heartbeat

_WRITING_SECONDS = 3.0
_RELEASED = AttemptResult(
    Outcome.RELEASED, error_type="released", error="stopped because its tick had to end: an internal error"
)


def hand_back(
    database: Database,
    owner: Owner,
    heartbeat: Heartbeat,
    finalizer: Finalizer,
    at_work: Collection[Lease],
    log: Log,
) -> None:
    """Give back every run of this tick; those ``at_work``, whose handlers must be dead by now, as stopped attempts.

    What has ended is written first. Raises nothing: what cannot be given back is recovered when its lease is over.
    """
    _try(log, partial(_write_what_has_ended, finalizer))
    # Those that have ended and could not be written were begun, too.
    begun = {*at_work, *finalizer.leases()}
    held = heartbeat.held()
    for token in {lease.token for lease in held}:
        run_ids = [lease.run_id for lease in held if lease.token == token and lease not in begun]
        _try(log, partial(database.write, partial(claims.give_back, token=token, run_ids=run_ids)))
    ends = [(lease, _RELEASED) for lease in held if lease in begun]
    for start in range(0, len(ends), MOST_UNWRITTEN):
        group = ends[start : start + MOST_UNWRITTEN]
        _try(log, partial(database.write, partial(finalize.finalize_all, owner=owner, ends=group)))
    heartbeat.let_go(*held)


def _write_what_has_ended(finalizer: Finalizer) -> None:
    ends_at = clock.elapsed() + _WRITING_SECONDS
    while not finalizer.is_settled() and clock.elapsed() < ends_at:
        finalizer.work()
        time.sleep(0.01)


def _try(log: Log, work: Callable[[], object]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the others are to be given back all the same
        log.error("hand back", result="failed", error=f"{type(error).__name__}: {error}"[:500])
