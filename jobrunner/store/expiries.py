"""Recovery: ends attempts whose lease has expired, and finds out before who held them and what else they hold."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from jobrunner import failpoints
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.store.connection import Connection
from jobrunner.store.finalize import Ended, end
from jobrunner.store.holding import EXPIRED
from jobrunner.store.statement import Prepared, Row


class Expired(NamedTuple):
    """A run whose lease has expired, with its host and its owner."""

    run_id: int
    host: str | None
    owner: str | None


def expired_runs(connection: Connection) -> list[Expired]:
    """All runs whose lease has expired. Expects any transaction."""
    return [Expired(*row) for row in connection.execute(Prepared("expiries.expired"))]


def held_runs(connection: Connection, owners: Collection[str]) -> set[int]:
    """The runs that these owners hold, also those with an expired lease. Expects any transaction."""
    values = {"given": [{"locked_by": owner} for owner in owners]}
    return set(connection.execute(Prepared("expiries.held_by"), values).scalars())


def recover(
    connection: Connection, limit: int, *, only: Collection[int] | None = None, with_output: bool = True
) -> list[Ended]:
    """End up to ``limit`` attempts whose lease has expired, of all types. Such an attempt is charged.

    Skips rows that another tick recovers at the same time. Uses the default backoff, because the policies of the types
    are not known here. ``only`` are the runs whose handlers are stopped; None: all. ``with_output`` False drops the
    stored output, for a run that cannot be written with it.
    """
    values = {"limit": limit, "given": [{"id": each} for each in only or ()]}
    ids = connection.execute(Prepared("expiries.locked", (only is not None,)), values).scalars()
    if not ids:
        return []
    found = connection.execute(Prepared("finalize.running_of"), {"given": [{"id": each} for each in ids]})
    ended = end(connection, [(row, _expired(row, with_output=with_output)) for row in found])
    failpoints.hit("recover.before_commit", cut=connection.sever)
    return ended


def _expired(row: Row, *, with_output: bool) -> AttemptResult:
    return AttemptResult(
        Outcome.LEASE_EXPIRED,
        error_type=EXPIRED,
        error=f"the lease of {row.locked_by} expired: its tick was killed, stalled or cut off",
        output=row.output if with_output else None,
    )
