"""schedule import: turn a crontab into entries of jobrunner.toml."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from jobrunner.cli import environment, options, render, streams
from jobrunner.crontab import appending, convert, host, parse, toml
from jobrunner.crontab.report import report
from jobrunner.errors import UsageError
from jobrunner.settings.config import Config
from jobrunner.settings.files import read_file
from jobrunner.text import visible


@click.command()
@click.argument("crontab", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--system/--no-system", default=None, help="Each line names a user, as in /etc/cron.d. [default: detected]"
)
@click.option("--user", metavar="NAME", help="The user whose ticks will run the jobs. [default: you]")
@click.option("--timezone", metavar="ZONE", help="The time zone of the crontab. [default: the system's]")
@click.option(
    "--every-host", is_flag=True, help="Each slot runs on each host that has the job, as with a crontab on each."
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Add the entries to this jobrunner.toml."
)
@click.pass_context
def import_(
    ctx: click.Context,
    crontab: Path,
    system: bool | None,
    user: str | None,
    timezone: str | None,
    every_host: bool,
    output: Path | None,
) -> None:
    """Turn a crontab into entries for jobrunner.toml. A CRONTAB of - is standard input: `crontab -l | …`.

    The entries are printed, or with --output added to a file, except those that an earlier import has added. Nothing
    runs before `jobrunner apply`. Stderr says what has happened to each line. Exit status 1: some lines could not be
    imported and are listed; the others were imported.

    Example: jobrunner schedule import my.crontab
    """
    environment.load()
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
        streams.to_stderr(_next(environment.load(), output, options.env_file(ctx)))
        if not every_host and (environment.load().database_url or "").startswith("postgres"):
            streams.to_stderr(
                "each slot of a schedule runs on one host: if another host has the same line and both must run it,"
                " import it on both with --every-host"
            )
        streams.to_stderr("then remove the imported lines from the crontab, or they run twice")
    ctx.exit(1 if found.refused else 0)


def _next(config: Config, output: Path | None, env_file: str | None) -> str:
    """The commands that put the entries to work, as they can be executed: with what cannot be known without them."""
    of_env_file = [] if env_file is None else ["--env-file", env_file]
    if output is None:
        file = Path(config.file or "jobrunner.toml")
        done = f"add these entries to {visible(str(file))}"
    else:
        file, done = output, f"written to {visible(str(output))}"
    named = [] if config.file is not None and _is_same(file, Path(config.file)) else ["--config", str(file)]
    following = shlex.join(["jobrunner", "apply", *of_env_file, *named])
    if not named:
        return f"{done}; next: {following}"
    ticking = shlex.join(["jobrunner", "crontab", "install", *of_env_file, *named])
    return f"{done}; next: {following}; the ticks need that file, too: {ticking}"


def _is_same(file: Path, other: Path) -> bool:
    return file.resolve() == other.resolve()


def _read(path: Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read(parse.LARGEST_BYTES + 1)
    try:
        return read_file(path, parse.LARGEST_BYTES)
    except UsageError as error:
        raise UsageError(f"{str(path)[:200]}: {error}; `-` reads standard input") from None
