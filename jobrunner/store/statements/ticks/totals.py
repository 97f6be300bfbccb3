"""The totals of all ends: of hours and days that are over, and with what is in none of them yet."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    FromClause,
    Integer,
    Select,
    Update,
    and_,
    cast,
    literal_column,
    null,
    select,
    union_all,
    update,
)

from jobrunner.store.schema import job_tallies, job_totals
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.statements import inserting
from jobrunner.store.sql.dialect.values import now
from jobrunner.store.statements.ticks.tallies import KEY, LONGEST, SUMS, ZERO, not_counted


def begin() -> Any:
    """Insert totals of nothing where there are none yet."""
    given = rows("given", KEY)
    empty = literal_column("'[]'", type_=job_totals.c.waits.type)
    values = {name: given.c[name] for name in KEY} | {
        "ends": literal_column("0"),
        "waited": ZERO,
        "ran": ZERO,
        "waits": empty,
        "runs": empty,
        "updated_at": now(),
    }
    # SQLite cannot tell ON CONFLICT from a join without a WHERE.
    found = select(*values.values()).select_from(given).where(literal_column("1 = 1"))
    return inserting(job_totals).from_select(list(values), found).on_conflict_do_nothing()


def some() -> Select[Any]:
    """Lock the totals of a list, in one order for all who do."""
    columns, given = job_totals.c, rows("given", KEY)
    return (
        select(*(columns[name] for name in (*KEY, *SUMS)))
        .join_from(given, job_totals, _is_of(given))
        .order_by(columns.job_type, columns.outcome, columns.status)
        .with_for_update(of=job_totals)
    )


def write() -> Update:
    """Write totals."""
    given = rows("given", KEY | SUMS)
    return (
        update(job_totals).where(_is_of(given)).values({**{name: given.c[name] for name in SUMS}, "updated_at": now()})
    )


def _is_of(given: FromClause) -> ColumnElement[bool]:
    return and_(*(job_totals.c[name] == given.c[name] for name in KEY))


def every_end() -> CompoundSelect[Any]:
    """All ends ever, in one statement, so that none is missed or counted twice while another transaction counts."""
    new, live = job_tallies.c, not_counted()
    longest = LONGEST
    no_bin = cast(null(), Integer)
    return union_all(
        select(
            *(job_totals.c[name] for name in (*KEY, *SUMS)),
            *(ZERO.label(name) for name in longest),
            no_bin.label("wait_bin"),
            no_bin.label("run_bin"),
        ),
        select(*(new[name] for name in (*KEY, *SUMS, *longest)), no_bin, no_bin).where(
            new.is_in_totals == literal_column("0")
        ),
        select(
            *(live[name] for name in (*KEY, "ends", "waited", "ran")),
            *(cast(null(), new[name].type) for name in ("waits", "runs")),
            *(live[name] for name in longest),
            live.wait_bin,
            live.run_bin,
        ),
    )
