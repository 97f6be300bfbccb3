"""The due runs of a list of job types, in one statement whatever its length, so that it is planned once.

With a part of its own for each type a claim of 500 types took half a second on PostgreSQL, and SQLite refuses so many.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Integer, Select, bindparam, func, literal_column, select, true

from jobrunner.store.schema import job_runs
from jobrunner.store.schema.views import job_claimable
from jobrunner.store.sql.dialect.rows import Columns
from jobrunner.store.sql.traits import TRAITS

_MOST = {"job_type": job_runs.c.job_type.type, "most": Integer()}
_SINCE = {"since": job_runs.c.turn_at.type}
MOST_OF_ALL: ColumnElement[int] = bindparam("limit", type_=Integer)
_EVER: ColumnElement[datetime] = literal_column("CAST('-infinity' AS TIMESTAMP WITH TIME ZONE)")


def columns_of(database: str) -> Columns:
    """The columns of such a list: of each type at most so many runs, whose turn is not before ``since``; NULL: of all.

    A database that keeps no dead entries looks at all.
    """
    return _MOST | _SINCE if TRAITS[database].keeps_dead_entries else _MOST


def due_of(given: FromClause, database: str, *conditions: ColumnElement[bool], locks: bool = False) -> Select[Any]:
    """Select ``id``, ``turn_at`` and ``run_at`` of due runs, of each type the most urgent ones, and all of ``given``.

    ``locks``: lock them, and pass over those that another transaction has locked.
    """
    due = job_claimable.c
    if TRAITS[database].keeps_dead_entries:
        conditions = (*conditions, due.turn_at >= func.coalesce(given.c.since, _EVER))
    # In the order of the claim's index. Otherwise the planner may scan all runs and expect to find enough soon.
    urgent_first = (due.turn_at, due.run_at, due.id)
    of_type = (
        select(due.id, due.turn_at, due.run_at)
        .where(due.job_type == given.c.job_type, *conditions)
        .order_by(*urgent_first)
        .correlate(given)
    )
    if TRAITS[database].has_lateral:
        of_type = of_type.limit(given.c.most)
        # FOR NO KEY UPDATE does not wait for a transaction that inserts a row which refers to the run.
        each = (of_type.with_for_update(skip_locked=True, key_share=True) if locks else of_type).lateral("of_type")
        return select(each.c.id, each.c.turn_at, each.c.run_at, *given.c).select_from(given.join(each, true()))
    # A LIMIT cannot name a column here. So as many of each type are looked at as of all of them together.
    columns = job_runs.c
    first = columns.id.in_(of_type.with_only_columns(due.id).limit(MOST_OF_ALL))
    in_turn = func.row_number().over(
        partition_by=columns.job_type, order_by=(columns.turn_at, columns.run_at, columns.id)
    )
    looked = select(columns.id, columns.turn_at, columns.run_at, *given.c, in_turn.label("number"))
    found = looked.select_from(given.join(job_runs, first)).where(given.c.most > 0).subquery("of_type")
    return select(*(each for each in found.c if each.key != "number")).where(found.c.number <= found.c.most)
