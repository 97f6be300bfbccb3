"""Fair types: which gates wait, the line that they stand in, and the runs behind the first of them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Executable,
    FromClause,
    Integer,
    ScalarSelect,
    Select,
    Update,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    true,
    update,
)
from sqlalchemy import cast as cast_as

from jobrunner.store.schema import job_gates, job_limits, job_runs, job_types
from jobrunner.store.schema.views import job_gated
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import UtcTime, now, place_in_line
from jobrunner.store.sql.traits import EACH_DATABASE, TRAITS
from jobrunner.store.statements.queue.backpressure import WAITING
from jobrunner.store.statements.queue.gates import GATES, SPENT, first_turn, spent
from jobrunner.store.statements.queue.limits import are_open, fits, state_of_gate
from jobrunner.store.statements.queue.pauses import is_type_paused

_NAMES = [(False,), (True,)]
VARIANTS: dict[str, list[Any]] = {"first_runs": EACH_DATABASE, "line": _NAMES, "quarantined": _NAMES}
_OF_TYPE: ColumnElement[str] = bindparam("of_type", type_=job_gates.c.job_type.type)
_LIMIT = bindparam("limit", type_=Integer)
_SECOND = literal_column("1000000", Integer())
_TURN = (job_gated.c.turn_at, job_gated.c.run_at, job_gated.c.id)


# The claim: which gates wait.


def waited() -> Select[Any]:
    """So many gates behind which runs of a type wait, from one on.

    ``turn_at`` is that of the first run, and ``known_at`` the turn that the row of the gate has; NULL: none.
    """
    walk = _walk(bindparam("looked_to", type_=job_runs.c.gate.type))
    gates = walk.c
    first = _first_turn_from(_OF_TYPE, gates.gate, walk).label("turn_at")
    known = select(job_gates.c.turn_at).where(job_gates.c.job_type == _OF_TYPE, job_gates.c.gate == gates.gate)
    known_at = known.correlate(walk).scalar_subquery().label("known_at")
    found = select(_OF_TYPE.label("job_type"), gates.gate, first, known_at)
    return found.where(gates.steps > literal_column("0"), gates.gate.is_not(None)).order_by(gates.steps)


def _first_turn_from(job_type: ColumnElement[str], gate: ColumnElement[str], of: FromClause) -> ScalarSelect[Any]:
    """The turn of the first run from a gate on, which is that of the gate if runs wait there.

    Not of the gate alone: by statistics of a few gates SQLite would make an index of all runs for this one question.
    """
    columns = job_runs.c
    first = select(columns.turn_at).where(WAITING, columns.job_type == job_type, columns.gate >= gate)
    first = first.order_by(columns.gate, columns.turn_at, columns.run_at, columns.id).limit(literal_column("1"))
    return first.correlate(of).scalar_subquery()


def _walk(start: ColumnElement[str]) -> CTE:
    """So many gates behind which runs of a type wait, after the start: one step in the index of the claim for each."""
    columns = job_runs.c
    first = select(cast_as(start, columns.gate.type).label("gate"), literal_column("0").label("steps"))
    walk = first.cte("walk", recursive=True)
    following = (
        select(columns.gate)
        .where(WAITING, columns.job_type == _OF_TYPE, columns.gate > walk.c.gate)
        .order_by(columns.gate)
        .limit(literal_column("1"))
        .correlate(walk)
        .scalar_subquery()
    )
    step = select(following, walk.c.steps + literal_column("1"))
    return walk.union_all(step.where(walk.c.gate.is_not(None), walk.c.steps < _LIMIT))


def of_fair_types() -> Select[Any]:
    """Those gates of a list that are gates of fair types, with the turn of the first run behind each."""
    given = rows("given", GATES)
    first = _first_turn_from(given.c.job_type, given.c.gate, given)
    prefix = job_types.c.fair_by.concat(literal_column("' '"))
    is_its_gate = func.substr(given.c.gate, 1, func.length(prefix)) == prefix
    found = select(given.c.job_type, given.c.gate, first.label("turn_at"))
    return found.join_from(given, job_types, and_(job_types.c.job_type == given.c.job_type, is_its_gate))


def look_from() -> Update:
    """Note from which gate on the next claim of a type looks."""
    looked_to = bindparam("looked_to", type_=job_limits.c.looked_to.type)
    return update(job_limits).where(job_limits.c.job_type == _OF_TYPE).values(looked_to=looked_to)


def enter() -> Executable:
    """Note at the gates of a list, which are inserted if they do not exist, that runs wait from this turn on.

    A gate that nothing waited behind comes to the end of the line. One whose first run has a higher priority than those
    before it comes forward.
    """
    columns, given = job_gates.c, rows("given", {**GATES, "turn_at": UtcTime()})
    place = _place_of(given, now())
    # WHERE true, because without a WHERE SQLite reads the ON of ON CONFLICT as part of a join.
    source = select(given.c.job_type, given.c.gate, given.c.turn_at, place).where(true()).order_by(given.c.gate)
    insert = inserting(job_gates).from_select(["job_type", "gate", "turn_at", "place"], source)
    new = insert.excluded
    is_new = columns.turn_at.is_(None)
    first = case((or_(is_new, new.turn_at < columns.turn_at), new.turn_at), else_=columns.turn_at)
    is_before = or_(is_new, new.place < columns.place)
    statement: Executable = insert.on_conflict_do_update(
        index_elements=[columns.job_type, columns.gate],
        set_={"turn_at": first, "place": case((is_before, new.place), else_=columns.place)},
    )
    return statement


def _place_of(gates: Any, at: ColumnElement[Any]) -> ScalarSelect[Any]:
    """The place of a gate that comes into the line now: a minute further in front for each step of the priority."""
    columns = job_runs.c
    behind = select(place_in_line(at, columns.priority)).where(
        columns.job_type == gates.c.job_type, columns.gate == gates.c.gate, WAITING
    )
    behind = behind.order_by(columns.turn_at, columns.run_at, columns.id).limit(literal_column("1"))
    return behind.correlate(gates).scalar_subquery()


# The claim: the runs.


def line(of_family: bool) -> Select[Any]:
    """The open gates of a type in the order of the line. ``of_family``: see ``state_of_gate``."""
    columns = job_gates.c
    at_work, spent_until = state_of_gate(of_family)
    found = select(columns.gate, spent_until, at_work.label("at_work")).where(*are_open(at_work))
    return found.order_by(columns.place).limit(_LIMIT)


def first_runs(database: str) -> Select[Any]:
    """The most urgent runs behind each gate of a list, of each gate at most so many.

    Without LATERAL those behind one gate: a join would be planned by statistics of other gates.
    """
    due = job_gated.c
    behind = select(due.id, due.turn_at, due.run_at).where(fits(quarantined=False)).order_by(*_TURN).limit(_LIMIT)
    if not TRAITS[database].has_lateral:
        gate = bindparam("gate", type_=job_gates.c.gate.type)
        return behind.add_columns(due.gate).where(due.job_type == _OF_TYPE, due.gate == gate)
    given = rows("given", GATES)
    behind = behind.where(due.job_type == given.c.job_type, due.gate == given.c.gate)
    each = behind.correlate(given).lateral("behind")
    return select(given.c.gate, *each.c).select_from(given.join(each, true()))


def quarantined(of_family: bool) -> Select[Any]:
    """The quarantined runs of a type that are due behind its gates, with what is known about the gates."""
    columns, due = job_gates.c, job_gated.c
    found = select(due.id, due.gate, due.turn_at, due.run_at).where(
        due.job_type == _OF_TYPE, due.gate > literal_column("''"), fits(quarantined=True)
    )
    first = found.order_by(due.gate, *_TURN).limit(literal_column("100")).subquery("first")
    at_work, spent_until = state_of_gate(of_family)
    its_gate = and_(columns.job_type == _OF_TYPE, columns.gate == first.c.gate)
    listed = select(*first.c, spent_until, at_work.label("at_work")).join_from(first, job_gates, its_gate)
    return listed.where(*are_open(at_work)).limit(_LIMIT)


def settle() -> Update:
    """After a claim of a type: what waits behind these gates, and the state of their rates.

    Those that move come to the end of the line, also behind those that came there at the same instant.
    """
    columns, given = job_gates.c, rows("given", GATES | SPENT | {"moves": Integer()})
    at: ColumnElement[Any] = bindparam("at", type_=UtcTime())
    now_place = place_in_line(at, literal_column("0"))
    # A clock may have no more than milliseconds. What is further in front has a lower priority.
    last = (
        select(func.max(columns.place))
        .where(columns.job_type == _OF_TYPE, columns.turn_at.is_not(None), columns.place <= now_place + _SECOND)
        .scalar_subquery()
    )
    at_once = case((last > now_place, last - now_place), else_=literal_column("0"))
    end = _place_of(job_gates, at) + at_once + literal_column("1")
    place = case((given.c.moves == literal_column("1"), func.coalesce(end, columns.place)), else_=columns.place)
    its_row = and_(columns.job_type == given.c.job_type, columns.gate == given.c.gate)
    values = {"turn_at": first_turn(), "place": place, **spent(job_gates, given)}
    return update(job_gates).where(its_row).values(values)


# Questions.


def behind_gates() -> Select[Any]:
    """The due runs behind the gates of a type, up to a limit."""
    due = job_gated.c
    found = select(due.id).where(
        due.job_type == _OF_TYPE, due.gate > literal_column("''"), due.gate != literal_column("'after'")
    )
    return found.where(~is_type_paused(_OF_TYPE)).order_by(due.gate, *_TURN).limit(_LIMIT)


def others_in_line() -> Select[Any]:
    """So many other gates that runs of a type wait behind: whether each stands before a gate, and how many wait there.

    It is counted up to a ``share``.
    """
    gates, due, gate = job_gates.c, job_gated.c, bindparam("gate", type_=job_gates.c.gate.type)
    of_line = select(gates.place).where(gates.job_type == _OF_TYPE, gates.turn_at.is_not(None))
    walk = _walk(literal_column("''"))
    own = of_line.where(gates.gate == gate).scalar_subquery()
    its = of_line.where(gates.gate == walk.c.gate).correlate(walk).scalar_subquery()
    # As a range, as in _first_turn_from.
    its_runs = and_(due.gate >= walk.c.gate, due.gate <= walk.c.gate)
    some = select(due.id).where(due.job_type == _OF_TYPE, its_runs).correlate(walk)
    waiting = select(func.count()).select_from(some.limit(bindparam("share", type_=Integer)).subquery("some"))
    # A gate without a row comes in after those that have one.
    is_before = case((or_(own.is_(None), its < own), 1), else_=0)
    found = select(is_before.label("is_before"), waiting.correlate(walk).scalar_subquery().label("waiting"))
    is_other = walk.c.gate.not_in((literal_column("''"), literal_column("'after'"), gate))
    return found.where(walk.c.steps > literal_column("0"), is_other)
