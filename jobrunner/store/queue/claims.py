"""Claims due runs, and returns unstarted ones.

Every function expects to be the body of one write transaction (``Database.write``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from jobrunner import failpoints
from jobrunner.lifecycle import FINISHED
from jobrunner.model import Capacity, ClaimedRun, Lease, Owner, Policy
from jobrunner.store.drivers import locks
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.queue import limits, own_runs, sole_owners
from jobrunner.store.queue.declared_limits import is_limited
from jobrunner.store.queue.listed_types import listed
from jobrunner.store.queue.ticks import tallies
from jobrunner.store.sql.statement import Prepared, Row
from jobrunner.store.sql.traits import TRAITS

_HELD_BY_TYPE, _UNCOUNTED = (Prepared("claims.held_by_type", (is_counted,)) for is_counted in (True, False))
_urgency = attrgetter("turn_at", "run_at", "id")


class ClaimRequest(NamedTuple):
    """What a tick asks for. ``token`` is made by the client, once per claim, before the claim is sent.

    So a claim whose COMMIT got no answer can be found again (``return_unstarted``). ``permits`` is how many runs may be
    at work on this host, of all its ticks; runs of async types and of the ``exempt_types`` take none. ``in_use`` is how
    many of them this tick uses; None: one for each run that it holds. ``capacity`` None: one run for each permit.
    ``type_limits`` are types of which the tick wants no more runs than this. ``may_wait`` is how many runs of an async
    type may wait in the tick until others of it have ended. ``quarantined`` asks for one run whose lease expired at
    least twice in a row, instead of the others. ``without_payload`` reads neither payloads nor checkpoints: it is for a
    run whose payload cannot be read, so that its attempt can be ended. ``since``: of these types on PostgreSQL only
    runs whose turn is not before that, but for those behind gates. ``in_hand`` is how many runs of each type this tick
    has, so that those of the host need not be counted while no other tick of it claims (``sole_owners``); None: count.
    """

    owner: Owner
    token: str
    policies: Sequence[Policy]
    limit: int
    permits: int
    lease: timedelta
    in_use: int | None = None
    capacity: Capacity | None = None
    type_limits: Mapping[str, int] = MappingProxyType({})
    may_wait: Mapping[str, int] = MappingProxyType({})
    exempt_types: Collection[str] = ()
    quarantined: bool = False
    without_payload: bool = False
    since: Mapping[str, datetime] = MappingProxyType({})
    in_hand: Mapping[str, int] | None = None


class Claim(NamedTuple):
    """The claimed runs, most urgent first. ``permits`` is how many of the host's permits the tick may use.

    ``places`` is how many runs of each async type the tick may have at work. ``opens_in`` and ``may_be_more`` are those
    of ``limits.Openings``. ``set_types``: for these operators have set limits. ``first_turns`` is the earliest turn of
    the runs of each type, if the request had ``in_hand``; None: one of these has a concurrency key, so that others may
    wait with turns that are much earlier. ``is_sole``: the next claim need not count if no other tick claims before.
    """

    runs: list[ClaimedRun]
    permits: int
    places: Mapping[str, int] = MappingProxyType({})
    opens_in: float | None = None
    may_be_more: bool = False
    set_types: frozenset[str] = frozenset()
    first_turns: Mapping[str, datetime | None] = MappingProxyType({})
    is_sole: bool = False


def claim(connection: Connection, request: ClaimRequest) -> Claim:
    """Claim up to ``limit`` due runs of the given types, most urgent first, within the permits and the types' limits.

    The same statement charges an attempt to each run, because from then on a child may begin it at any moment.
    """
    held = _held(connection, request, lock_permits(connection, request.owner.host))
    found = _most(request, held)
    if found.in_all <= 0 or not any(found.of_types):
        claim = Claim([], found.permits, found.places, set_types=found.set_types)
    elif not found.waits_for_host:
        claim = _claim_within(connection, request, found)
    else:
        wanted = [policy.job_type for policy, most in zip(request.policies, found.of_types, strict=True) if most > 0]
        with own_runs.opened(connection, request.owner.host, wanted):
            claim = _claim_within(connection, request, found)
    return claim._replace(is_sole=held.is_sole)


def _claim_within(connection: Connection, request: ClaimRequest, found: _Most) -> Claim:
    permits, places, limit, most, set_types, _ = found
    have_limits = [is_limited(policy, set_types) for policy in request.policies]
    limited = [
        (policy, each)
        for policy, each, has_limits in zip(request.policies, most, have_limits, strict=True)
        if has_limits and each > 0
    ]
    if not limited:
        rows = _claim(connection, request, limit, most, most)
        first_turns = _first_turns(request, rows)
        return Claim(_claimed(rows), permits, places, set_types=set_types, first_turns=first_turns)
    openings = limits.open_gates(connection, limited, request.quarantined)
    # Runs of limited types come from behind their gates only.
    plain = [0 if has_limits else each for has_limits, each in zip(have_limits, most, strict=True)]
    gated = [{"id": each, "turn_at": openings.turns.get(each)} for each in openings.run_ids]
    rows = _claim(connection, request, limit, plain, most, gated) if gated or any(plain) else []
    openings.settle(connection, rows, is_full=len(rows) >= limit)
    runs, opens_in = _claimed(rows, openings.turns), openings.opens_in
    return Claim(runs, permits, places, opens_in, openings.may_be_more, set_types, _first_turns(request, rows))


def _claim(
    connection: Connection,
    request: ClaimRequest,
    limit: int,
    most: Sequence[int],
    together: Sequence[int],
    gated: Sequence[Mapping[str, Any]] = (),
) -> list[Row]:
    """Claim so many runs, and of each type so many, besides the ``gated`` ones; of all names of a type ``together``."""
    values: dict[str, Any] = {
        "limit": limit,
        "owner": request.owner.name,
        "host": request.owner.host,
        "token": request.token,
        "lease_seconds": request.lease.total_seconds(),
    }
    variant: tuple[Any, ...] = (connection.database, request.quarantined, request.without_payload)
    if gated:
        values["gated"] = gated
        variant += (True,)
    types = listed(tuple(request.policies))
    # One run is not too many of any type.
    has_families = limit > 1 and types.have_former_names
    if has_families:
        variant = (*variant[:3], bool(gated), True)
    values["types"] = types.rows(most, together if has_families else (), request.since)
    rows = connection.execute(Prepared("claims.claim", variant), values).all()
    if rows:
        failpoints.hit("claim.before_commit", cut=connection.sever)
    return rows


def lock_permits(connection: Connection, host: str) -> str | None:
    """Wait for the other claims of the host to end. None begins before this transaction ends. Its sole owner."""
    return locks.lock_named_row(connection, sole_owners.name_of(host))


class Returned(NamedTuple):
    """How many runs were returned, and the ids of runs that are still held, because their rows are locked."""

    runs: int
    locked: frozenset[int]


def return_unstarted(connection: Connection, token: str, run_ids: Collection[int] | None = None) -> Returned:
    """Undo a claim, or the part ``run_ids`` of it, that no handler has seen: uncharged, claimable at once.

    A run whose cancellation was requested is cancelled instead.
    """
    arguments = (run_ids is not None,)
    values = {"token": token, "given": [{"id": run_id} for run_id in run_ids or ()]}
    # Not the rowcount: Python's SQLite does not count the rows of a statement that begins with WITH.
    returned = connection.execute(Prepared("claims.return_unstarted", arguments), values).all()
    tallies.add_ends(connection, [(row.job_type, row.status) for row in returned if row.status in FINISHED])
    return Returned(
        len(returned), frozenset(connection.execute(Prepared("claims.held_under", arguments), values).scalars())
    )


class _Most(NamedTuple):
    """The permits and the places that the tick may use, how many runs it may claim in all, and how many of each type.

    ``set_types``: those for which operators have set limits, also if these have ended and runs still wait behind gates.
    ``waits_for_host``: there are due runs that no other host may claim.
    """

    permits: int
    places: dict[str, int]
    in_all: int
    of_types: list[int]
    set_types: frozenset[str]
    waits_for_host: bool


class _Held(NamedTuple):
    """How many runs of each type are at work on the host, and how many of these this tick has; what is paused there."""

    of_types: dict[str, tuple[int, int]]
    paused: set[tuple[str, str]]
    is_sole: bool


def _held(connection: Connection, request: ClaimRequest, sole_owner: str | None) -> _Held:
    values = {"owner": request.owner.name, "host": request.owner.host}
    if request.in_hand is not None and sole_owner == request.owner.name:
        paused = {(row.paused, row.name) for row in connection.execute(_UNCOUNTED, values)}
        if ("versions", "") not in paused:
            return _Held({name: (runs, runs) for name, runs in request.in_hand.items()}, paused, is_sole=True)
    found = connection.execute(_HELD_BY_TYPE, values).all()
    held = {row.name: (row.runs, row.mine) for row in found if not row.paused}
    # A file has no such entries in its indexes, and no such row.
    may_be_sole = request.in_hand is not None and TRAITS[connection.database].keeps_dead_entries
    is_alone = may_be_sole and all(runs == mine for runs, mine in held.values())
    is_sole = sole_owners.note(connection, request.owner, sole_owner, is_alone=is_alone)
    return _Held(held, {(row.paused, row.name) for row in found if row.paused}, is_sole)


def _most(request: ClaimRequest, found: _Held) -> _Most:
    held, paused, _ = found
    set_types = frozenset(name for kind, name in paused if kind == "limit")
    is_paused = any(kind in ("all", "host") for kind, _ in paused)
    paused_types = {name for kind, name in paused if kind == "type"}
    async_types = {policy.job_type for policy in request.policies if policy.is_async}
    exempt = {*request.exempt_types, *async_types}
    counted = [counts for job_type, counts in held.items() if job_type not in exempt]
    in_use = sum(mine for _, mine in counted) if request.in_use is None else request.in_use
    # Without ``in_use``, which may be less by the time of the answer: other ticks count what this one holds now.
    permits = max(0, request.permits - sum(count - mine for count, mine in counted))
    capacity = request.capacity or Capacity(permits=request.limit)
    shared = min(request.limit, capacity.runs(permits - in_use))
    most, places = [], {}
    for policy in request.policies:
        limit = request.limit if policy.is_async else shared
        limit = min(limit, request.type_limits.get(policy.job_type, limit))
        if policy.concurrency is not None:
            runs, mine = map(sum, zip(*(held.get(name, (0, 0)) for name in policy.names), strict=True))
            free = policy.concurrency - runs
            if policy.is_async:
                places[policy.job_type] = free + mine
                # A run that waits would take the place of a limited type from other hosts.
                if free + mine > 0 and not is_limited(policy, set_types):
                    free += request.may_wait.get(policy.job_type, 0)
            limit = min(limit, free)
        # The view says so, too, of the same name. But with a limit of 0 a long queue that is paused is not even read.
        if is_paused or (paused_types and not paused_types.isdisjoint(policy.names)):
            limit = 0
        most.append(max(0, limit))
    in_all = request.limit if async_types else shared
    return _Most(permits, places, in_all, most, set_types, ("own", "") in paused)


def _first_turns(request: ClaimRequest, rows: Sequence[Row]) -> Mapping[str, datetime | None]:
    first: dict[str, datetime | None] = {}
    for row in rows if request.in_hand is not None else ():
        earliest = first.get(row.job_type, row.turn_at)
        is_keyed = row.concurrency_key is not None or earliest is None
        first[row.job_type] = None if is_keyed else min(earliest, row.turn_at)
    return first


def _claimed(rows: Sequence[Row], turns: Mapping[int, datetime] = MappingProxyType({})) -> list[ClaimedRun]:
    def urgency(row: Row) -> tuple[Any, ...]:
        return turns.get(row.id, row.turn_at), row.run_at, row.id

    # By position, because this is done for every run.
    return [
        ClaimedRun(
            Lease(row.id, row.lease_token),
            row.job_type,
            getattr(row, "payload", {}),
            row.attempts,
            row.max_attempts,
            timedelta(seconds=row.timeout) if row.timeout else None,
            row.run_at,
            row.scheduled_for,
            row.claimed_at,
            row.definition_id,
            row.traceparent,
            getattr(row, "checkpoint", None),
        )
        for row in sorted(rows, key=urgency if turns else _urgency)
    ]
