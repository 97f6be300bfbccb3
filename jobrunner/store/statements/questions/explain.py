"""What ``jobrunner explain`` reads about a run: its row, its hosts, and its place in the queue."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Float,
    FromClause,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    func,
    literal_column,
    select,
    tuple_,
    union_all,
)

from jobrunner.store.schema import (
    job_effects,
    job_events,
    job_gates,
    job_hosts,
    job_parents,
    job_runs,
    job_set_limits,
    job_tallies,
    job_ticks,
    job_types,
)
from jobrunner.store.schema.views import job_claimable, job_gated, job_limits_in_force, job_recoverable
from jobrunner.store.sql.conditions import CLAIM, SEEN
from jobrunner.store.sql.dialect.ddl import condition
from jobrunner.store.sql.dialect.values import later, now
from jobrunner.store.statements.questions.overview import due_now
from jobrunner.store.statements.queue.effects import IS_OPEN
from jobrunner.store.statements.queue.holding import RUNNING
from jobrunner.store.statements.queue.hosts import ticks_of
from jobrunner.store.statements.queue.limits import gate_of as gate_of_key
from jobrunner.store.statements.queue.limits import is_at_work

_LARGE = ("payload", "result", "output", "progress", "checkpoint")
_NAMES = [(count,) for count in range(1, 4)]
VARIANTS: dict[str, list[tuple[Any, ...]]] = {
    "at_work": [(False,), (True,)],
    "gate_of": _NAMES,
    "same_key_in_front": _NAMES,
    "taken_first": _NAMES,
}
_ITS_ID: ColumnElement[int] = bindparam("run", type_=job_runs.c.id.type)
_OF_TYPE: ColumnElement[str] = bindparam("of_type", type_=job_runs.c.job_type.type)
_GATE: ColumnElement[str] = bindparam("gate", type_=job_runs.c.gate.type)
_SINCE = later(bindparam("since", type_=Float))
_MOST: ColumnElement[int] = bindparam("most", type_=Integer)
"""Runs that are counted."""


# The run.


def oldest_due() -> Select[Any]:
    """The run that is due for the longest time."""
    first = due_now(literal_column("1", Integer())).subquery("first")
    return select(first.c.id).order_by(first.c.run_at, first.c.id).limit(1)


def run() -> Select[Any]:
    """A run without its texts, which conditions of the claim it fulfils, and whether its lease has expired.

    ``is_seen``: a claim looks behind its gate.
    """
    columns = job_runs.c
    conditions = {**CLAIM, "seen": SEEN.replace("{runs}", "job_runs")}
    fulfilled = [condition(text).label(f"is_{name}") for name, text in conditions.items()]
    recoverable = select(job_recoverable.c.id).where(job_recoverable.c.id == _ITS_ID).exists()
    read = [column for column in columns if column.name not in _LARGE]
    found = select(*read, *fulfilled, recoverable.label("is_expired"), now().label("now"))
    return found.where(columns.id == _ITS_ID)


def last_event() -> Select[Any]:
    """What an operator or a tick did to a run last."""
    columns = job_events.c
    found = select(columns.actor, columns.action, columns.detail).where(columns.run_id == _ITS_ID)
    return found.order_by(columns.id.desc()).limit(1)


def open_effect() -> Select[Any]:
    """The first effect of a run that is open."""
    columns = job_effects.c
    return select(columns.key).where(IS_OPEN, columns.run_id == _ITS_ID).order_by(columns.intended_at).limit(1)


def parents() -> Select[Any]:
    """The runs that a run waits for."""
    columns = job_parents.c
    return (
        select(columns.parent_id, job_runs.c.status)
        .join_from(job_parents, job_runs, job_runs.c.id == columns.parent_id, isouter=True)
        .where(columns.run_id == _ITS_ID, columns.parent_status.is_(None))
        .order_by(columns.parent_id)
        .limit(10)
    )


def other_of_key() -> Select[Any]:
    """Another unfinished run of the same key: the one that is running, else the first."""
    columns = job_runs.c
    unfinished = columns.status.in_([literal_column(f"'{each}'") for each in ("queued", "failed", "running")])
    of_key = columns.concurrency_key == bindparam("key", type_=columns.concurrency_key.type)
    found = select(columns.id, columns.status).where(of_key, unfinished, columns.id != _ITS_ID)
    return found.order_by(columns.lease_token.is_(None), columns.id).limit(1)


# Its hosts.


def last_ticks() -> Select[Any]:
    """The last ticks of all hosts, then those of the host of the last one, each the newest first."""
    columns = job_ticks.c
    names = (columns.id, columns.host, columns.started_at)
    its_host = select(columns.host).where(columns.id == select(func.max(columns.id)).scalar_subquery())
    # The condition lets SQLite search the index, and not scan it.
    newest = select(*names).where(columns.id > literal_column("0")).order_by(columns.id.desc())
    of_all = newest.limit(_MOST).subquery("of_all").c
    of_host = ticks_of(its_host.scalar_subquery()).with_only_columns(*names).limit(_MOST).subquery("of_host").c
    both = [
        select(each.id, each.host, each.started_at, literal_column(number, Integer()).label("is_of_host"))
        for number, each in (("0", of_all), ("1", of_host))
    ]
    listed = both[0].union_all(both[1]).subquery("listed").c
    return select(listed.host, listed.started_at, listed.is_of_host).order_by(listed.is_of_host, listed.id.desc())


def newest_tick() -> Select[Any]:
    """When the newest tick of a host began."""
    columns = job_ticks.c
    newest = ticks_of(bindparam("host", type_=columns.host.type)).limit(literal_column("1"))
    return select(columns.started_at).where(columns.id == newest.scalar_subquery())


def recent_ticks() -> Select[Any]:
    """The ticks since an instant. The newest of each kind is found by the caller: grouping could read all ticks."""
    return _ticks().where(job_ticks.c.started_at > _SINCE).order_by(job_ticks.c.started_at)


def _ticks() -> Select[Any]:
    columns = job_ticks.c
    return select(columns.host, columns.application, columns.types, columns.started_at, columns.ended_by, columns.error)


def reports() -> Select[Any]:
    """What the ticks of each host can run, by their last report."""
    return select(job_hosts)


def running() -> Select[Any]:
    """What runs where."""
    columns = job_runs.c
    return select(columns.job_type, columns.host, columns.id).where(columns.status == RUNNING)


# Its place in the queue.


def limits() -> Select[Any]:
    """The limits of a type over all hosts that hold now, and which of them somebody has set: who, when and why."""
    limits, set_here = job_limits_in_force, job_set_limits.c
    of_operators = (set_here[name] for name in ("reason", "actor", "set_at", "ends_at"))
    labelled = (set_here[name].label(f"set_{name}") for name in ("max_running", "rate"))
    fair_by = select(job_types.c.fair_by).where(job_types.c.job_type == _OF_TYPE).scalar_subquery().label("fair_by")
    found = select(limits, *of_operators, *labelled, fair_by, now().label("now")).select_from(
        limits.outerjoin(job_set_limits, and_(limits.c.is_set, set_here.job_type == limits.c.job_type))
    )
    return found.where(limits.c.job_type == _OF_TYPE)


def at_work(of_gate: bool) -> Select[Any]:
    """The runs of a type that are running, or only those behind a gate."""
    columns = job_runs.c
    found = select(columns.id).where(columns.job_type == _OF_TYPE, is_at_work()).order_by(columns.id)
    return found.where(columns.gate == _GATE) if of_gate else found


def all_at_work() -> Select[Any]:
    """The same, with those that began behind no gate, as a limit counts them that an operator has set."""
    columns = job_runs.c
    # Without an order: for it SQLite would read all runs, in the order of their ids.
    return select(columns.id).where(columns.job_type == _OF_TYPE, columns.status == RUNNING)


def gate_of(names: int) -> Select[Any]:
    """The gate behind which the next claim puts a run: ``name_0`` and so on are the parts of its key."""
    return select(gate_of_key(*_names(names)).label("gate")).where(job_runs.c.id == _ITS_ID)


def gate() -> Select[Any]:
    """What a gate has spent of its rate."""
    columns = job_gates.c
    return select(columns.spent_until).where(columns.job_type == _OF_TYPE, columns.gate == _GATE)


def due_in_front() -> Select[Any]:
    """How many claimable runs of the type a claim takes before a run, up to a limit."""
    columns = job_claimable.c
    return _count(select(columns.id).where(columns.job_type == _OF_TYPE, _earlier(columns)))


def all_in_front() -> Select[Any]:
    """The same for runs behind the one gate of a type that has no key."""
    columns = job_gated.c
    is_behind = columns.gate == literal_column("'all'")
    return _count(select(columns.id).where(columns.job_type == _OF_TYPE, is_behind, _earlier(columns)))


def gated_in_front() -> Select[Any]:
    """The same for runs behind any of its gates."""
    columns = job_gated.c
    # In no order: behind many gates the first runs are not found quickly, so that only some are looked at.
    some = select(columns.id, columns.turn_at, columns.run_at).where(
        columns.job_type == _OF_TYPE, columns.gate > literal_column("''"), columns.gate != literal_column("'after'")
    )
    known = some.limit(_MOST).subquery()
    return _count(select(known.c.id).where(_earlier(known.c)))


def behind_gate_in_front() -> Select[Any]:
    """The same for runs behind one gate."""
    columns = job_gated.c
    return _count(select(columns.id).where(columns.job_type == _OF_TYPE, columns.gate == _GATE, _earlier(columns)))


def same_key_in_front(names: int) -> Select[Any]:
    """The same for runs of one key that no claim has put behind their gate yet."""
    columns = job_claimable.c
    in_front = select(columns.id).where(columns.job_type == _OF_TYPE, _earlier(columns)).limit(_MOST)
    first: FromClause = in_front.subquery()
    same_key = gate_of_key(*_names(names)) == _GATE
    return _count(select(job_runs.c.id).join(first, first.c.id == job_runs.c.id).where(same_key))


def taken_first(names: int) -> Select[Any]:
    """The runs of its type that claims take before a run, if the limits of all keys allow them.

    One claim after the other takes the first run behind each gate: ``nth`` is in which of them it is the turn of a run.
    """
    fresh, behind = job_claimable.c, job_gated.c
    first = select(fresh.id, fresh.turn_at, fresh.run_at).where(fresh.job_type == _OF_TYPE)
    first_ones = first.order_by(fresh.turn_at, fresh.run_at, fresh.id).limit(_MOST).subquery()
    gate = gate_of_key(*_names(names))
    of_no_gate = select(job_runs.c.id, gate.label("gate"), first_ones.c.turn_at, first_ones.c.run_at)
    of_no_gate = of_no_gate.join_from(first_ones, job_runs, first_ones.c.id == job_runs.c.id)
    some = select(behind.id, behind.gate, behind.turn_at, behind.run_at).where(
        behind.job_type == _OF_TYPE, behind.gate > literal_column("''"), behind.gate != literal_column("'after'")
    )
    found = union_all(of_no_gate, select(some.limit(_MOST).subquery())).subquery("found").c
    turn = (found.turn_at, found.run_at, found.id)
    nth = func.row_number(type_=Integer).over(partition_by=found.gate, order_by=turn).label("nth")
    ranked = select(found.id, found.gate, found.turn_at, found.run_at, nth).cte("ranked")
    one, its = ranked.c, ranked.alias("its").c
    sooner = tuple_(one.nth, one.turn_at, one.run_at, one.id) < tuple_(its.nth, its.turn_at, its.run_at, its.id)
    busy = select(func.count()).where(job_runs.c.job_type == _OF_TYPE, job_runs.c.gate == one.gate, is_at_work())
    spent = select(job_gates.c.spent_until).where(job_gates.c.job_type == _OF_TYPE, job_gates.c.gate == one.gate)
    return (
        select(
            one.nth,
            busy.correlate(ranked).scalar_subquery().label("at_work"),
            spent.correlate(ranked).scalar_subquery().label("spent_until"),
        )
        .where(its.id == _ITS_ID, sooner)
        .limit(_MOST)
    )


def speed() -> Select[Any]:
    """How many attempts of a type ended since an instant, and in which hour the first of them."""
    columns = job_tallies.c
    found: list[Any] = [func.sum(columns.ends).label("ends"), func.min(columns.at).label("first"), now().label("now")]
    return select(*found).where(
        columns.span == literal_column("'hour'"),
        columns.at > _SINCE,
        columns.job_type == _OF_TYPE,
        columns.outcome != literal_column("''"),
    )


def _names(count: int) -> list[ColumnElement[str]]:
    return [bindparam(f"name_{number}", type_=Text()) for number in range(count)]


def _earlier(columns: Any) -> ColumnElement[bool]:
    turn = tuple_(columns.turn_at, columns.run_at, columns.id)
    its = tuple_(*(bindparam(f"its_{name}", type_=job_runs.c[name].type) for name in ("turn_at", "run_at", "id")))
    earlier: ColumnElement[bool] = turn < its
    return earlier


def _count(found: Select[Any]) -> Select[Any]:
    return select(func.count().label("runs")).select_from(found.limit(_MOST).subquery())
