"""Brings the tallies up to date, as ticks do one after the other."""

from harness.database import Database
from harness.waiting import wait_for
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.queue.ticks import tallies


def count_all(database: Database, store: Store) -> None:
    """Until every attempt is in the tallies.

    On PostgreSQL that waits for the writing transactions of the whole server, those of other tests included: one of
    them writes a history of hundreds of thousands of runs.
    """

    def is_done() -> bool:
        store.write(tallies.fold)
        uncounted = "SELECT count(*) AS n FROM job_attempts, job_state WHERE job_attempts.id > counted_to"
        return bool(database.value(uncounted) == 0)

    wait_for(is_done, 90, "all attempts are counted")
