"""Converts an entry of Celery's beat_schedule. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrunner.crontab.schedulers import fields
from jobrunner.crontab.schedulers.records import NotExact, When

_CHANGES_THE_TIME = ("countdown", "eta")


def when(entry: Mapping[str, Any], timezone: str | None) -> When:
    """When the entry fires. ``timezone`` is the one of the command line. Raises NotExact."""
    zone = timezone or entry["timezone"]
    if zone is None:
        raise NotExact(
            "the app has enable_utc = False and no timezone, so beat takes that of its host; name it with --timezone"
        )
    # Beat sends a task although the one before is still at work, and after a stop it sends one for all missed times.
    options = {"overlap": "allow", **_of_message(entry["options"])}
    left = [name for name in entry["options"] if name != "expires"]
    notes = [f"left out, because jobrunner has no such option: {', '.join(left)}"] if left else []
    if entry["kind"] == "crontab":
        if (window := entry["starting_deadline"]) is not None:
            options["misfire_window"] = fields.duration(window)
        return When(_fields(entry), zone, options, tuple(notes))
    if entry["kind"] == "interval":
        if entry["relative"]:
            raise NotExact(
                "it is relative: beat rounds its times to its unit; write it with crontab(), or as 'every …'"
            )
        notes.insert(0, "counted from 1970-01-01T00:00Z and not from the start of beat")
        return When(f"every {fields.duration(entry['seconds'])}", "UTC", options, tuple(notes))
    raise NotExact(f"its schedule is {entry['kind']}, and jobrunner has fixed times and intervals only")


def _fields(entry: Mapping[str, Any]) -> str:
    days = fields.days_of_month_and_week(entry["day_of_month"], entry["day_of_week"])
    return fields.expression(entry["minute"], entry["hour"], entry["month_of_year"], days)


def _of_message(options: Mapping[str, Any]) -> dict[str, str]:
    for name in _CHANGES_THE_TIME:
        if name in options:
            raise NotExact(f"its option {name} moves each task; put the time into the schedule")
    if "expires" not in options:
        return {}
    if not isinstance(options["expires"], int | float):
        raise NotExact("its option expires is an instant; give the seconds after which a task is not worth running")
    return {"start_deadline": fields.duration(options["expires"])}
