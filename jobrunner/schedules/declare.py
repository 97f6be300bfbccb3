"""Checks the schedules that code, the file or a command declares, by the same rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from jobrunner.durations import Duration
from jobrunner.errors import UsageError
from jobrunner.jobs.payload import check_match, check_payload
from jobrunner.jobs.payload_limits import DEFAULT_LIMIT_BYTES
from jobrunner.jobs.policy import Encode
from jobrunner.model import Declaration, Definition, Source
from jobrunner.names import check_job_type
from jobrunner.schedules.options import OPTIONS
from jobrunner.schedules.policy import check_fits, make_slot_policy
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.text import storable, visible

LONGEST_DESCRIPTION = 1000


@dataclass(frozen=True)
class Schedule:
    """When a job type runs: ``@job("report", schedule=Schedule("0 2 * * *", "Europe/Berlin"))``.

    ``expression`` is five fields as in a crontab, or ``every 10m``. Each run gets ``payload``. ``name`` is the job type
    by default; if a handler has several schedules, each needs a name, by which ``jobrunner apply`` recognizes it.
    ``renamed_from`` is the previous name, so that the history stays. ``misfire`` ("latest", "skip", "all"),
    ``misfire_window`` and ``misfire_most`` decide which missed slots get a run. ``overlap`` ("skip", "queue", "allow",
    "replace") decides what happens at a slot while a run is unfinished. A run that has not started ``start_deadline``
    after it was due is dead. ``jitter`` spreads the starts. There are no slots after ``ends_at`` (an aware datetime),
    nor after ``max_runs`` runs. ``on="every-host"`` gives a slot a run on each host that has the type.
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
    on: str | None = None


Schedules: TypeAlias = str | Schedule | Sequence[Schedule]
"""A cron expression, a ``Schedule``, or several of these."""


def declare(
    schedule: Schedule,
    job_type: str,
    source: Source,
    *,
    payload_limit: int = DEFAULT_LIMIT_BYTES,
    formerly: Sequence[str] = (),
) -> Declaration:
    """The checked declaration of a schedule. Raises UsageError, whose one line says how to correct it.

    ``formerly`` are the former names of the job type.
    """
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
        former_names=tuple(map(check_name, formerly)) if schedule.name is None else (),
    )
    check(declaration, payload_limit)
    return declaration


def check(declared: Declaration | Definition, payload_limit: int = DEFAULT_LIMIT_BYTES) -> Recurrence:
    """Check a declaration or a row, and return its recurrence. Raises UsageError, whose one line says the remedy."""
    check_name(declared.name)
    recurrence = Recurrence.parse(declared.schedule, declared.timezone)
    check_job_type(declared.job_type)
    check_payload(declared.payload, payload_limit)
    check_description(declared.description)
    check_fits(declared.policy, recurrence)
    return recurrence


def declare_all(
    schedules: Schedules, timezone: str | None, job_type: str, encode: Encode, formerly: Sequence[str] = ()
) -> tuple[Declaration, ...]:
    """The declarations of one handler's schedules; ``encode`` makes their payloads. Raises UsageError."""
    if isinstance(schedules, str):
        schedules = Schedule(schedules, "UTC" if timezone is None else timezone)
    elif timezone is not None:
        raise UsageError(
            "timezone= belongs to a schedule= that is text; give it to the Schedule, as its second argument"
        )
    listed = [schedules] if isinstance(schedules, Schedule) else schedules
    if not isinstance(listed, list | tuple) or not all(isinstance(each, Schedule) for each in listed):
        raise UsageError("schedule= must be a text such as '0 2 * * *', a Schedule, or a list of Schedules")
    if len(listed) > 1 and any(each.name is None for each in listed):
        raise UsageError("several schedules of one handler need names; write Schedule(..., name='...') in each")
    declared = tuple(_named(each, job_type, encode, formerly) for each in listed)
    names = [each.name for each in declared]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two of them are named {repeated!r}; rename one")
    return declared


def _named(schedule: Schedule, job_type: str, encode: Encode, formerly: Sequence[str]) -> Declaration:
    try:
        declaration = declare(replace(schedule, payload=None), job_type, "code", formerly=formerly)
        arguments = {} if schedule.payload is None else schedule.payload
        # Only the host that applies the schedule knows the limit of a payload, and checks it then.
        payload = check_payload(check_match(job_type, encode, arguments), 2**62)
    except UsageError as error:
        named = "" if schedule.name is None else f"{str(schedule.name)[:60]!r}: "
        raise UsageError(f"{named}{error}") from None
    return declaration._replace(payload=payload)


def as_data(declaration: Declaration) -> dict[str, Any]:
    """The declaration as JSON data, in which a child sends it to the parent."""
    data: dict[str, Any] = {name: getattr(declaration.policy, name) for name in OPTIONS}
    for name, value in data.items():
        if isinstance(value, timedelta):
            data[name] = value.total_seconds()
        elif isinstance(value, datetime):
            data[name] = value.isoformat()
    same = ("name", "job_type", "timezone", "payload", "description", "renamed_from", "former_names")
    return {**data, **{name: getattr(declaration, name) for name in same}, "expression": declaration.schedule}


def from_data(data: Mapping[str, Any], *, payload_limit: int = DEFAULT_LIMIT_BYTES) -> Declaration:
    """Rebuild a declaration from ``as_data``, checked anew: it is written into the database.

    Raises UsageError, and TypeError, KeyError or ValueError for what no child of ours has sent.
    """
    options = dict(data)
    job_type, former = options.pop("job_type"), options.pop("former_names")
    declared = declare(Schedule(**options), job_type, "code", payload_limit=payload_limit)
    return declared._replace(former_names=tuple(map(check_name, former)))


def check_name(name: str) -> str:
    """Return the name if a schedule can have it; raise UsageError otherwise."""
    # Somebody must be able to tell names apart in a list, and to type one for `remove`.
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or visible(name) != name:
        raise UsageError("the name of a schedule has 1 to 200 characters, none of them invisible")
    return name


def check_description(text: str | None) -> str | None:
    """Return the description if a schedule can have it; raise UsageError otherwise."""
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > LONGEST_DESCRIPTION or storable(text) != text:
        raise UsageError(f"the description of a schedule is a text of up to {LONGEST_DESCRIPTION} characters")
    return text
