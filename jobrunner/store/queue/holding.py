"""Leases: which are still held, their renewal, and the reports of the handlers meanwhile.

Every function expects to be the body of one write transaction (``Database.write``). None waits for a row that another
transaction has locked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from jobrunner.model import Lease
from jobrunner.store.drivers.connection import Connection, Executor
from jobrunner.store.queue.output_limits import fit_checkpoint, fit_report
from jobrunner.store.sql.statement import Prepared, Row

_RENEW = Prepared("holding.renew")
_HELD = Prepared("holding.held")
_ENDED = Prepared("finalize.ended")
_KEEP = Prepared("holding.keep")
_LARGEST_GROUP = 1_000_000
"""Characters of checkpoints in one write: it must end long before it is cut as a call that hangs."""

EXPIRED = "lease_expired"
"""The error type of an attempt that recovery has ended."""
UNTOLD = ""
"""The output of an attempt that its handler's own transaction has ended, until its tick writes the output."""


class Renewal(NamedTuple):
    """The result of a renewal. A lease that is in no field is lost.

    ``renewed`` maps each renewed lease to whether its cancellation was requested. ``locked`` are leases that are still
    held but were not renewed, because another transaction has locked their rows. ``committed`` are leases whose run was
    ended by its handler's own transaction.
    """

    renewed: Mapping[Lease, bool] = MappingProxyType({})
    locked: Collection[Lease] = ()
    committed: Collection[Lease] = ()


def renew(connection: Connection, leases: Collection[Lease], lease: timedelta) -> Renewal:
    """Renew the leases for the duration ``lease`` from now. Skips rows that another transaction has locked."""
    if not leases:
        return Renewal()
    values = {"given": as_rows(leases), "lease_seconds": lease.total_seconds()}
    found = connection.execute(_RENEW, values)
    renewed = {Lease.of(row): row.cancel_requested_at is not None for row in found}
    missing = [held for held in leases if held not in renewed]
    # In this order, because a transaction that has locked a row may end at any moment.
    locked = still_held(connection, missing)
    ended = ended_attempts(connection, [held for held in missing if held not in locked])
    return Renewal(renewed, locked, tuple(held for held, row in ended.items() if row.output == UNTOLD))


def still_held(connection: Connection, leases: Collection[Lease]) -> set[Lease]:
    """The leases that are not lost. Locks nothing and waits for no lock."""
    if not leases:
        return set()
    found = connection.execute(_HELD, {"given": as_rows(leases)})
    return {Lease.of(row) for row in found}


def ended_attempts(connection: Executor, leases: Collection[Lease]) -> dict[Lease, Row]:
    """The attempts of these leases that their owner has ended, or the handler's own transaction."""
    if not leases:
        return {}
    found = connection.execute(_ENDED, {"given": as_rows(leases)})
    # Recovery writes the name of the owner, too. In that case the lease was lost.
    return {Lease.of(row): row for row in found if row.error_type != EXPIRED}


def report(connection: Connection, reports: Mapping[Lease, Mapping[str, Any]]) -> set[Lease]:
    """Write ``progress`` and the tail of ``output`` of runs at work. Returns the leases whose report was written.

    It is not written for a lost lease, nor for a run whose row another transaction has locked.
    """
    written = set()
    for lease, columns in reports.items():
        fitted = fit_report(columns)
        values = {"run_id": lease.run_id, "token": lease.token, **{f"new_{name}": fitted[name] for name in fitted}}
        statement = Prepared("holding.report", (tuple(sorted(fitted, reverse=True)),))
        if not fitted or connection.execute(statement, values).first():
            written.add(lease)
    return written


def keep(connection: Connection, checkpoints: Mapping[Lease, Any]) -> set[Lease]:
    """Write the checkpoints of runs at work. Returns the leases that have nothing left to write.

    One is not written for a lost lease, nor for a run whose row another transaction has locked.
    """
    fitted = {lease: fit_checkpoint(each) for lease, each in checkpoints.items()}
    given = [{**row, "checkpoint": each} for row, each in zip(as_rows(fitted), fitted.values(), strict=True) if each]
    written = connection.execute(_KEEP, {"given": given}).all() if given else ()
    # What no database can hold, sent by a handler itself, is dropped.
    return {Lease.of(row) for row in written} | {lease for lease, each in fitted.items() if each is None}


def groups_of(checkpoints: Mapping[Lease, Any]) -> Iterator[dict[Lease, Any]]:
    """The checkpoints in groups, each of a size for one write."""
    group: dict[Lease, Any] = {}
    length = 0
    for lease, each in checkpoints.items():
        length += len(str(each))
        if group and length > _LARGEST_GROUP:
            yield group
            group, length = {}, len(str(each))
        group[lease] = each
    if group:
        yield group


def as_rows(leases: Iterable[Lease]) -> list[dict[str, Any]]:
    """Leases as the rows of such a list."""
    return [{"id": lease.run_id, "lease_token": lease.token} for lease in leases]
