"""How long the successful attempts of each type took and how much memory they had, by the tallies: for ``health``."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Float, Select, Text, bindparam, cast, func, literal_column, or_, select

from jobrunner.store.schema import job_tallies
from jobrunner.store.sql.dialect.counting import hour_of
from jobrunner.store.sql.dialect.rows import rows
from jobrunner.store.sql.dialect.values import BigKey, after, now

VARIANTS: dict[str, list[tuple[Any, ...]]] = {
    "sums": [("hour", False), ("hour", True), ("day", True)],
}


def sums(span: str, has_given: bool) -> Select[Any]:
    """The tallies of successful attempts by the hour or by the day, of each type that has so many, and any of which
    took so long or had so much memory. Perhaps only of a list of types. The seconds ``since`` and ``before`` count from
    the begin of this hour.

    Attempts that are in no tally yet are left out, so that it reads no attempts. The histograms are lists of JSON,
    without the brackets around them.
    """
    columns = job_tallies.c
    conditions = [
        # The index begins with these two.
        columns.span == literal_column(f"'{span}'"),
        columns.at >= after(hour_of(now()), bindparam("since", type_=Float(53))),
        columns.at < after(hour_of(now()), bindparam("before", type_=Float(53))),
        columns.outcome == literal_column("'succeeded'"),
    ]
    if has_given:
        given = rows("given", {"job_type": job_tallies.c.job_type.type})
        conditions.append(columns.job_type.in_(select(given.c.job_type)))
    ends = func.sum(columns.ends)
    longest, largest = func.max(columns.longest_run), func.max(columns.most_memory)
    is_much = or_(
        longest >= bindparam("seconds", type_=Float(53)),
        largest >= bindparam("memory_bytes", type_=BigKey),
    )
    texts = (func.aggregate_strings(cast(columns[name], Text), ",").label(name) for name in ("runs", "memories"))
    return (
        select(columns.job_type, longest.label("longest_run"), largest.label("most_memory"), *texts)
        .where(*conditions)
        .group_by(columns.job_type)
        .having(ends >= bindparam("least", type_=BigKey), is_much)
    )
