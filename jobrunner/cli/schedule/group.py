"""schedule: the group of the commands for schedules, which imports only the module of the command that is called."""

from __future__ import annotations

import click

from jobrunner.cli.lazy import LazyGroup

_MODULES = {
    "next": "schedule.next",
    **dict.fromkeys(("list", "show"), "schedule.views"),
    **dict.fromkeys(("add", "edit", "remove", "pause", "resume"), "schedule.changes"),
    **dict.fromkeys(("trigger", "backfill"), "schedule.runs"),
    **dict.fromkeys(("import", "crontab"), "schedule.crontabs"),
}


@click.group(cls=LazyGroup, modules=_MODULES)
def schedule() -> None:
    """Manage schedules: runs that start by themselves."""


COMMANDS = (schedule,)
