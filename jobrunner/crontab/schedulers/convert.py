"""Converts the entries of another scheduler to those of ``jobrunner.toml``, and writes them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobrunner.crontab.schedulers import apscheduler_jobs, celery_beat, django_crontab
from jobrunner.crontab.schedulers.records import Entry, Found, NotExact, When
from jobrunner.crontab.toml import key, quoted
from jobrunner.errors import UsageError
from jobrunner.schedules.declare import Schedule, declare
from jobrunner.settings.toml_file import JobFile

SCHEDULERS = {
    "celery-beat": ("Celery beat", celery_beat.when),
    "apscheduler": ("APScheduler", apscheduler_jobs.when),
    "django-crontab": ("django-crontab", django_crontab.when),
}
"""By the name on the command line: the name for people, and what converts an entry."""
_HEAD = """\
# From {source} ({scheduler})
# Each run needs a handler: @job("JOB") with these arguments. Retries and time limits are options of the handler.
"""


def convert(scheduler: str, entries: Sequence[Mapping[str, Any]], timezone: str | None) -> Found:
    """Convert each entry, or say why it is refused."""
    _, when = SCHEDULERS[scheduler]
    found: list[Entry] = []
    remarks: list[tuple[str, str]] = []
    names: list[str] = []
    for raw in entries:
        name = _free(raw["name"], names)
        names.append(name)
        try:
            if raw["problem"]:
                raise NotExact(raw["problem"])
            entry = _checked(Entry(name, raw["job_type"], when(raw, timezone), raw["payload"]))
        except (NotExact, UsageError) as error:
            remarks.append((name, f"not imported: {error}"))
            continue
        found.append(entry)
        remarks.append((name, "; ".join((f"{entry.when.schedule} {entry.when.timezone}", *entry.when.notes))))
    return Found(tuple(found), tuple(remarks), len(entries) - len(found))


def without_known(found: Found, present: JobFile, where: str) -> Found:
    """Remove the entries that the file already has. Raises UsageError if it has another one under such a name."""
    known = []
    for entry in found.entries:
        filed = present.schedules.get(entry.name)
        if filed is None and entry.name not in present.commands:
            continue
        if filed is None or (filed.job_type, filed.expression, dict(filed.options)) != _filed(entry):
            raise UsageError(
                f"{where} already has another {entry.name}, so nothing was written; rename or remove it there"
            )
        known.append(entry.name)
    remarks = tuple(
        (name, f"already in {where}, not changed" if name in known else text) for name, text in found.remarks
    )
    left = tuple(entry for entry in found.entries if entry.name not in known)
    return replace(found, entries=left, remarks=remarks, known=len(known))


def write(entries: Collection[Entry], source: str, scheduler: str) -> str:
    """The entries as text for ``jobrunner.toml``."""
    return "\n".join([_HEAD.format(source=source, scheduler=SCHEDULERS[scheduler][0]), *map(_table, entries)])


def counts(found: Found) -> str:
    """How many entries there were, and what became of them."""
    total = len(found.entries) + found.known + found.refused
    known = f", {found.known} already there" if found.known else ""
    return f"{total} {'entry' if total == 1 else 'entries'}: {len(found.entries)} imported{known}, {found.refused} not"


def _free(name: str, taken: Collection[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _checked(entry: Entry) -> Entry:
    """The entry, which ``apply`` will accept. Raises UsageError."""
    when: When = entry.when
    options: dict[str, Any] = dict(when.options)
    schedule = Schedule(when.schedule, when.timezone, payload=entry.payload, name=entry.name, **options)
    declare(schedule, entry.job_type, "file")
    _value(dict(entry.payload))
    return entry


def _filed(entry: Entry) -> tuple[str, str, dict[str, Any]]:
    options = {"timezone": entry.when.timezone, **entry.when.options}
    return entry.job_type, entry.when.schedule, options | ({"payload": dict(entry.payload)} if entry.payload else {})


def _table(entry: Entry) -> str:
    values: dict[str, Any] = {"job": entry.job_type, "schedule": entry.when.schedule, "timezone": entry.when.timezone}
    values |= entry.when.options
    if entry.payload:
        values["payload"] = dict(entry.payload)
    lines = [f"{name} = {_value(value)}" for name, value in values.items()]
    return "\n".join([f"[schedules.{key(entry.name)}]", *lines, ""])


def _value(value: Any) -> str:
    """A JSON value in TOML. Raises NotExact for null, which TOML does not have."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{key(name)} = {_value(each)}" for name, each in value.items()) + " }" if value else "{}"
        )
    raise NotExact("an argument is None, which a TOML file cannot have; leave it out, or give it a default")
