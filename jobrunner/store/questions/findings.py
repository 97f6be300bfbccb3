"""What there may be to find: the facts that ``admin.findings`` judges. Expects a read transaction.

Named tuples and no dataclasses, whose making takes a tick that writes metrics some milliseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from jobrunner.lifecycle import FINISHED
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import lockers, rhythm
from jobrunner.store.questions.lockers import Locker
from jobrunner.store.questions.rhythm import Beat
from jobrunner.store.queue.ticks import tallies
from jobrunner.store.queue.ticks.hosts import PROBLEM, TRACEBACK
from jobrunner.store.sql.statement import Prepared, Question, Row

PERIOD = timedelta(hours=1)
"""Killed ticks and dead runs are counted over this time."""
MOST_COUNTED = 10_000
"""Rows that a finding counts. Of more it says that there are more."""
CLOCK_STEP = timedelta(minutes=1)
"""A clock may step back a little. The slots in that time have been handled already."""
_CAME_SINCE = Prepared("findings.came_since")
QUESTIONS = {
    "hosts": Prepared("findings.hosts"),
    "killed_ticks": Prepared("findings.killed_ticks"),
    "due_types": Prepared("findings.due_types"),
    "stray": Prepared("unclaimed.stray"),
    "stray_dependants": Prepared("unclaimed.stray_dependants"),
    "behind_open_gates": Prepared("unclaimed.behind_open_gates"),
    "dead": Prepared("findings.dead"),
    "expired_leases": Prepared("findings.expired_leases"),
    "owners": Prepared("findings.owners"),
    "uncertain_effects": Prepared("findings.uncertain_effects"),
    "broken_definitions": Prepared("findings.broken_definitions"),
    "old_pauses": Prepared("findings.old_pauses"),
    "known_types": Prepared("findings.known_types"),
}
"""What the facts are made from."""


class HostTick(NamedTuple):
    """The last tick of a host. ``ticks`` is how many it has, up to three."""

    host: str
    started_at: datetime
    finished_at: datetime | None
    error: str | None
    ticks: int


class KilledTicks(NamedTuple):
    """How many ticks of a host were killed in the last hour, and when the last of them started."""

    host: str
    ticks: int
    last_at: datetime


class Flow(NamedTuple):
    """The runs of a type that became due since an instant and wait still, and those that ended since."""

    since: datetime
    came: int
    ended: int


class DueType(NamedTuple):
    """A type with due runs. ``id`` and ``run_at`` are those of the run whose turn is next.

    Runs behind gates are among them if no limit is a reason to wait, or if no claim would see them. ``flow`` is looked
    at only if that run waits longer than its ``since``.
    """

    job_type: str
    id: int
    run_at: datetime
    runs: int
    flow: Flow | None = None


class DeadType(NamedTuple):
    """How many runs of a type died in the last hour, and one of them."""

    job_type: str
    runs: int
    id: int


class ExpiredLeases(NamedTuple):
    """Runs whose lease expired so long ago that a tick should have recovered them."""

    runs: int
    id: int | None
    first_at: datetime | None


class SilentTick(NamedTuple):
    """A tick that was killed, or that has not renewed its leases for half of their time. One of its runs is ``id``."""

    host: str | None
    locked_by: str
    runs: int
    id: int
    renewed_at: datetime
    ends_at: datetime


class UncertainEffects(NamedTuple):
    """The effects that a person must settle, and since when the first of them is open."""

    effects: int
    first_at: datetime | None


class BrokenDefinition(NamedTuple):
    """A definition that cannot be expanded. ``last_error`` None: a clock was ahead when it was expanded."""

    name: str
    last_error: str | None
    last_slot_at: datetime


class OldPause(NamedTuple):
    """A job type, a host or everything, and who has paused it. ``name`` "" is that of everything."""

    kind: str
    name: str
    actor: str
    reason: str | None
    paused_at: datetime


class KnownTypes(NamedTuple):
    """What the ticks of a host can run. A host may have several kinds of ticks. ``problem``: only commands, and why.

    ``traceback`` is that of the problem.
    """

    host: str
    types: frozenset[str]
    problem: str | None = None
    traceback: str | None = None


class Facts(NamedTuple):
    """All of them, read at one instant of the database's clock."""

    at: datetime
    hosts: list[HostTick]
    killed: list[KilledTicks]
    due: list[DueType]
    dead: list[DeadType]
    expired: ExpiredLeases
    silent: list[SilentTick]
    uncertain: UncertainEffects
    broken: list[BrokenDefinition]
    pauses: list[OldPause]
    known: list[KnownTypes]
    beat: Beat
    lockers: list[Locker]


class Limits(NamedTuple):
    """When a tick that is open and has no live lease was killed, and an expired lease should have been recovered.

    ``behind``: how long the next run of a type must wait until its throughput is looked at. ``paused_for``: how long a
    pause must last to be noted. ``tick_age``: the threshold for ticks that have stopped. ``most``: see MOST_COUNTED.
    ``late``: from when on a run behind an open gate is late. ``killed`` are ticks that are known to be killed.
    """

    killed_after: timedelta
    expired_for: timedelta
    behind: timedelta
    paused_for: timedelta
    tick_age: timedelta
    most: int = MOST_COUNTED
    late: timedelta = timedelta(minutes=10)
    killed: Sequence[str] = ()


def facts(connection: Connection, limits: Limits) -> Facts:
    """The facts. Each statement is as quick beside a long history, and beside a long queue."""
    at, given = tallies.now(connection), _values(limits)
    found = {name: _dicts(connection.execute(each, given[name])) for name, each in QUESTIONS.items()}
    due, beat = _with_gated(connection, at, limits, found), rhythm.look(connection)
    return Facts(
        at=at,
        hosts=[HostTick(**row) for row in found["hosts"]],
        killed=[KilledTicks(**row) for row in found["killed_ticks"]],
        due=_behind(connection, at, limits, due),
        dead=[DeadType(**row) for row in found["dead"]],
        expired=ExpiredLeases(**found["expired_leases"][0]),
        silent=_silent(at, limits, [SilentTick(**row) for row in found["owners"]]),
        uncertain=UncertainEffects(**found["uncertain_effects"][0]),
        broken=[BrokenDefinition(**row) for row in found["broken_definitions"]],
        pauses=[OldPause(**row) for row in found["old_pauses"]],
        known=[
            KnownTypes(row["host"], _can_run(row), row["settings"].get(PROBLEM), row["settings"].get(TRACEBACK))
            for row in found["known_types"]
        ],
        beat=beat,
        lockers=_lockers(connection, due, beat, at, limits.tick_age),
    )


def _lockers(
    connection: Connection, due: Sequence[DueType], beat: Beat, at: datetime, tick_age: timedelta
) -> list[Locker]:
    """Who holds what ticks need. Asked only if a run waits for longer than ticks take to come, or if these stopped."""
    late = [each for each in due if at - each.run_at > tick_age]
    if not late and not beat.has_stopped(at, tick_age):
        return []
    return lockers.look(connection, [each.id for each in late], [each.job_type for each in late])


def questions(limits: Limits) -> list[Question]:
    """What ``facts`` asks first, for a page that asks it together."""
    given = _values(limits)
    asked = ((each, given[name]) for name, each in QUESTIONS.items())
    return [(Prepared("tallies.clock"), {}), rhythm.QUESTION, *asked]


def _values(limits: Limits) -> dict[str, dict[str, Any]]:
    """The parameters of each of ``QUESTIONS``."""
    most = {"most": limits.most + 1}
    since = {"since": -PERIOD.total_seconds()}
    return {
        "hosts": {},
        "killed_ticks": {**since, "killed_before": -limits.killed_after.total_seconds()},
        "due_types": most,
        "stray": most,
        "stray_dependants": {},
        "behind_open_gates": {**most, "since": -limits.late.total_seconds()},
        "dead": {**since, **most},
        "expired_leases": {"expired_before": -limits.expired_for.total_seconds()},
        "owners": {},
        "uncertain_effects": most,
        "broken_definitions": {"ahead": CLOCK_STEP.total_seconds(), **most},
        "old_pauses": {"paused_before": -limits.paused_for.total_seconds(), **most},
        "known_types": {},
    }


def _silent(at: datetime, limits: Limits, owners: list[SilentTick]) -> list[SilentTick]:
    # If its leases are over for long, ``expired`` has its runs.
    held = [each for each in owners if each.ends_at > at - limits.expired_for]
    half = [each.locked_by for each in held if at - each.renewed_at > (each.ends_at - each.renewed_at) / 2]
    return [each for each in held if each.locked_by in (*half, *limits.killed)]


def _dicts(found: Iterable[Row]) -> list[dict[str, Any]]:
    return [row._asdict() for row in found]


def _can_run(row: Mapping[str, Any]) -> frozenset[str]:
    types = frozenset(row["can_run"])
    return types & frozenset(row["types"].split(",")) if row["types"] else types


def last_ticks(connection: Connection) -> list[HostTick]:
    """The last tick of each host."""
    return [HostTick(**row._asdict()) for row in connection.execute(QUESTIONS["hosts"])]


def waiting(connection: Connection, most: int = MOST_COUNTED) -> dict[str, int]:
    """How many runs of each type wait, due or not. Up to ``most`` are counted."""
    types, count = connection.execute(Prepared("findings.waiting_types")).scalars(), Prepared("backpressure.count")
    return {each: connection.execute(count, {"of_type": each, "limit": most}).scalar_one() for each in types}


def due_types(connection: Connection, most: int = MOST_COUNTED) -> list[DueType]:
    """The types with due runs, also with such as no claim would see. Up to ``most`` and one are counted."""
    due = _due(_dicts(connection.execute(QUESTIONS["due_types"], {"most": most + 1})))
    return _joined(due, stray_runs(connection, most), most)


def stray_runs(connection: Connection, most: int = MOST_COUNTED) -> list[DueType]:
    """The due runs that no claim would see, of each gate. Up to ``most`` and one are counted."""
    found = [
        *connection.execute(QUESTIONS["stray"], {"most": most + 1}),
        *connection.execute(QUESTIONS["stray_dependants"]),
    ]
    return [_gated(row) for row in _dicts(found)]


def _with_gated(
    connection: Connection, at: datetime, limits: Limits, found: Mapping[str, list[dict[str, Any]]]
) -> list[DueType]:
    """All types with due runs that no limit is a reason to wait for."""
    late = [each for each in map(_gated, found["behind_open_gates"]) if at - each.run_at > limits.late]
    if late:
        # Between the end of a run and the next claim a gate is open for a moment. Where runs end, others begin.
        values = {"since": -limits.late.total_seconds(), "most": limits.most}
        ended = set(connection.execute(Prepared("unclaimed.ended_lately"), values).scalars())
        late = [each for each in late if each.job_type not in ended]
    stray = [_gated(row) for row in (*found["stray"], *found["stray_dependants"])]
    return _joined(_due(found["due_types"]), [*stray, *late], limits.most)


def _joined(due: Iterable[DueType], more: Iterable[DueType], most: int) -> list[DueType]:
    types = {each.job_type: each for each in due}
    for each in more:
        other = types.get(each.job_type, each)
        first = min(each, other, key=lambda one: (one.run_at, one.id))
        runs = each.runs if other is each else each.runs + other.runs
        types[each.job_type] = first._replace(runs=min(runs, most + 1))
    return sorted(types.values())


def _gated(row: Mapping[str, Any]) -> DueType:
    return DueType(row["job_type"], row["id"], row["run_at"], row["runs"])


def _due(found: Iterable[Mapping[str, Any]]) -> list[DueType]:
    return [DueType(**row) for row in found]


def _behind(connection: Connection, at: datetime, limits: Limits, found: list[DueType]) -> list[DueType]:
    # The tallies have no smaller spans.
    since = tallies.begin_of(at, limits.behind)
    late = [each.job_type for each in found if each.run_at < since]
    if not late:
        return found
    ended = defaultdict[str, int](int)
    for key, tally in tallies.sums_since(connection, since).items():
        ended[key.job_type] += tally.ends * (key.status in FINISHED)
    # Enough to tell which of the two is more.
    most = max(limits.most, min(max(ended[each] for each in late), 10 * limits.most)) + 1
    given = {"given": [{"job_type": each} for each in late], "since": since, "most": most}
    came = {row.job_type: row.runs for row in connection.execute(_CAME_SINCE, given)}

    def flow(each: DueType) -> Flow | None:
        return Flow(since, came[each.job_type], ended[each.job_type]) if each.job_type in came else None

    return [each._replace(flow=flow(each)) for each in found]
