"""The options of a run: one row for each, with its type, its check, its words and its default.

A row is the annotation of a key of a TypedDict, so that type checkers read the same table in ``**options:
Unpack[RunOptions]``. Everything else is made from it: the options of ``jobrunner enqueue``, the parameters of the SQL
function ``jobrunner_enqueue`` with their checks, and the tables in docs/reference/enqueue.md.
"""
# Not "from __future__ import annotations": the annotations are the table.

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple, TypedDict, get_args

from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError, WrongOption
from jobrunner.jobs.options import Number, OneOf, Row, parse_timeout, rows_of
from jobrunner.jobs.parents import After, parent_ids
from jobrunner.model import OnParentFailure, Taken
from jobrunner.renamed import new_name
from jobrunner.text import nearest, storable


class Text(NamedTuple):
    """A text that both databases can hold."""

    most: int

    def check(self, name: str, value: object) -> str:
        """The text."""
        if not isinstance(value, str):
            raise WrongOption(name, f"must be text, not {type(value).__name__}")
        if not 1 <= len(value) <= self.most:
            raise WrongOption(name, f"must have 1 to {self.most} characters")
        if storable(value) != value:
            raise WrongOption(name, "holds a NUL character or a lone surrogate")
        return value


class Time:
    """An aware datetime, or a timedelta from now."""

    def check(self, name: str, value: object) -> datetime | timedelta:
        """The time."""
        if isinstance(value, timedelta):
            parse_duration(value)
            return value
        if not isinstance(value, datetime):
            raise WrongOption(
                name, f"is of type {type(value).__name__}; give an aware datetime, or a timedelta from now"
            )
        if value.tzinfo is None:
            raise WrongOption(name, "has no time zone; write 2026-01-31T09:00:00Z or with an offset such as +01:00")
        # At the ends of the calendar a change of the time zone would give a year that Python cannot represent.
        if not 1970 <= value.year <= 9000:
            raise WrongOption(name, f"is in the year {value.year}; it must lie between 1970 and 9000")
        return value


class Limit:
    """A duration, or "none"."""

    def check(self, name: str, value: Duration) -> timedelta:
        """The duration. No limit is stored as zero."""
        return parse_timeout(value) or timedelta(0)


class Span:
    """A duration that is not zero."""

    def check(self, name: str, value: Duration) -> timedelta:
        """The duration."""
        span = parse_duration(value)
        if not span:
            raise WrongOption(name, "must be longer than 0; leave it out for no limit")
        return span


class Runs:
    """The ids of runs."""

    def check(self, name: str, value: After) -> tuple[int, ...]:
        """The ids."""
        return parent_ids(value)


PRIORITY = Number(-1000, 1000)


class ManyOptions(TypedDict, total=False):
    """The options of ``enqueue_many``, for all of its runs. None in place of any value: as if it were not given."""

    run_at: Annotated[datetime | timedelta | None, Row(Time(), "The earliest start", absent="now")]
    priority: Annotated[
        int | None,
        Row(PRIORITY, "-1000 to 1000: each step counts like a minute of waiting", 0),
    ]
    max_attempts: Annotated[
        int | None, Row(Number(1, 1000), "Attempts before the run is dead", absent="the job type's")
    ]
    timeout: Annotated[
        Duration | None, Row(Limit(), 'The limit of each attempt; "none" for no limit', absent="the job type's")
    ]
    expires: Annotated[
        Duration | None,
        Row(Span(), "How long after its run_at an attempt may begin; then the run is dead", absent="never"),
    ]
    if_taken: Annotated[
        Taken | None,
        Row(
            OneOf(get_args(Taken)),
            "If the key is taken: answer with the run that has it, fail, or replace the payload and the time of that"
            " run if it was never begun",
            "existing",
        ),
    ]


class EntryOptions(ManyOptions, total=False):
    """The options of an ``Entry``. None: the option of the call."""

    key: Annotated[
        str | None,
        Row(Text(500), "Idempotency key: one run per job type and key, for as long as the type says"),
    ]


class RunOptions(EntryOptions, total=False):
    """The options of one run. None in place of any value: as if it were not given."""

    after: Annotated[After | None, Row(Runs(), "Wait until this run has ended, or each of several")]
    if_parent_fails: Annotated[
        OnParentFailure | None,
        Row(OneOf(get_args(OnParentFailure)), "What to do if a run of `after` ends dead or cancelled", "cancel"),
    ]


OF_MANY, OF_ENTRY, OF_RUN = rows_of(ManyOptions), rows_of(EntryOptions), rows_of(RunOptions)
"""By name, in the order in which they are documented."""
_OF_CALL = ("if_taken", "after", "if_parent_fails")
_NAMED = {"key": "idempotency_key", "expires": "start_deadline_at"}
COLUMNS = {name: _NAMED.get(name, name) for name in OF_RUN if name not in _OF_CALL}
"""The column of the run that an option is. The others say what the enqueue does."""
ADDED = ("expires",)
"""Options that came after the first release. In SQL they stand after the others: a call by position means the same.

Their columns are written only if one is given: the role of an application may not have the right to write them yet.
"""


def check_names(given: Iterable[str], rows: Mapping[str, Row]) -> None:
    """Raise UsageError for the first name that is none of these options."""
    for name in given:
        if name in rows:
            continue
        if new := new_name("parameter", name):
            raise UsageError(f"{name} is now {new}; write {new}")
        if name in OF_RUN:
            raise UsageError(f"{name} is no option here; there are: {', '.join(rows)}")
        near = nearest(name, rows)
        hint = f"there are: {', '.join(rows)}" if near is None else f"did you mean {near}?"
        raise UsageError(f"{name} is not an option of a run; {hint}")


def checked(given: Mapping[str, Any], rows: Mapping[str, Row] = OF_RUN) -> dict[str, Any]:
    """All of these options, each with its value as it is kept or with its default. Raises UsageError."""
    check_names(given, rows)
    return {
        name: row.default if (value := given.get(name)) is None else row.check(name, value)
        for name, row in rows.items()
    }
