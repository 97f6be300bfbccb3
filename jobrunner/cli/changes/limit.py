"""limit: set limits of a job type over all hosts, instead of those of its code."""

from __future__ import annotations

import shlex
from datetime import datetime, timedelta
from functools import partial

import click

from jobrunner.cli import environment, options, render, session, streams, suggestions
from jobrunner.cli.changes.pause import told
from jobrunner.cli.options.shared import of_time
from jobrunner.cli.parameters import Checked, instant_or_later
from jobrunner.errors import UsageError
from jobrunner.jobs.job_options import MOST_RUNNING
from jobrunner.names import check_job_type
from jobrunner.rates import parse_rate
from jobrunner.store.drivers.database import Database
from jobrunner.store.questions import older_code
from jobrunner.store.queue import set_limits as store
from jobrunner.store.queue.set_limits import Done, SetLimit, Wanted
from jobrunner.store.queue.ticks import hosts
from jobrunner.text import visible, whole_number

_A_NUMBER = partial(whole_number, least=1, most=MOST_RUNNING)


def _how_many(text: str) -> int:
    if text.strip() == "0":
        raise UsageError("0 lets no run begin; that is a pause: jobrunner pause --type TYPE")
    return _A_NUMBER(text)


@click.command()
@click.argument("job_type", metavar="TYPE", shell_complete=suggestions.job_types)
@click.option(
    "--max-running",
    type=Checked(_how_many, bounds=(1, MOST_RUNNING)),
    metavar="N",
    help="The most runs of the type at work, on all hosts together.",
)
@click.option("--rate", metavar="RATE", help="How many may start in a time, on all hosts together, such as 10/m.")
@click.option(
    "--burst",
    type=Checked(_A_NUMBER),
    metavar="N",
    help="How many may start at once at that rate, after a time without.",
)
@of_time(
    "--until",
    "When it ends: ISO 8601 with an offset, or 2h from now. Without it: when you take it back.",
    instant_or_later,
)
@options.NEEDED_REASON
def limit(
    job_type: str,
    max_running: int | None,
    rate: str | None,
    burst: int | None,
    until: datetime | timedelta | None,
) -> None:
    """Limit a job type on all hosts together, instead of its code: `jobrunner unlimit` takes it back.

    What you set holds at once, whether it is less or more than the code allows, until --until by the database's clock.
    It replaces what was set for the type before. What you do not set stays as the code has it. Running handlers go on:
    if more are at work than you allow, none begins before enough have ended.

    Example: `jobrunner limit report.send --max-running 2 --until 2h --reason "the mail server is slow"`
    """
    check_job_type(job_type)
    wanted = wanted_of(job_type, max_running, rate, burst)._replace(until=until)
    database = session.open_database(environment.load())
    known = database.read(suggestions.types_of)
    done = database.write(partial(store.set_limit, wanted=wanted, actor=session.actor()))
    concerned = database.read(partial(store.running_and_waiting, job_type=job_type))
    said = f"{done.now.limits}{_until(done.now)}; {told('type', concerned)}{_before(done.before)}"
    render.done(f"{visible(job_type)}: {said}{also(database, job_type)}")
    _warn(done, database.read(partial(older_code.hosts, version=older_code.WITH_SET_LIMITS)))
    suggestions.suggest_type([job_type], known)


def also(database: Database, job_type: str) -> str:
    """That it holds for the other names of the type, too."""
    _, *others = database.read(partial(hosts.reported_names_of, job_type=job_type))
    return f"; together with {visible(', '.join(others))}, another name of it" if others else ""


def wanted_of(job_type: str, max_running: int | None, rate: str | None, burst: int | None) -> Wanted:
    """What somebody wants to set. Raises UsageError."""
    if max_running is None and rate is None:
        raise UsageError("say what to limit: --max-running N or --rate 10/m")
    if rate is None and burst is not None:
        raise UsageError("--burst needs a --rate, such as --rate 10/m")
    return Wanted(job_type, max_running, None if rate is None else parse_rate("--rate", rate, burst))


def _until(limit: SetLimit) -> str:
    return "" if limit.ends_at is None else f" until {render.instant(limit.ends_at)}"


def _before(before: SetLimit | None) -> str:
    if before is None:
        return ""
    reason = "" if before.reason is None else f" ({visible(before.reason)})"
    since = f"since {render.instant(before.set_at)} by {visible(before.actor)}{reason}"
    return f"; before: {before.limits}{_until(before)}, {since}"


def _warn(done: Done, older: list[str]) -> None:
    if done.under_way:
        hosts = visible(", ".join(done.under_way))
        streams.to_stderr(
            f"jobrunner: a claim of {hosts} is still under way; what it begins is counted, but not limited"
        )
    if older:
        pause = " ".join(f"--host {shlex.quote(visible(host))}" for host in older)
        streams.to_stderr(
            f"jobrunner: {visible(', '.join(older))}: the ticks are of a release that knows no such limits, and are not"
            f" held back; upgrade, or: jobrunner pause {pause}"
        )
