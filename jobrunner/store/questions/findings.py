"""What there may be to find: reads the facts that ``admin.findings`` judges. Expects a read transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from jobrunner.lifecycle import FINISHED
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.questions import lockers, rhythm, snapshots, unusual
from jobrunner.store.questions.facts import (
    MOST_COUNTED,
    Awaited,
    BrokenDefinition,
    BrokenPromise,
    DeadType,
    DueType,
    ExpiredLeases,
    Facts,
    Flow,
    HostTick,
    KilledTicks,
    KnownTypes,
    Limits,
    OldLimit,
    OldPause,
    SilentTick,
    UncertainEffects,
)
from jobrunner.store.questions.lockers import Locker
from jobrunner.store.questions.rhythm import Beat
from jobrunner.store.queue.ticks import hosts, tallies
from jobrunner.store.queue.ticks.hosts import PROBLEM, TRACEBACK
from jobrunner.store.sql.statement import Prepared, Question, Row

T = TypeVar("T")
PERIOD = timedelta(hours=1)
"""Killed ticks and dead runs are counted over this time."""
CLOCK_STEP = timedelta(minutes=1)
"""A clock may step back a little. The slots in that time have been handled already."""
_HOSTS: Question = (Prepared("findings.hosts"), {})


def facts(connection: Connection, limits: Limits) -> Facts:
    """The facts. Each statement is as quick beside a long history, and beside a long queue."""
    asked = _asked(limits)

    def ask(name: str, kind: Callable[..., T]) -> list[T]:
        return _read(connection, kind, asked[name])

    at, known = tallies.now(connection), connection.execute(*asked["known_types"]).all()
    late = _late(connection, at, limits, ask("behind_open_gates", DueType), known)
    stray = [*ask("stray", DueType), *ask("stray_dependants", DueType)]
    due, beat = _joined(ask("due_types", DueType), [*stray, *late], limits.most), rhythm.look(connection)
    return Facts(
        at=at,
        hosts=ask("hosts", HostTick),
        killed=ask("killed_ticks", KilledTicks),
        due=_behind(connection, at, limits, due),
        dead=ask("dead", DeadType),
        expired=ask("expired_leases", ExpiredLeases)[0],
        silent=_silent(at, limits, ask("owners", SilentTick)),
        uncertain=ask("uncertain_effects", UncertainEffects)[0],
        broken=ask("broken_definitions", BrokenDefinition),
        promises=ask("broken_promises", BrokenPromise),
        awaited=_awaited(connection, asked),
        pauses=ask("old_pauses", OldPause),
        set_limits=ask("old_limits", OldLimit),
        known=[_known(row) for row in known],
        compared=unusual.look(connection, at, limits.least),
        beat=beat,
        lockers=_lockers(connection, due, beat, at, limits.tick_age),
        snapshots=snapshots.look(connection, limits.old_transactions, limits.old_bytes),
    )


def questions(limits: Limits) -> list[Question]:
    """What ``facts`` asks first, for a page that asks it together."""
    return [(Prepared("tallies.clock"), {}), rhythm.QUESTION, *_asked(limits).values()]


def _asked(limits: Limits) -> dict[str, Question]:
    most, since = {"most": limits.most + 1}, {"since": -PERIOD.total_seconds()}
    stray, stray_dependants = stray_questions(limits.most)
    late, paused = {"since": -limits.late.total_seconds()}, {"paused_before": -limits.paused_for.total_seconds()}
    killed = {"killed_before": -limits.killed_after.total_seconds()}
    expired = {"expired_before": -limits.expired_for.total_seconds()}
    return {
        "hosts": _HOSTS,
        "killed_ticks": (Prepared("findings.killed_ticks"), {**since, **killed}),
        "due_types": (Prepared("findings.due_types"), most),
        "stray": stray,
        "stray_dependants": stray_dependants,
        "behind_open_gates": (Prepared("unclaimed.behind_open_gates"), {**most, **late}),
        "dead": (Prepared("findings.dead"), {**since, **most}),
        "expired_leases": (Prepared("findings.expired_leases"), expired),
        "owners": (Prepared("findings.owners"), {}),
        "uncertain_effects": (Prepared("findings.uncertain_effects"), most),
        "broken_definitions": (Prepared("findings.broken_definitions"), {"ahead": CLOCK_STEP.total_seconds(), **most}),
        "broken_promises": (Prepared("findings.broken_promises"), most),
        "awaited_schedules": (Prepared("findings.awaited_schedules"), late),
        "awaited_runs": (Prepared("findings.awaited_runs"), {**late, **most}),
        "old_pauses": (Prepared("findings.old_pauses"), {**paused, **most}),
        "old_limits": (Prepared("findings.old_limits"), {**paused, **most}),
        "known_types": (Prepared("findings.known_types"), {}),
        **unusual.questions(limits.least),
    }


def _read(connection: Connection, kind: Callable[..., T], question: Question) -> list[T]:
    return [kind(**row._asdict()) for row in connection.execute(*question)]


def _awaited(connection: Connection, asked: Mapping[str, Question]) -> list[Awaited]:
    schedules = {row.host: row for row in connection.execute(*asked["awaited_schedules"])}
    runs = {row.host: row for row in connection.execute(*asked["awaited_runs"])}
    return [
        Awaited(
            host,
            one.number if one is not None else 0,
            one.first if one is not None else None,
            other.number if other is not None else 0,
            other.first if other is not None else None,
            min(each.since for each in (one, other) if each is not None),
        )
        for host in sorted(schedules.keys() | runs.keys())
        for one, other in [(schedules.get(host), runs.get(host))]
    ]


def _lockers(
    connection: Connection, due: Sequence[DueType], beat: Beat, at: datetime, tick_age: timedelta
) -> list[Locker]:
    """Who holds what ticks need. Asked only if a run waits for longer than ticks take to come, or if these stopped."""
    late = [each for each in due if at - each.run_at > tick_age]
    if not late and not beat.has_stopped(at, tick_age):
        return []
    return lockers.look(connection, [each.id for each in late], [each.job_type for each in late])


def _silent(at: datetime, limits: Limits, owners: list[SilentTick]) -> list[SilentTick]:
    # If its leases are over for long, ``expired`` has its runs.
    held = [each for each in owners if each.ends_at > at - limits.expired_for]
    half = [each.locked_by for each in held if at - each.renewed_at > (each.ends_at - each.renewed_at) / 2]
    return [each for each in held if each.locked_by in (*half, *limits.killed)]


def _known(row: Row) -> KnownTypes:
    wanted = {*row.types.split(",")} if row.types else None
    names = [name for name in row.can_run if wanted is None or {name, hosts.known_as(row.can_run, name)} & wanted]
    return KnownTypes(row.host, frozenset(names), row.settings.get(PROBLEM), row.settings.get(TRACEBACK))


def last_ticks(connection: Connection) -> list[HostTick]:
    """The last tick of each host."""
    return _read(connection, HostTick, _HOSTS)


def waiting(connection: Connection, most: int = MOST_COUNTED) -> dict[str, int]:
    """How many runs of each type wait, due or not. Up to ``most`` are counted."""
    types, count = connection.execute(Prepared("findings.waiting_types")).scalars(), Prepared("backpressure.count")
    return {each: connection.execute(count, {"of_type": each, "limit": most}).scalar_one() for each in types}


def due_types(connection: Connection, most: int = MOST_COUNTED) -> list[DueType]:
    """The types with due runs, also with such as no claim would see. Up to ``most`` and one are counted."""
    due = _read(connection, DueType, (Prepared("findings.due_types"), {"most": most + 1}))
    return _joined(due, stray_runs(connection, most), most)


def stray_runs(connection: Connection, most: int = MOST_COUNTED) -> list[DueType]:
    """The due runs that no claim would see, of each gate. Up to ``most`` and one are counted."""
    return [each for question in stray_questions(most) for each in _read(connection, DueType, question)]


def stray_questions(most: int) -> tuple[Question, Question]:
    """What ``stray_runs`` asks."""
    return (Prepared("unclaimed.stray"), {"most": most + 1}), (Prepared("unclaimed.stray_dependants"), {})


def _late(
    connection: Connection, at: datetime, limits: Limits, gated: Iterable[DueType], known: Sequence[Row]
) -> list[DueType]:
    """The runs behind open gates that should have been claimed."""
    late = [each for each in gated if at - each.run_at > limits.late]
    if not late:
        return late
    # Between the end of a run and the next claim a gate is open for a moment. Where runs end, others begin.
    values = {"since": -limits.late.total_seconds(), "most": limits.most}
    ended = set(connection.execute(Prepared("unclaimed.ended_lately"), values).scalars())
    names = {each.job_type: hosts.names_of((row.can_run for row in known), each.job_type) for each in late}
    # A type that was renamed has limits for all of its names together, and its gates show one of them.
    others = {name for each, its_names in names.items() for name in its_names if name != each}
    if others:
        given = {"given": [{"job_type": name} for name in sorted(others)]}
        ended.update(row[0] for row in connection.execute(Prepared("limits.all_at_work"), given))
    return [each for each in late if ended.isdisjoint(names[each.job_type])]


def _joined(due: Iterable[DueType], more: Iterable[DueType], most: int) -> list[DueType]:
    types = {each.job_type: each for each in due}
    for each in more:
        other = types.get(each.job_type, each)
        first = min(each, other, key=lambda one: (one.run_at, one.id))
        runs = each.runs if other is each else each.runs + other.runs
        types[each.job_type] = first._replace(runs=min(runs, most + 1))
    return sorted(types.values())


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
    came = {row.job_type: row.runs for row in connection.execute(Prepared("findings.came_since"), given)}

    def flow(each: DueType) -> Flow | None:
        return Flow(since, came[each.job_type], ended[each.job_type]) if each.job_type in came else None

    return [each._replace(flow=flow(each)) for each in found]
