"""Writes the limits of this host's code to the database: for every way of enqueueing, and for the limits of claims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jobrunner.errors import LimitHeld
from jobrunner.model import Policy
from jobrunner.store.drivers.database import Connection
from jobrunner.store.queue import backpressure, declared_limits
from jobrunner.worker.context import TickContext


def declare_limits(context: TickContext, policies: Sequence[Policy]) -> None:
    """Write the limits that differ; remove those of types that no longer have one. Raises DatabaseUnavailable.

    Hosts with different code write different limits in turn. The last one counts for those who do not know the code.
    """
    _declare_waiting(context, policies)
    for policy in context.database.read(partial(declared_limits.changed, policies=policies)):
        while context.database.write(partial(declared_limits.declare, policy=policy)):
            pass
        told = {} if policy.limits is None else {key: value for key, value in policy.limits.as_data().items() if value}
        context.log.info("limit", job_type=policy.job_type, result="changed" if told else "removed", **told)


def _declare_waiting(context: TickContext, policies: Sequence[Policy]) -> None:
    differing = context.database.read(partial(backpressure.changed_limits, policies=policies))
    if not differing:
        return

    def work(connection: Connection) -> None:
        with backpressure.short_lock_waits(connection):
            backpressure.declare(connection, differing)

    try:
        context.database.write(work)
    except LimitHeld as error:
        context.log.warning("limit", result="next tick", error=str(error))
        return
    for policy in differing:
        scope = {} if policy.key_scope == "forever" else {"key_scope": policy.key_scope}
        context.log.info(
            "limit", job_type=policy.job_type, max_waiting=policy.max_waiting, result=policy.when_full, **scope
        )
