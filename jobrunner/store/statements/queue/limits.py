"""Limits over all hosts: their locks, what a claim finds behind their gates, and how many runs are at work."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    CompoundSelect,
    Delete,
    Executable,
    Float,
    FromClause,
    Integer,
    ScalarSelect,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal_column,
    null,
    or_,
    select,
    union_all,
    update,
)

from jobrunner.lifecycle import QUARANTINE_AFTER_EXPIRIES
from jobrunner.store.schema import job_gates, job_limits, job_runs, job_set_limits
from jobrunner.store.schema.views import job_claimable, job_gated, job_open_gates
from jobrunner.store.sql.conditions import GATE_OF_LIMITS
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import key_of, later, now
from jobrunner.store.statements.queue.backpressure import WAITING
from jobrunner.store.statements.queue.dependants import IS_BEHIND_PARENTS
from jobrunner.store.statements.queue.gates import SPENT, spent
from jobrunner.store.statements.queue.holding import RUNNING
from jobrunner.store.statements.queue.set_limits import LIMITS as SET
from jobrunner.store.statements.queue.set_limits import has_ended, of_type_in_force, stands

_EITHER = [(False,), (True,)]
DECLARED = (
    "max_running", "rate", "burst", "concurrency_key", "max_running_per_key", "rate_per_key", "burst_per_key",
)  # fmt: skip
VARIANTS: dict[str, list[Any]] = {
    "admit": [(count,) for count in range(4)],
    "first_runs": _EITHER,
    "first_run_of_each": [*_EITHER, (False, True)],
}
_OF_TYPE: ColumnElement[str] = bindparam("of_type", type_=job_runs.c.job_type.type)
_TYPES = {"job_type": job_limits.c.job_type.type}


# The declared limits.


def declared() -> CompoundSelect[Any]:
    """The limits of all types, and for which of them something is set: whether that has ended. Else that is NULL."""
    names = [job_limits.c.job_type, *(job_limits.c[name] for name in DECLARED)]
    of_code = select(*names, literal_column("NULL", Integer).label("has_ended"))
    nothing = (null().label(name) for name in DECLARED)
    set_types = select(job_set_limits.c.job_type, *nothing, case((stands(), 0), else_=1))
    return union_all(of_code, set_types)


def declare() -> Executable:
    """Store the limits of a type. Returns whether what is set for it has ended."""
    columns = job_limits.c
    values: dict[str, Any] = {name: bindparam(f"new_{name}", type_=columns[name].type) for name in DECLARED}
    # Other limits may allow runs sooner: a claim must ask.
    changed = {**values, "opens_at": null(), "asked_at": null()}
    insert = inserting(job_limits).values(job_type=_OF_TYPE, **values)
    stored = insert.on_conflict_do_update(index_elements=[columns.job_type], set_=changed)
    statement: Executable = stored.returning(has_ended())
    return statement


def forget() -> Delete:
    """Delete the limits of a type."""
    return delete(job_limits).where(job_limits.c.job_type == _OF_TYPE)


def release() -> Update:
    """Take waiting runs of a type from behind their gates, up to a limit."""
    columns = job_runs.c
    behind = select(columns.id).where(
        columns.job_type == _OF_TYPE, columns.gate > literal_column("''"), ~IS_BEHIND_PARENTS, WAITING
    )
    picked = behind.limit(bindparam("limit", type_=Integer)).with_for_update(skip_locked=True, key_share=True)
    return set_gate(picked, literal_column("''")).returning(columns.id)


# The claim.


def lock() -> Update:
    """Lock the limits of these types, but for those that another claim has locked."""
    columns, given = job_limits.c, rows("given", _TYPES)
    free = select(columns.job_type).join_from(given, job_limits, columns.job_type == given.c.job_type)
    locked = free.with_for_update(of=job_limits, skip_locked=True, key_share=True).cte("free")
    change = update(job_limits).where(columns.job_type.in_(select(locked.c.job_type))).values(asked_at=now())
    return change.returning(*_looked_at())


def take() -> Executable:
    """Insert the row of a type if there is none, which locks it."""
    # Asked first, because ON CONFLICT waits for a claim that has changed the row.
    is_new = ~select(job_limits.c.job_type).where(job_limits.c.job_type == _OF_TYPE).exists()
    insert = inserting(job_limits).from_select(["job_type", "asked_at"], select(_OF_TYPE, now()).where(is_new))
    statement: Executable = insert.on_conflict_do_nothing().returning(*_looked_at())
    return statement


def _looked_at() -> list[ColumnElement[Any]]:
    columns = job_limits.c
    # What is set is read under the lock: who sets it has locked the row, too.
    of_operators = (of_type_in_force(name) for name in SET)
    named = (columns[name] for name in DECLARED)
    return [columns.job_type, columns.spent_until, columns.looked_to, now().label("now"), *named, *of_operators]


def admit(name_count: int) -> Update:
    """Put due runs of a type behind the gate of their key, or of the type, most urgent first.

    The names of the key's arguments are parameters, one by one and as a text. Without names there is one gate for all
    runs of the type.
    """
    due = job_claimable.c
    urgent = select(due.id).where(due.job_type == _OF_TYPE).order_by(due.turn_at, due.run_at, due.id)
    picked = urgent.limit(bindparam("limit", type_=Integer)).with_for_update(skip_locked=True, key_share=True)
    names = [bindparam(f"name_{index}", type_=Text()) for index in range(name_count)]
    gate = gate_of(*names) if names else literal_column("'all'")
    return set_gate(picked, gate).returning(job_runs.c.gate, job_runs.c.turn_at)


def gate_of(*names: ColumnElement[str]) -> ColumnElement[str]:
    """The gate of a run whose type is limited by these arguments: their names, and the values in its payload."""
    key: Any = bindparam("key", type_=Text())
    gate: ColumnElement[str] = key.concat(literal_column("' '")).concat(key_of(job_runs.c.payload, *names))
    return gate


def set_gate(picked: Select[Any], gate: ColumnElement[str]) -> Update:
    """Let waiting runs wait behind another gate."""
    found = picked.cte("picked")
    # The condition on the status fits no partial index, as in the claim.
    change = update(job_runs).where(job_runs.c.id.in_(select(found.c.id)), job_runs.c.status != RUNNING)
    return change.values(gate=gate)


def at_work() -> Select[Any]:
    """How many runs of each of these types are at work under a gate, on all hosts."""
    return _count_of_each(is_at_work())


def all_at_work() -> Select[Any]:
    """The same, with those that began behind no gate, before limits were set or by code that knows of none."""
    return _count_of_each(job_runs.c.status == RUNNING)


def _count_of_each(condition: ColumnElement[bool]) -> Select[Any]:
    columns, given = job_runs.c, rows("given", _TYPES)
    found = select(columns.job_type, func.count()).join_from(given, job_runs, columns.job_type == given.c.job_type)
    return found.where(condition).group_by(columns.job_type)


def is_at_work() -> ColumnElement[bool]:
    """Whether a run of a limited type is running, in the words of the index."""
    return and_(job_runs.c.lease_token.is_not(None), job_runs.c.gate != literal_column("''"))


def count_at_work(limits: FromClause) -> ColumnElement[int]:
    """How many runs of a type in ``job_limits_in_force`` are at work, as its limit counts them."""
    of_type = select(func.count()).where(job_runs.c.job_type == limits.c.job_type)
    counts = (
        of_type.where(each).correlate(limits).scalar_subquery() for each in (job_runs.c.status == RUNNING, is_at_work())
    )
    of_all, gated = counts
    return case((limits.c.is_set, of_all), else_=gated)


def is_of_limits() -> ColumnElement[bool]:
    """Whether a gate is one of those behind which the stored limits of its type put runs."""
    condition: ColumnElement[bool] = literal_column(f"({GATE_OF_LIMITS})", Boolean())
    return condition


def first_runs(quarantined: bool) -> Select[Any]:
    """The most urgent runs behind the only gate of a type, locked."""
    due = job_gated.c
    found = select(due.id).where(due.job_type == _OF_TYPE, due.gate == literal_column("'all'"), fits(quarantined))
    found = found.order_by(due.turn_at, due.run_at, due.id).limit(bindparam("limit", type_=Integer))
    return found.with_for_update(skip_locked=True, key_share=True)


def first_run_of_each(quarantined: bool, of_family: bool = False) -> Select[Any]:
    """The open gates of a type, most urgent first: the most urgent run behind each, and how many are at work under it.

    A gate with so many at work as ``most_at_work``, or whose rate does not allow a run yet, is not open. ``of_family``:
    see ``state_of_gate``.
    """
    columns, due = job_gates.c, job_gated.c
    at_work, spent_until = state_of_gate(of_family)
    first = select(due.id).where(due.job_type == columns.job_type, due.gate == columns.gate, fits(quarantined))
    first = first.order_by(due.turn_at, due.run_at, due.id).limit(1)
    run_id = first.correlate(job_gates).scalar_subquery()
    return (
        select(columns.gate, spent_until, at_work.label("at_work"), run_id.label("run_id"))
        # A claim takes one quarantined run: gates without any must not stand in front of its gate.
        .where(*are_open(at_work), *([run_id.is_not(None)] if quarantined else []))
        .order_by(columns.turn_at)
        .limit(bindparam("limit", type_=Integer))
    )


def are_open(at_work: ColumnElement[int]) -> list[ColumnElement[bool]]:
    """The conditions that a gate of ``job_gates`` is waited for and open: so many runs are at work under it."""
    columns, prefix = job_gates.c, bindparam("prefix", type_=Text())
    return [
        columns.job_type == _OF_TYPE,
        columns.turn_at.is_not(None),
        # Those of another key are not counted right. Housekeeping takes the runs from there.
        func.substr(columns.gate, 1, func.length(prefix)) == prefix,
        # Later than the rate can say: it was written before the clock stepped back, or by a slower rate.
        or_(
            columns.opens_at.is_(None),
            columns.opens_at <= now(),
            columns.opens_at > later(bindparam("longest", type_=Float)),
        ),
        at_work < bindparam("most_at_work", type_=Integer),
    ]


def state_of_gate(of_family: bool) -> tuple[ScalarSelect[int], ColumnElement[Any]]:
    """How many runs are at work under a gate of ``job_gates``, and up to when its rate is spent.

    ``of_family``: under the gates of this key of all names of a list, and the latest state of all of their rates.
    """
    columns = job_gates.c
    busy = select(func.count()).where(job_runs.c.gate == columns.gate, is_at_work())
    if not of_family:
        own = busy.where(job_runs.c.job_type == columns.job_type)
        return own.correlate(job_gates).scalar_subquery(), columns.spent_until
    names = select(rows("given", _TYPES).c.job_type)
    same = job_gates.alias("same")
    last = select(func.max(same.c.spent_until)).where(same.c.job_type.in_(names), same.c.gate == columns.gate)
    spent_until = last.correlate(job_gates).scalar_subquery().label("spent_until")
    return busy.where(job_runs.c.job_type.in_(names)).correlate(job_gates).scalar_subquery(), spent_until


def fits(quarantined: bool) -> ColumnElement[bool]:
    is_quarantined = job_gated.c.lease_expiries >= literal_column(str(QUARANTINE_AFTER_EXPIRIES))
    return is_quarantined if quarantined else ~is_quarantined


def settle_types() -> Update:
    """After a claim: the state of the rates of these types."""
    given = rows("given", _TYPES | SPENT)
    of_type = job_limits.c.job_type == given.c.job_type
    return update(job_limits).where(of_type).values(spent(job_limits, given))


# Questions.


def open_gates() -> Select[Any]:
    """The open gates of a type, up to a limit."""
    columns = job_open_gates.c
    found = select(columns.gate).where(columns.job_type == _OF_TYPE)
    return found.limit(bindparam("limit", type_=Integer))


def behind_open_gate() -> Select[Any]:
    """The runs behind the only gate of a type, up to a limit, if it is open."""
    columns, due = job_open_gates.c, job_gated.c
    is_open = select(columns.gate).where(columns.job_type == _OF_TYPE).exists()
    found = select(due.id).where(due.job_type == _OF_TYPE, due.gate == literal_column("'all'"), is_open)
    # In the order of the index, as for the plain question.
    return found.order_by(due.turn_at, due.run_at, due.id).limit(bindparam("limit", type_=Integer))
