"""The waiting runs that no claim would see: behind gates where none looks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Integer,
    Select,
    Update,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    select,
    text,
    true,
    update,
)

from jobrunner.store.schema import job_gates, job_parents, job_runs
from jobrunner.store.schema.views import job_stray_dependants, job_stray_gates, job_waited_gates
from jobrunner.store.sql.conditions import BEHIND_GATE
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.traits import EACH_DATABASE, TRAITS
from jobrunner.store.statements.queue.backpressure import WAITING
from jobrunner.store.statements.queue.dependants import IS_BEHIND_PARENTS
from jobrunner.store.statements.queue.gates import GATES, first_turn
from jobrunner.store.statements.queue.limits import set_gate

_EITHER = [(False,), (True,)]
VARIANTS: dict[str, list[Any]] = {
    "gates": _EITHER,
    "dependants": _EITHER,
    "free": EACH_DATABASE,
}
_LIMIT = bindparam("limit", type_=Integer)
_IS_BEHIND_GATE = text(BEHIND_GATE)
# Not EXISTS, for which the planner could read the parents of all runs.
_FIRST_PARENT = select(job_parents.c.run_id).where(job_parents.c.run_id == job_runs.c.id).limit(literal_column("1"))
_HAS_PARENTS = _FIRST_PARENT.correlate(job_runs).scalar_subquery().is_not(None)
_RIGHT_GATE = case((_HAS_PARENTS, literal_column("'after'")), else_=literal_column("''"))
"""Where a run waits until a claim meets it, whatever gate it is behind."""


def gates(every: bool) -> Select[Any]:
    """The gates that runs wait behind and no claim looks behind, among the first with waiting runs or ``every`` one."""
    if not every:
        return select(job_stray_gates.c.job_type, job_stray_gates.c.gate)
    columns = job_waited_gates.c
    return select(columns.job_type, columns.gate).where(~columns.is_seen)


def dependants(every: bool) -> Select[Any]:
    """The runs behind the gate of those that wait for others that wait for none, among the first, or ``every`` one."""
    if not every:
        return select(job_stray_dependants.c.id)
    return select(job_runs.c.id).where(WAITING, _IS_BEHIND_GATE, IS_BEHIND_PARENTS, ~_HAS_PARENTS)


def is_any_behind() -> Select[Any]:
    """Whether a run waits behind any gate."""
    columns = job_runs.c
    # The first one of the index. EXISTS would let the planner scan all runs in the hope of one.
    first = (
        select(columns.gate)
        .where(WAITING, _IS_BEHIND_GATE)
        .order_by(columns.gate, columns.id)
        .limit(literal_column("1"))
    )
    return select(first.scalar_subquery().is_not(None).label("is_any_behind"))


def free(database: str) -> Update:
    """Take waiting runs from behind gates of a list, up to a limit: to their parents if they have any."""
    columns, given = job_runs.c, rows("given", GATES)
    is_behind = and_(columns.job_type == given.c.job_type, columns.gate == given.c.gate)
    if not TRAITS[database].has_lateral:
        found = select(columns.id).join_from(given, job_runs, is_behind).where(WAITING)
    else:
        # For each gate one search in the index of the claim. A join could read all that waits.
        behind = select(columns.id).where(is_behind, WAITING).limit(_LIMIT).correlate(given)
        each = behind.with_for_update(skip_locked=True, key_share=True).lateral("behind")
        found = select(each.c.id).select_from(given.join(each, true()))
    return set_gate(found.limit(_LIMIT), _RIGHT_GATE).returning(columns.id)


def free_dependants() -> Update:
    """Take runs of a list from behind the gate of those that wait for others, unless they do."""
    columns, given = job_runs.c, rows("given", {"id": job_runs.c.id.type})
    found = select(columns.id).join_from(given, job_runs, columns.id == given.c.id)
    # In these words no partial index offers itself, which would be read to its end.
    is_behind = func.coalesce(columns.gate, literal_column("''")) == literal_column("'after'")
    found = found.where(columns.finished_at.is_(None), columns.lease_token.is_(None), is_behind, ~_HAS_PARENTS)
    found = found.with_for_update(of=job_runs, skip_locked=True, key_share=True)
    return set_gate(found, literal_column("''")).returning(columns.id)


def settle() -> Update:
    """Note what waits behind gates of a list now. Passes over gates that a claim has locked, and waits for none."""
    columns, given = job_gates.c, rows("given", GATES)
    its_row = and_(columns.job_type == given.c.job_type, columns.gate == given.c.gate)
    found = select(columns.job_type, columns.gate).join_from(given, job_gates, its_row)
    free_rows = found.with_for_update(of=job_gates, skip_locked=True).cte("found")
    change = update(job_gates).where(columns.job_type == free_rows.c.job_type, columns.gate == free_rows.c.gate)
    return change.values(turn_at=first_turn())
