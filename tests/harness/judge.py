"""The judge of the promises, as tests ask it: what it finds in the history of a database. It changes nothing."""

from contextlib import closing
from datetime import timedelta

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate

_PATIENCE = timedelta(seconds=20)
_OVERLAPPING = (
    "SELECT a.run_id, a.sequence FROM job_attempts a JOIN job_attempts b ON b.run_id = a.run_id"
    " AND b.sequence = a.sequence + 1 WHERE b.started_at < a.finished_at AND a.outcome <> 'lease_expired'"
    " ORDER BY a.id LIMIT 100"
)


def breaches(store: Store) -> list[str]:
    """A sentence for each broken promise; none: all that can be judged holds."""

    def look(connection: Connection) -> list[str]:
        found = connection.execute(_OVERLAPPING)
        return [f"run {row.run_id}: the attempts {row.sequence} and {row.sequence + 1} overlap" for row in found]

    return store.read(look)


def breaches_at(url: str, schema: str | None = None) -> list[str]:
    """The same, for whoever has the URL alone."""
    with closing(Store(locate(url, schema), patience=_PATIENCE)) as store:
        return breaches(store)
