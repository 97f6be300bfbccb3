"""Finalize: the guarded write by which an owner ends its attempts. Recovery uses it for attempts without an owner.

Every function expects to be the body of one write transaction (``Database.write``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from jobrunner import failpoints
from jobrunner.lifecycle import AttemptResult, Decision, Outcome, RunState, decide
from jobrunner.model import Lease, Owner
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.steps import Steps, follow
from jobrunner.store.queue.holding import UNTOLD, as_rows, ended_attempts, keep, still_held
from jobrunner.store.queue.output_limits import fit, fit_after_commit
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.store.sql.traits import TRAITS

_SHOW_WARNINGS = Prepared("finalize.show_warnings")
_LOCKED, _COMPLETE = Prepared("finalize.locked"), Prepared("finalize.complete")
_RECORD, _LEAVE = Prepared("finalize.record"), Prepared("finalize.leave")
_SUCCEED, _SUCCEED_WAITING = Prepared("finalize.succeed", (False,)), Prepared("finalize.succeed", (True,))
_RECORD_SUCCESS, _LEAVE_AS_SUCCEEDED = Prepared("finalize.record_success"), Prepared("finalize.leave_as_succeeded")


class Refusal(Enum):
    """Why a finalize changed nothing."""

    LEASE_LOST = "the lease was lost"
    LOCKED = "another transaction has locked its row"
    ALREADY_APPLIED = "an earlier finalize, whose COMMIT got no answer, was applied"
    COMMITTED = "its handler's own transaction had ended it as succeeded, and that stays"


class Ended(NamedTuple):
    """The end of an attempt, for the log line. ``has_dependants``: other runs wait for the end of this one."""

    run_id: int
    job_type: str
    attempt: int
    decision: Decision
    run_at: datetime
    has_dependants: bool = False


def finalize_all(
    connection: Connection,
    owner: Owner,
    ends: Sequence[tuple[Lease, AttemptResult]],
    deploy_grace: timedelta = timedelta(0),
    checkpoints: Mapping[Lease, Any] = MappingProxyType({}),
) -> list[Ended | Refusal]:
    """End the attempts of these leases, in one write. The results have the order of ``ends``.

    A lost lease is a normal result, and nothing is written for it. ``deploy_grace`` is for how long a run that does not
    fit the code is tried again. Waits for no locked row: the caller must write that one later. ``checkpoints`` are
    those that are not written yet: no attempt ends without its own.
    """
    if checkpoints and (locked := still_held(connection, checkpoints.keys() - keep(connection, checkpoints))):
        # Not asked again in this transaction: a row that is free by now would end without its checkpoint.
        free = [(lease, result) for lease, result in ends if lease not in locked]
        answers = iter(finalize_all(connection, owner, free, deploy_grace))
        return [Refusal.LOCKED if lease in locked else next(answers) for lease, _ in ends]
    plain = {lease: fit(result) for lease, result in ends if _is_plain_success(result)}
    succeeded = follow(connection, _succeed(connection.database, plain))
    # With pop(), here and below, so that the attempt of a lease that is listed twice is ended once.
    ended: list[Ended | Refusal | None] = [succeeded.pop(lease, None) for lease, _ in ends]
    others = [each for each, one in zip(ends, ended, strict=True) if one is None]
    rest = iter(_end_locked(connection, owner, others, deploy_grace) if others else ())
    results = [next(rest) if one is None else one for one in ended]
    if any(isinstance(one, Ended) for one in results):
        failpoints.hit("finalize.before_commit", cut=connection.sever)
    return results


def _is_plain_success(result: AttemptResult) -> bool:
    more = (result.error_type, result.error, result.traceback, result.exit_signal)
    return result.outcome is Outcome.SUCCEEDED and more == (None,) * 4


def succeed_steps(database: str, lease: Lease, result: object) -> Steps[bool]:
    """End an attempt as succeeded in its handler's own transaction, as its last statement. False: the lease is lost."""
    fitted = fit(AttemptResult(Outcome.SUCCEEDED, output=UNTOLD, result=result))
    if TRAITS[database].has_functions:
        # By a warning the server says that the COMMIT did not wait for the standby.
        yield _SHOW_WARNINGS, {}
    return bool((yield from _succeed(database, {lease: fitted}, waits=True)))


def _succeed(
    database: str, results: Mapping[Lease, AttemptResult], *, waits: bool = False
) -> Steps[dict[Lease, Ended]]:
    """End these attempts as far as their leases are held and their rows are free. A success needs no look before.

    PostgreSQL does this in one statement. On SQLite, where nobody else writes meanwhile, these are two. If it
    ``waits``, it also waits for locked rows.
    """
    if not results:
        return {}
    reported = ({"result": each.result, "output": each.output, **_cost(each)} for each in results.values())
    given = [each | one for each, one in zip(as_rows(results), reported, strict=True)]
    if TRAITS[database].has_functions:
        rows = yield (_SUCCEED_WAITING if waits else _SUCCEED), {"given": given}
        return {Lease(row.id, row.lease_token): _succeeded(row) for row in rows}
    recorded = (yield _RECORD_SUCCESS, {"given": given}).all()
    if not recorded:
        return {}
    updated = yield _LEAVE_AS_SUCCEEDED, {"given": given, "at": recorded[0].finished_at}
    by_id = {row.id: row for row in updated}
    return {Lease.of(row): _succeeded(by_id[row.run_id]) for row in recorded}


def _succeeded(row: Row) -> Ended:
    return Ended(row.id, row.job_type, row.attempts, _success(row.attempts), row.run_at, bool(row.has_dependants))


@lru_cache
def _success(attempts: int) -> Decision:
    # For a success the rule asks nothing of the row: the statement can write what it decides.
    state = RunState(attempts, attempts, cancel_requested=False, releases=0, lease_expiries=0)
    return decide(state, AttemptResult(Outcome.SUCCEEDED))


def _end_locked(
    connection: Connection,
    owner: Owner,
    ends: Sequence[tuple[Lease, AttemptResult]],
    deploy_grace: timedelta,
) -> list[Ended | Refusal]:
    """As ``finalize_all``, for every result: lock the rows, decide, write."""
    found = connection.execute(_LOCKED, {"given": as_rows(lease for lease, _ in ends)})
    held = {Lease.of(row): row for row in found}
    matched = [(lease, result, held.pop(lease, None)) for lease, result in ends]
    ended = end(connection, [(row, result) for _, result, row in matched if row is not None], deploy_grace)
    missing = {lease: result for lease, result, row in matched if row is None}
    refused = _refused(connection, owner, missing)
    in_order = iter(ended)
    return [refused[lease] if row is None else next(in_order) for lease, _, row in matched]


def _refused(connection: Connection, owner: Owner, results: Mapping[Lease, AttemptResult]) -> dict[Lease, Refusal]:
    """Why these leases could not be ended. Writes the output of what their handlers' own transactions have ended."""
    # In this order, because an earlier finalize, whose COMMIT got no answer, may be applied at any moment.
    locked = still_held(connection, list(results))
    applied = ended_attempts(connection, [lease for lease in results if lease not in locked])
    refused = {}
    late = []
    for lease, result in results.items():
        row = applied.get(lease)
        if row is None or row.worker != owner.name:
            refused[lease] = Refusal.LOCKED if lease in locked else Refusal.LEASE_LOST
            continue
        refused[lease] = Refusal.COMMITTED if row.output == UNTOLD else Refusal.ALREADY_APPLIED
        if row.output == UNTOLD:
            late.append(
                {"id": lease.run_id, "lease_token": lease.token, "output": fit_after_commit(result), **_cost(result)}
            )
    if late:
        connection.execute(_COMPLETE, {"given": late})
    return refused


def end(
    connection: Connection, ends: Sequence[tuple[Row, AttemptResult]], deploy_grace: timedelta = timedelta(0)
) -> list[Ended]:
    """End the attempts of these locked rows. Two statements get the same list, and each uses its part of it."""
    if not ends:
        return []
    at = ends[0][0].now
    given, ended = [], []
    for row, reported in ends:
        result = fit(reported)
        decision = decide(_state_of(row), result, deploy_grace=deploy_grace)
        next_at = None if decision.wait is None else at + decision.wait
        given.append(_given(row, decision, result, next_at))
        run_at = next_at or row.run_at
        ended.append(Ended(row.id, row.job_type, row.attempts, decision, run_at, bool(row.has_dependants)))
    values = {"given": given, "at": at}
    # The attempts first, because the second statement clears the columns of the run that they are made of.
    connection.execute(_RECORD, values)
    changed = connection.execute(_LEAVE, values)
    if changed.rowcount != len(ends):
        raise RuntimeError(f"{changed.rowcount} of {len(ends)} runs were ended although their rows were locked")
    return ended


def _state_of(row: Row) -> RunState:
    return RunState(
        attempts=row.attempts,
        max_attempts=row.max_attempts or 1,
        cancel_requested=row.cancel_requested,
        releases=row.releases,
        lease_expiries=row.lease_expiries,
        incompatible_for=timedelta(0) if row.incompatible_at is None else row.now - row.incompatible_at,
    )


_DECIDED = ("event", "status", "attempts", "releases", "lease_expiries", "outcome", "error_type", "error")


def _given(row: Row, decision: Decision, result: AttemptResult, next_at: datetime | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "lease_token": row.lease_token,
        "run_at": next_at,
        **{name: getattr(decision, name) for name in _DECIDED},
        **{name: getattr(result, name) for name in ("result", "error_class", "traceback", "output", "exit_signal")},
        **_cost(result),
    }


def _cost(result: AttemptResult) -> dict[str, Any]:
    return {"peak_memory_bytes": result.peak_memory_bytes, "processor_seconds": result.processor_seconds}
