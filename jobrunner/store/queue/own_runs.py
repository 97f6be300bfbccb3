"""The runs that only one host may claim: those of schedules that give each host a run of its own.

No other claim sees them, of whatever version, because they are not in the views of the claim. The claim of their host
makes them runs of any host, within its own transaction: so limits, keys and turns hold for them without another rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared

MOST_OPENED = 1000
"""So many of them one claim looks at."""


@contextmanager
def opened(connection: Connection, host: str, job_types: Sequence[str]) -> Iterator[None]:
    """Let a claim see the due runs of these types that are for this host; afterwards they are for this host again.

    Nobody else sees them meanwhile, because all is one write transaction, which the caller has begun.
    """
    given = {"host": host, "given": [{"job_type": each} for each in job_types], "limit": MOST_OPENED}
    ids = connection.execute(Prepared("own_runs.open"), given).scalars()
    yield
    if not ids:
        return
    values = {"given": [{"id": each} for each in ids]}
    gates = connection.execute(Prepared("own_runs.gates"), values).mappings()
    connection.execute(Prepared("own_runs.close"), {"host": host, **values})
    if left := [dict(each) for each in gates]:
        # Nothing of theirs waits there any more. Another claim would look behind these gates before others.
        connection.execute(Prepared("strays.settle"), {"given": left})
