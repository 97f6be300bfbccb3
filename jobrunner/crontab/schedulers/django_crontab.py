"""Converts an entry of django-crontab's CRONJOBS. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from jobrunner.crontab.schedulers.records import NotExact, When
from jobrunner.errors import BadSchedule
from jobrunner.schedules.cron_fields import extension_in

_ONLY_KEEPS_OUTPUT = re.compile(r"\s*(?:(?:\d?>>?\s*[^\s|&;<>()$`]+|2>&1|&>>?\s*[^\s|&;<>()$`]+)\s*)*")


def when(entry: Mapping[str, Any], timezone: str | None) -> When:
    """When the entry fires, in cron's time zone. Raises NotExact."""
    if prefix := entry["prefix"]:
        raise NotExact(
            f"CRONTAB_COMMAND_PREFIX is {prefix!r}, and a handler has no shell around it; do in the handler what the"
            " prefix does, or set its variables in the env file of the ticks, and import again without it"
        )
    if words := entry["management_command"]:
        called = shlex.join(["python", "manage.py", *words])
        raise NotExact(
            f"it calls a command of Django; write [jobs.{re.sub(r'[^A-Za-z0-9_-]', '_', words[0])}] with command ="
            f" {shlex.split(called)} and this schedule: {entry['schedule']!r}"
        )
    notes = []
    for suffix in filter(None, entry["suffixes"]):
        if not _ONLY_KEEPS_OUTPUT.fullmatch(suffix):
            raise NotExact(f"its suffix {suffix!r} does more than to keep the output; do this in the handler")
        notes.append(f"its suffix {suffix.strip()!r} is not needed: jobrunner show has the output")
    try:
        if item := extension_in(entry["schedule"]):
            raise NotExact(f"cron does not know {item}, but jobrunner does; write the schedule that you mean")
    except BadSchedule as error:
        raise NotExact(str(error)) from None
    assert timezone is not None
    # Cron makes nothing up for missed times.
    options = {"misfire": "skip", "overlap": "skip" if entry["is_locked"] else "allow"}
    return When(entry["schedule"], timezone, options, tuple(notes))
