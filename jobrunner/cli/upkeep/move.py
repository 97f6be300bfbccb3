"""move: everything into another database."""

from __future__ import annotations

from datetime import timedelta

import click

from jobrunner.admin import moving
from jobrunner.cli import environment, options, render, session, startup, streams
from jobrunner.cli.parameters import Checked, read_payload
from jobrunner.cli.upkeep.verify import kept
from jobrunner.durations import parse_duration
from jobrunner.errors import BadPayload, SchemaMismatch, UsageError
from jobrunner.store.changes import closing
from jobrunner.store.drivers import waits
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import Location, locate

_MOST_BYTES = 4096


@click.command()
@click.argument("target", required=False, metavar="TARGET_URL|@FILE|-")
@click.option(
    "--wait",
    type=Checked(parse_duration),
    metavar="DURATION",
    default=timedelta(minutes=1),
    show_default="1m",
    help="How long to wait for the end of runs that are at work. No other begins meanwhile.",
)
@click.option("--undo", is_flag=True, help="Open the database again whose move was not finished.")
@options.REASON
def move(target: str | None, wait: timedelta, undo: bool) -> None:
    """Move everything into an empty database of any kind: runs, attempts, keys, effects, schedules, pauses and the
    audit trail, with their ids.

    First the database of the settings is closed: from then on every change of it fails, also those of applications,
    until they use the new one. If the move is stopped, call it again: it goes on where it was. At the end `verify`
    judges both, and the old database tells everybody who uses it where its rows are (exit status 78).

    A URL with a password is read from @FILE or from standard input, -, because everybody sees the arguments of a
    process.

    Example: jobrunner move @new-url
    """
    config = environment.load()
    if undo == (target is not None):
        raise UsageError("give the URL of the new database, or --undo")
    session.check_answers(config)
    source = session.unopened(config, None if undo else waits.of_bulk(config.patience))
    if source.location.is_missing():
        raise startup.missing(source)
    if target is None:
        other = moving.undo(source)
        render.done("no move is under way" if other is None else f"open again; the move to {other} is given up")
        return
    new = session.watched(_located(_url(target), config.schema), waits.of_bulk(config.patience))
    if new.location == source.location:
        raise UsageError("both URLs name the same database")
    for each in (source, new):
        _make_ready(each)
    with render.progress(None, "rows") as report:
        moved = moving.move(source, new, session.actor(), kept(config), wait, report)
    render.done(
        f"moved {moved.rows} row{'s' * (moved.rows != 1)} to {new.location.label}; there: {moved.verdict.sentence}"
    )
    streams.to_stderr("next: set JOBRUNNER_DATABASE_URL to the new database on each host and in each application")


def _located(url: str, schema: str | None) -> Location:
    """Where the new database is. A file has no schemas."""
    found = locate(url)
    return found if schema is None or found.file is not None else locate(url, schema)


def _make_ready(database: Database) -> None:
    """Migrate a database, unless a move of it is under way."""
    from jobrunner.store.upkeep import migrate as migrations

    try:
        if not database.location.is_missing() and database.read(closing.mark_of) is not None:
            return
    except SchemaMismatch:
        # There are no tables, or older ones.
        pass
    migrations.migrate(database)


def _url(argument: str) -> str:
    try:
        url = read_payload(argument, _MOST_BYTES, name="").strip()
    except BadPayload as error:
        raise UsageError(f"the URL of the new database cannot be read: {error}") from None
    password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
    if url == argument and (password or "password" in url):
        raise UsageError(
            "a password in an argument can be seen by everybody on this host; give the URL as @FILE or as -"
        )
    return url
