"""schedule import: turn a crontab, or the schedules of another scheduler, into entries of jobrunner.toml."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from jobrunner.cli import environment, importing, options, render, streams
from jobrunner.crontab import appending, convert, host, parse, toml
from jobrunner.crontab.report import report
from jobrunner.errors import UsageError
from jobrunner.settings.files import read_file
from jobrunner.text import visible


@click.command()
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--scheduler",
    type=click.Choice(list(importing.SCHEDULERS)),
    help="SOURCE is an application with the schedules of this library.",
)
@click.option(
    "--system/--no-system", default=None, help="Each line names a user, as in /etc/cron.d. [default: detected]"
)
@click.option("--user", metavar="NAME", help="The user whose ticks will run the jobs. [default: you]")
@click.option(
    "--timezone",
    metavar="ZONE",
    help="The time zone of the schedules. [default: the system's, or that of the application]",
)
@click.option(
    "--every-host", is_flag=True, help="Each slot runs on each host that has the job, as with a crontab on each."
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Add the entries to this jobrunner.toml."
)
@click.pass_context
def import_(
    ctx: click.Context,
    source: Path,
    scheduler: str | None,
    system: bool | None,
    user: str | None,
    timezone: str | None,
    every_host: bool,
    output: Path | None,
) -> None:
    """Turn a crontab into entries for jobrunner.toml. A SOURCE of - is standard input: `crontab -l | …`.

    With --scheduler the SOURCE is a module of Python or a file of it, MODULE or MODULE:NAME, in the current folder: the
    app of Celery, the scheduler of APScheduler 3, or the settings of Django. It is imported in a process of its own,
    in which no job runs.

    The entries are printed, or with --output added to a file, except those that an earlier import has added. Nothing
    runs before `jobrunner apply`. Stderr says what has happened to each line. Exit status 1: some lines could not be
    imported so that they mean the same, and are listed with the reason; the others were imported.

    Example: jobrunner schedule import my.crontab
    """
    environment.load()
    if scheduler is not None:
        if system is not None or user is not None or every_host:
            raise UsageError("--system, --user and --every-host belong to a crontab; leave them out with --scheduler")
        ctx.exit(importing.from_scheduler(scheduler, str(source), timezone, output, options.env_file(ctx)))
    where = (system, user, timezone, output, options.env_file(ctx))
    ctx.exit(_from_crontab(source, *where, every_host=every_host))


def _from_crontab(
    crontab: Path,
    system: bool | None,
    user: str | None,
    timezone: str | None,
    output: Path | None,
    env_file: str | None,
    *,
    every_host: bool,
) -> int:
    source = "standard input" if str(crontab) == "-" else str(crontab)
    data = _read(crontab)
    try:
        has_user = host.has_users(None if str(crontab) == "-" else crontab, data) if system is None else system
        lines = parse.read(data, has_user=has_user)
    except UsageError as error:
        raise UsageError(f"{source[:200]}: {error}") from None
    where = host.this_host(user, timezone)
    with render.progress(len(lines.lines), "lines of the crontab") as progress:
        found = convert.take_over(lines, where, progress)
    if output is not None:
        found = appending.without_known(found, output)
    text = toml.write(found.jobs, visible(source), every_host=every_host)
    if output is not None and found.jobs:
        appending.append(output, text, [job.name for job in found.jobs])
    elif found.jobs:
        render.done(text.rstrip("\n"))
    form = f"a system crontab, for the ticks of {where.user}" if has_user else "the crontab of a user"
    streams.to_stderr(f"{visible(source)}: read as {form}, in {where.timezone}")
    for line in report(lines, found):
        streams.to_stderr(line)
    if found.jobs:
        streams.to_stderr(
            "as under cron the jobs have no time limit, but at most JOBRUNNER_CONCURRENCY (4 by default) run at once:"
            " if as many hang, no other job starts; give such jobs a timeout, or a lower concurrency"
        )
        streams.to_stderr(importing.next_steps(environment.load(), output, env_file))
        if not every_host and (environment.load().database_url or "").startswith("postgres"):
            streams.to_stderr(
                "each slot of a schedule runs on one host: if another host has the same line and both must run it,"
                " import it on both with --every-host"
            )
        streams.to_stderr("then remove the imported lines from the crontab, or they run twice")
    return 1 if found.refused else 0


def _read(path: Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read(parse.LARGEST_BYTES + 1)
    try:
        return read_file(path, parse.LARGEST_BYTES)
    except UsageError as error:
        raise UsageError(f"{str(path)[:200]}: {error}; `-` reads standard input") from None
