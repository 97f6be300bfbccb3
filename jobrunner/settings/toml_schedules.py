"""Reads the schedules of ``jobrunner.toml``.

Every tick reads the file but does not use its schedules, so it checks only their keys and types. ``declarations``
checks their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobrunner.errors import ConfigurationError, JobrunnerError
from jobrunner.schedules.options import OPTIONS
from jobrunner.settings.toml_reader import TableReader

if TYPE_CHECKING:
    from jobrunner.model import Declaration

# None: any type; ``OPTIONS`` checks the value.
_KEYS: dict[str, type[Any] | None] = {"timezone": str, "payload": dict, "description": str, "renamed_from": str}
_KEYS |= {name: {"choice": str, "number": int}.get(option.kind) for name, option in OPTIONS.items()}
_EXPRESSION_HINT = 'schedule = "0 2 * * *"'


@dataclass(frozen=True, slots=True)
class FiledSchedule:
    """A schedule of the file, at the key ``where``. Its keys are checked, its values not yet.

    ``formerly`` are the former names of the job type in whose table it is.
    """

    where: str
    job_type: str
    expression: str
    options: Mapping[str, Any]
    formerly: Sequence[str] = ()


def schedule_of(where: str, job_type: str, reader: TableReader, formerly: Sequence[str] = ()) -> FiledSchedule | None:
    """The schedule in the table of a job or of a schedule; None if there is none."""
    expression = reader.take("schedule", str)
    options = {
        key: value
        for key, kind in _KEYS.items()
        if (value := reader.take_any(key) if kind is None else reader.take(key, kind)) is not None
    }
    if expression is not None:
        return FiledSchedule(where, job_type, expression, options, formerly)
    if options:
        # The key `schedule` may be misspelt; this reports it.
        reader.close()
        raise reader.wrong(next(iter(options)), f"belongs to a schedule, and there is none; add {_EXPRESSION_HINT}")
    return None


def named_schedule(name: str, reader: TableReader) -> FiledSchedule:
    """The schedule in a table under ``schedules``."""
    job_type = reader.take("job", str)
    if job_type is None:
        raise reader.wrong("job", 'is missing; write the job type to run, e.g. job = "send_weekly_report"')
    schedule = schedule_of(f"schedules.{name}", job_type, reader)
    if schedule is None:
        raise reader.wrong("schedule", f"is missing; write {_EXPRESSION_HINT}")
    return schedule


def declarations(path: Path, schedules: Mapping[str, FiledSchedule], payload_limit: int) -> list[Declaration]:
    """Check the schedules of the file. Raises ConfigurationError naming the file and the key."""
    from jobrunner.schedules.declare import Schedule, declare

    declared = []
    for name, filed in schedules.items():
        try:
            schedule = Schedule(filed.expression, name=name, **filed.options)
            declaration = declare(schedule, filed.job_type, "file", payload_limit=payload_limit)
            declared.append(declaration._replace(former_names=tuple(filed.formerly)))
        except JobrunnerError as error:
            raise ConfigurationError(f"{path}: {filed.where}: {error}") from None
    return declared
