"""Strays: sets runs right that wait where no claim would see them."""

from __future__ import annotations

from functools import partial

from jobrunner.store.queue import strays
from jobrunner.worker.context import TickContext


def free(context: TickContext, *, every: bool = False) -> None:
    """Let the claims of this tick meet all such runs, but for locked ones: the next tick meets those.

    ``every`` also looks behind those gates that a tick does not look at each time, because too many are waited for.
    """
    found = context.database.read(partial(strays.find, every=every))
    for some in strays.batches(found):
        freed = last = context.database.write(partial(strays.free, strays=some))
        # No further call for what a tick of older code, which works meanwhile, puts behind its gates again at once.
        while last >= strays.MOST_FREED:
            last = context.database.write(partial(strays.free, strays=some))
            freed += last
        if freed:
            gate = some.gates[0] if some.gates else {"gate": "after"}
            context.log.warning("gates", result="runs that no claim would have found are corrected", runs=freed, **gate)
