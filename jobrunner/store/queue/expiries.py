"""Recovery: ends attempts whose lease has expired or whose tick is dead, and finds out before who holds what."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import NamedTuple

from jobrunner import failpoints
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Owner
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue.finalize import Ended, end
from jobrunner.store.queue.holding import EXPIRED
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.sql.statement import Prepared, Row

_EXPIRED = "the lease of {} expired: its tick was killed, stalled or cut off"
_KILLED = "the tick {} was killed before the end of the run was written"


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


def is_tick(connection: Connection, owner: Owner) -> bool:
    """Whether this owner is a tick that has used this database. Expects any transaction."""
    values = {"host": owner.host, "worker": owner.name}
    return bool(connection.execute(Prepared("expiries.is_tick"), values).scalar_one())


def recover(
    connection: Connection, limit: int, *, only: Collection[int] | None = None, with_output: bool = True
) -> list[Ended]:
    """End up to ``limit`` attempts whose lease has expired, of all types. Such an attempt is charged.

    Skips rows that another tick recovers at the same time. A run is tried again after the backoff that its host has
    reported for its type, because the policies of the types are not known here. ``only`` are the runs whose handlers
    are stopped; None: all. ``with_output`` False drops the stored output, for a run that cannot be written with it.
    """
    values = {"limit": limit, "given": [{"id": each} for each in only or ()]}
    ids = connection.execute(Prepared("expiries.locked", (only is not None,)), values).scalars()
    return _end(connection, ids, _EXPIRED, with_output=with_output)


def recover_of(
    connection: Connection, owner: Owner, run_ids: Collection[int], *, with_output: bool = True
) -> list[Ended]:
    """End the attempts of these runs as far as this owner, who is dead, still holds them, as ``recover`` does."""
    values = {"owner": owner.name, "given": [{"id": each} for each in run_ids]}
    ids = connection.execute(Prepared("expiries.locked_of"), values).scalars()
    return _end(connection, ids, _KILLED, with_output=with_output)


def _end(connection: Connection, ids: Iterable[int], reason: str, *, with_output: bool) -> list[Ended]:
    given = [{"id": each} for each in ids]
    if not given:
        return []
    found = connection.execute(Prepared("finalize.running_of"), {"given": given}).all()
    backoffs = hosts.backoffs(connection, {row.host for row in found})
    waits = [backoffs.wait(row.host, row.job_type, row.attempts) for row in found]
    results = [_expired(row, reason, wait, with_output=with_output) for row, wait in zip(found, waits, strict=True)]
    ended = end(connection, list(zip(found, results, strict=True)))
    failpoints.hit("recover.before_commit", cut=connection.sever)
    return ended


def _expired(row: Row, reason: str, wait: timedelta, *, with_output: bool) -> AttemptResult:
    return AttemptResult(
        Outcome.LEASE_EXPIRED,
        error_type=EXPIRED,
        error=reason.format(row.locked_by),
        output=row.output if with_output else None,
        wait=wait,
    )
