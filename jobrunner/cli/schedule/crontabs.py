"""schedule import, schedule crontab: replace a crontab by one line."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from jobrunner.cli import environment, options, render, streams
from jobrunner.crontab import appending, convert, host, parse, tick_line, toml
from jobrunner.crontab.report import report
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.settings.config import SETTINGS, Config
from jobrunner.settings.files import read_file
from jobrunner.settings.reader import PREFIX
from jobrunner.text import storable, visible

_PATHS = ("JOBRUNNER_APP_DIR", "JOBRUNNER_CONFIG", "JOBRUNNER_LOG", "JOBRUNNER_STATE_DIR")
_DATABASE_URLS = ("JOBRUNNER_DATABASE_URL", "DATABASE_URL")


@click.command(name="import")
@click.argument("crontab", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--system/--no-system", default=None, help="Each line names a user, as in /etc/cron.d. [default: detected]"
)
@click.option("--user", metavar="NAME", help="The user whose ticks will run the jobs. [default: you]")
@click.option("--timezone", metavar="ZONE", help="The time zone of the crontab. [default: the system's]")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Add the entries to this jobrunner.toml."
)
@click.pass_context
def import_(
    ctx: click.Context, crontab: Path, system: bool | None, user: str | None, timezone: str | None, output: Path | None
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
    text = toml.write(found.jobs, visible(source))
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
        if (environment.load().database_url or "").startswith("postgres"):
            streams.to_stderr(
                "each slot of a schedule runs on one host: if another host has the same line and both must run it, give"
                " the job another name on each host"
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
    ticking = shlex.join(["jobrunner", "schedule", "crontab", "--install", *of_env_file, *named])
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


@click.command()
@click.option(
    "--log-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file that the tick appends its log to.",
)
@click.option("--install", is_flag=True, help="Put the line into your crontab; all other lines stay.")
@click.option("--remove", is_flag=True, help="Remove the line from your crontab.")
@click.pass_context
def crontab(ctx: click.Context, log_file: Path | None, install: bool, remove: bool) -> None:
    """Print the crontab line that runs a tick of this installation each minute.

    It has the absolute paths of this program, of its env file and of its configuration file. --install puts it into
    the crontab and replaces an older line with the same env file; a second --install changes nothing.

    Example: jobrunner schedule crontab --install
    """
    if install and remove:
        raise click.UsageError("use --install or --remove, not both")
    env_file = options.env_file(ctx)
    config = environment.load()
    from_file = _variables(env_file)
    configuration = config.file if "JOBRUNNER_CONFIG" in os.environ and "JOBRUNNER_CONFIG" not in from_file else None
    identity = str(env_file or configuration or "default")
    if remove:
        was_there = host.change_crontab(lambda text: tick_line.without_line(text, identity))
        render.done("removed from the crontab" if was_there else "the crontab has no line of this installation")
        return
    _check_reaches_cron(config, env_file, from_file)
    words = [*_program(), "tick"]
    for flag, path in (("--env-file", env_file), ("--config", configuration), ("--log-file", _log(log_file))):
        words += [] if path is None else [flag, str(path)]
    line = tick_line.tick_line(words, identity, sets_path="PATH" not in from_file)
    if not install:
        click.echo(line)
        return
    changed = host.change_crontab(lambda text: tick_line.with_line(text, line, identity))
    render.done(f"{'installed' if changed else 'installed already'}: {line}")


def _variables(env_file: str | None) -> dict[str, str]:
    from jobrunner.settings.env_file import read_env_file

    return {} if env_file is None else read_env_file(env_file)


def _check_reaches_cron(config: Config, env_file: str | None, from_file: dict[str, str]) -> None:
    """Refuse a line whose ticks would have other settings than this command, such as another database."""
    settings = {f"{PREFIX}{name.upper()}" for name in SETTINGS}
    if config.database_url and config.database_url == os.environ.get("DATABASE_URL"):
        settings.add("DATABASE_URL")
    lost = sorted(name for name in settings - set(from_file) if os.environ.get(name, "").strip())
    if lost:
        how = f" with: {environment.prints_env_file}" if environment.prints_env_file else ""
        raise ConfigurationError(
            f"cron would not know {', '.join(lost)}, which only this environment sets; write it into an env file (mode"
            f" 0600){how}, and give that file with --env-file"
        )
    for name in _PATHS:
        if (value := from_file.get(name)) and not Path(value).is_absolute():
            raise ConfigurationError(
                f"env file {env_file}: {name} is not an absolute path; cron starts in the home folder"
            )
    for name in _DATABASE_URLS:
        url = from_file.get(name, "")
        if url.startswith("sqlite:///") and not url.startswith(("sqlite:////", "sqlite:///:")):
            raise ConfigurationError(
                f"env file {env_file}: {name} is not an absolute path; cron starts in the home folder"
            )


def _program() -> list[str]:
    """The words that start this installation, with an absolute path."""
    called = Path(sys.argv[0]).absolute()
    # Under a framework's command there is no such file: its first argument is only a name.
    is_script = called.name != "__main__.py" and called.is_file()
    words = [str(called)] if is_script else [sys.executable, "-m", "jobrunner"]
    if any(storable(word) != word for word in words):
        raise ConfigurationError("the path of jobrunner is not UTF-8, and cannot stand in a crontab")
    return words


def _log(path: Path | None) -> Path | None:
    if path is None:
        return None
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--log-file: there is no folder {path.absolute().parent}; make it first")
    return path.absolute()


COMMANDS = (import_, crontab)
