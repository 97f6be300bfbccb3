"""schedule: runs that come by themselves. Each of its commands is in a module of its own kind."""

from __future__ import annotations

import click

from jobrunner.cli.lazy import LazyGroup

_HOMES = {
    "next": "schedule.next",
    **dict.fromkeys(("list", "show"), "schedule.views"),
    **dict.fromkeys(("add", "edit", "remove", "pause", "resume"), "schedule.changes"),
    **dict.fromkeys(("trigger", "backfill"), "schedule.runs"),
    **dict.fromkeys(("import", "crontab"), "schedule.crontabs"),
}


@click.group(cls=LazyGroup, homes=_HOMES)
def schedule() -> None:
    """Manage schedules: runs that start by themselves."""


COMMANDS = (schedule,)
