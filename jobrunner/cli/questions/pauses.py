"""pauses: what is paused."""

from __future__ import annotations

import click

from jobrunner.cli import environment, render, session
from jobrunner.cli.answers import answers
from jobrunner.store.queue import pauses as store
from jobrunner.store.queue.pauses import Pause
from jobrunner.text import visible

HEADINGS = ("PAUSED", "SINCE", "BY", "REASON")


@click.command()
@answers(list[Pause])
def pauses(as_json: bool) -> None:
    """List what is paused, since when, by whom and why.

    Example: jobrunner pauses
    """
    found = session.open_database(environment.load()).read(store.listed)
    if as_json:
        render.echo_json(found)
    elif found:
        render.table(HEADINGS, rows(found), indent="")
    else:
        click.echo("nothing is paused")


def words(kind: str, name: str) -> str:
    """What is paused, for a person."""
    return "everything" if kind == "all" else f"{kind} {visible(name)}"


def rows(found: list[Pause]) -> list[tuple[object, ...]]:
    """The cells of a table of pauses, below ``HEADINGS``."""
    return [(words(each.kind, each.name), each.paused_at, each.actor, each.reason or "-") for each in found]
