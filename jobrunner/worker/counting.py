"""Counting: adds the attempts that have ended to the tallies, at the end of a tick."""

from __future__ import annotations

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable
from jobrunner.store.queue.ticks import tallies
from jobrunner.text import first_line_of
from jobrunner.worker.context import TickContext

_COUNT_SECONDS = 1.0


def count_ends(context: TickContext) -> None:
    """Count for a second at most. What is left, the next tick counts; whoever reads the tallies adds it anyway."""
    ends_at = clock.elapsed() + _COUNT_SECONDS
    try:
        while context.database.write(tallies.fold) and clock.elapsed() < ends_at:
            pass
    except DatabaseUnavailable:
        # If the database is still away, the next write of the tick says it.
        return
    except Exception as error:  # noqa: BLE001 - a row that cannot be counted must not keep the tick from its end
        context.log.error("tallies", result="not counted", error=first_line_of(error))
