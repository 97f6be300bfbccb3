"""The limits that the code declares, as they are stored for those who do not know the code.

Every function expects a write transaction, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from jobrunner.model import Limits, Policy
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared, Row

_RELEASED = 2000
"""How many runs are taken away from behind their gates at once."""
_LIMITS = Prepared("limits.declared")


class _Stored(NamedTuple):
    """The stored limits of each type, and the types for which operators have set some: whether these have ended."""

    limits: dict[str, dict[str, Any]]
    set_types: dict[str, bool]


def _read_stored(connection: Connection) -> _Stored:
    rows = connection.execute(_LIMITS).all()
    return _Stored(
        {row.job_type: stored_of(row) for row in rows if row.has_ended is None},
        {row.job_type: bool(row.has_ended) for row in rows if row.has_ended is not None},
    )


def changed(connection: Connection, policies: Sequence[Policy]) -> list[Policy]:
    """The policies whose limits are not the stored ones, or for whose types something was set that has ended.

    Expects any transaction.
    """
    known, set_types = _read_stored(connection)
    return [
        each
        for each in policies
        if set_types.get(each.job_type) or known.get(each.job_type) != _wanted(each, set_types.keys())
    ]


def declare(connection: Connection, policy: Policy) -> bool:
    """Store the limits of this type, or forget them if it has none now. True: call it once more.

    Runs that wait behind gates of another key, or of no limit, are taken from there, and the next claim meets them
    anew. Then what operators had set, and has ended, is forgotten: until then claims look behind the gates for it.
    """
    stored = _read_stored(connection).limits.get(policy.job_type)
    columns = columns_of(policy.limits or Limits())
    values = {"of_type": policy.job_type, **{f"new_{name}": value for name, value in columns.items()}}
    # This is also the lock on the type: from here on no claim of it is under way, and nobody sets limits of it.
    ended = connection.execute(Prepared("limits.declare"), values).scalar_one()
    has_limits = policy.limits is not None or ended == 0
    if has_limits and (stored is None or stored["concurrency_key"] == columns["concurrency_key"]):
        connection.execute(Prepared("gates.reopen"), values)
    else:
        if len(connection.execute(Prepared("limits.release"), {**values, "limit": _RELEASED}).all()) == _RELEASED:
            return True
        connection.execute(Prepared("gates.forget"), values)
        if not has_limits:
            connection.execute(Prepared("limits.forget"), values)
    if ended == 1:
        connection.execute(Prepared("set_limits.forget"), values)
    return False


def _wanted(policy: Policy, set_types: Collection[str]) -> dict[str, Any] | None:
    """The row that a type should have; None: none."""
    return columns_of(policy.limits or Limits()) if is_limited(policy, set_types) else None


def columns_of(limits: Limits) -> dict[str, Any]:
    """The columns of the row of a type with these limits."""
    values = {**limits.as_data(), "concurrency_key": key_of(limits) or None}
    # That is a rule for those who enqueue (``backpressure``).
    del values["fair_by"]
    return values


def key_of(limits: Limits) -> str:
    """How the names of the key are stored. The gates of the type begin with it."""
    return ",".join(limits.key)


def stored_of(row: Row) -> dict[str, Any]:
    """The same columns of a row that was read."""
    return {name: getattr(row, name) for name in columns_of(Limits())}


def is_limited(policy: Policy, set_types: Collection[str]) -> bool:
    """Whether the runs of a type come from behind gates: its code or operators limit it, or what they set has ended."""
    # Without what is set most hosts have hundreds of types to ask about.
    return policy.limits is not None or (bool(set_types) and any(name in set_types for name in policy.names))
