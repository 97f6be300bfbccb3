"""pause: no run of a type, on a host or anywhere begins until it is resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import click

from jobrunner.cli import environment, options, render, session, suggestions
from jobrunner.cli.options.types import of_types
from jobrunner.errors import UsageError
from jobrunner.model import describe_pause
from jobrunner.names import check_job_type
from jobrunner.store.drivers.database import Database
from jobrunner.store.queue import pauses as store
from jobrunner.store.queue.pauses import MOST_COUNTED, Concerned, Kind, Pause
from jobrunner.text import visible

_Command = TypeVar("_Command", bound=Callable[..., Any])


def of_what(command: _Command) -> _Command:
    for option in (
        click.option("--all", "everything", is_flag=True, help="All job types on all hosts."),
        click.option(
            "--host",
            "hosts",
            multiple=True,
            metavar="HOST",
            shell_complete=suggestions.hosts,
            help="A host; repeatable.",
        ),
        of_types("A job type", None, "types"),
    ):
        command = option(command)
    return command


@click.command()
@of_what
@options.REASON
def pause(**given: Any) -> None:
    """Stop starting runs: of one job type, on one host, or everywhere. `jobrunner resume` starts them again.

    Running handlers go on. New runs are accepted and wait; schedules go on making runs, which wait, too
    (`schedule pause` makes no more of them). Start deadlines, recovery and cancellations go on.

    Example: `jobrunner pause --type report.send --reason "the mail server is down"`
    """
    found = list(named(**given))
    if not found:
        raise UsageError("name what to pause: --type TYPE, --host HOST or --all; jobrunner pauses lists what is paused")
    database = session.open_database(environment.load())
    who = session.actor()
    for kind, name in found:
        before = database.write(partial(store.pause, kind=kind, name=name, actor=who))
        for each in database.read(partial(store.names_meant, kind=kind, name=name)):
            concerned = database.read(partial(store.concerned, kind=kind, name=each))
            how = f"paused{since(before)}" if each == name else f"paused, another name of {visible(name)}"
            render.done(f"{visible(describe_pause(kind, each))}: {how}; {told(kind, concerned)}")
    suggest(database, found)


def suggest(database: Database, named: list[tuple[Kind, str]]) -> None:
    """A name that is not known may be one to come, so it is paused; it may also be mistyped."""
    types, hosts = ([name for kind, name in named if kind == wanted] for wanted in ("type", "host"))
    if types:
        suggestions.suggest_type(types, database.read(suggestions.types_of))
    if hosts:
        suggestions.suggest_host(hosts, database.read(suggestions.hosts_of))


def named(types: tuple[str, ...], hosts: tuple[str, ...], everything: bool) -> Iterator[tuple[Kind, str]]:
    if everything:
        yield "all", ""
    for job_type in dict.fromkeys(types):
        yield "type", check_job_type(job_type)
    for host in dict.fromkeys(hosts):
        if not 0 < len(host) <= 255:
            raise UsageError("--host needs the name of a host; jobrunner status lists the hosts")
        yield "host", host


def since(before: Pause | None) -> str:
    if before is None:
        return ""
    reason = "" if before.reason is None else f" ({visible(before.reason)})"
    return f" since {render.instant(before.paused_at)} by {visible(before.actor)}{reason}"


def told(kind: Kind, concerned: Concerned) -> str:
    """How many runs wait, and how many go on."""
    if not concerned.is_known:
        return "no tick of this host is known"
    running = f"{_number(concerned.running)} at work go on"
    if kind == "host":
        return running
    return f"{'1 run waits' if concerned.waiting == 1 else f'{_number(concerned.waiting)} runs wait'}, {running}"


def _number(count: int) -> str:
    return f"{count}{'+' * (count == MOST_COUNTED)}"
