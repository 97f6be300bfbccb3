"""What somebody says of when a job type runs by itself, checked: the same rules for code and for the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from jobrunner.durations import Duration
from jobrunner.errors import UsageError
from jobrunner.jobs.payload import DEFAULT_LIMIT_BYTES, check_match, check_payload
from jobrunner.model import Declaration, Definition, Source
from jobrunner.names import check_job_type
from jobrunner.schedules.options import OPTIONS
from jobrunner.schedules.policy import check_fits, make_slot_policy
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.text import storable, visible

LONGEST_DESCRIPTION = 1000


@dataclass(frozen=True)
class Schedule:
    """When a job type runs by itself: ``@job("report", schedule=Schedule("0 2 * * *", "Europe/Berlin"))``.

    ``expression`` is what a crontab has, or ``every 10m``. ``payload`` goes into each run. ``name`` is the job type
    unless it is given; several schedules of one handler each need theirs, and ``jobrunner apply`` knows them by it.
    ``renamed_from`` is the name before, so that its history stays. ``misfire`` ("latest", "skip", "all"), its
    ``misfire_window`` and ``misfire_most`` say what becomes of slots that were missed, ``overlap`` ("skip", "queue",
    "allow", "replace") of those that meet an unfinished run. A run that has not begun ``start_deadline`` after its slot
    is dead. ``jitter`` spreads the starts. There are no slots after ``ends_at`` (an aware datetime), nor after
    ``max_runs`` runs.
    """

    expression: str
    timezone: str = "UTC"
    _: KW_ONLY
    payload: Mapping[str, Any] | None = None
    name: str | None = None
    description: str | None = None
    renamed_from: str | None = None
    misfire: str | None = None
    misfire_window: Duration | None = None
    misfire_most: int | None = None
    overlap: str | None = None
    start_deadline: Duration | None = None
    jitter: Duration | None = None
    ends_at: datetime | str | None = None
    max_runs: int | None = None


Schedules: TypeAlias = str | Schedule | Sequence[Schedule]


def declare(
    schedule: Schedule, job_type: str, source: Source, *, payload_limit: int = DEFAULT_LIMIT_BYTES
) -> Declaration:
    """What a definition of this schedule is to be. Raises UsageError: one line that says what would be right."""
    if not isinstance(schedule.expression, str) or not isinstance(schedule.timezone, str):
        raise UsageError("the expression and the time zone of a schedule must be texts")
    recurrence = Recurrence.parse(schedule.expression, schedule.timezone)
    options = {name: value for name in OPTIONS if (value := getattr(schedule, name)) is not None}
    declaration = Declaration(
        name=job_type if schedule.name is None else schedule.name,
        job_type=job_type,
        schedule=recurrence.expression,
        timezone=recurrence.timezone,
        payload=check_payload({} if schedule.payload is None else schedule.payload, payload_limit),
        source=source,
        policy=make_slot_policy(**options),
        description=schedule.description,
        renamed_from=None if schedule.renamed_from is None else check_name(schedule.renamed_from),
    )
    check(declaration, payload_limit)
    return declaration


def check(said: Declaration | Definition, payload_limit: int = DEFAULT_LIMIT_BYTES) -> Recurrence:
    """When it fires, if all of it can be said of a schedule: the same rules for a command, code, the file and a row.

    Raises UsageError: one line that says what would be right.
    """
    check_name(said.name)
    recurrence = Recurrence.parse(said.schedule, said.timezone)
    check_job_type(said.job_type)
    check_payload(said.payload, payload_limit)
    check_description(said.description)
    check_fits(said.policy, recurrence)
    return recurrence


def declare_all(
    schedules: Schedules, timezone: str | None, job_type: str, check: Callable[[Mapping[str, Any]], None]
) -> tuple[Declaration, ...]:
    """What a handler says of its schedules. ``timezone`` stands beside a text; ``check`` is asked of each payload.

    Raises UsageError.
    """
    if isinstance(schedules, str):
        schedules = Schedule(schedules, "UTC" if timezone is None else timezone)
    elif timezone is not None:
        raise UsageError("timezone= stands beside schedule= as text; give a Schedule its own, as its second argument")
    listed = [schedules] if isinstance(schedules, Schedule) else schedules
    if not isinstance(listed, list | tuple) or not all(isinstance(each, Schedule) for each in listed):
        raise UsageError("schedule= must be a text such as '0 2 * * *', a Schedule, or a list of Schedules")
    if len(listed) > 1 and any(each.name is None for each in listed):
        raise UsageError("several schedules of one handler need names; write Schedule(..., name='...') in each")
    declared = tuple(_named(each, job_type, check) for each in listed)
    names = [each.name for each in declared]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two of them are named {repeated!r}; rename one")
    return declared


def _named(schedule: Schedule, job_type: str, check: Callable[[Mapping[str, Any]], None]) -> Declaration:
    try:
        # How large a payload may be is known to the host that applies it.
        declaration = declare(schedule, job_type, "code", payload_limit=2**62)
        check_match(job_type, check, declaration.payload)
    except UsageError as error:
        named = "" if schedule.name is None else f"{str(schedule.name)[:60]!r}: "
        raise UsageError(f"{named}{error}") from None
    return declaration


def as_data(declaration: Declaration) -> dict[str, Any]:
    """Plain JSON data: a child sends its schedules to the parent with this."""
    data: dict[str, Any] = {name: getattr(declaration.policy, name) for name in OPTIONS}
    for name, value in data.items():
        if isinstance(value, timedelta):
            data[name] = value.total_seconds()
        elif isinstance(value, datetime):
            data[name] = value.isoformat()
    same = ("name", "job_type", "timezone", "payload", "description", "renamed_from")
    return {**data, **{name: getattr(declaration, name) for name in same}, "expression": declaration.schedule}


def from_data(data: Mapping[str, Any], *, payload_limit: int = DEFAULT_LIMIT_BYTES) -> Declaration:
    """Rebuild a declaration from ``as_data``, checked anew: it is written into the database.

    Raises UsageError, and TypeError, KeyError or ValueError for what no child of ours has sent.
    """
    options = dict(data)
    job_type = options.pop("job_type")
    return declare(Schedule(**options), job_type, "code", payload_limit=payload_limit)


def check_name(name: str) -> str:
    """Return what can be the name of a schedule, or raise UsageError."""
    # What cannot be seen or typed can be neither told apart in a list nor given to `remove`.
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or visible(name) != name:
        raise UsageError("the name of a schedule has 1 to 200 characters, none of them invisible")
    return name


def check_description(text: str | None) -> str | None:
    """Return what can be the description of a schedule, or raise UsageError."""
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > LONGEST_DESCRIPTION or storable(text) != text:
        raise UsageError(f"the description of a schedule is a text of up to {LONGEST_DESCRIPTION} characters")
    return text
