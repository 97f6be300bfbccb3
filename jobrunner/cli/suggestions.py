"""Names of types, schedules and hosts in the database: to complete a word that is typed, and to say what was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import timedelta

import click

from jobrunner.cli import environment, streams
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import locate
from jobrunner.text import nearest, visible

_PATIENCE = timedelta(seconds=1)


def job_types(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The job types that begin so: those in the database, and the commands of jobrunner.toml."""
    return _begin_with(incomplete, lambda: [*environment.load().commands, *_read(types_of)])


def schedules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names of schedules that begin so."""
    return _begin_with(incomplete, lambda: _read(_schedules_of))


def types_and_schedules(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The job types and the names of schedules that begin so."""
    return sorted({*job_types(context, parameter, incomplete), *schedules(context, parameter, incomplete)})


def types_of(connection: Connection) -> list[str]:
    """The job types that the database knows."""
    from jobrunner.store.questions import known_names

    return known_names.job_types(connection)


def hosts_of(connection: Connection) -> list[str]:
    """The hosts that the database knows."""
    from jobrunner.store.questions import known_names

    return known_names.hosts(connection)


def hosts(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names of hosts that begin so."""
    return _begin_with(incomplete, lambda: _read(hosts_of))


def _schedules_of(connection: Connection) -> list[str]:
    from jobrunner.store.questions import known_names

    return known_names.schedules(connection)


def suggest_type(given: Sequence[str], known: Iterable[str]) -> None:
    """Say on stderr which type was probably meant, where a command found nothing of a type that is not known."""
    _suggest("no run has the type", given, known)


def suggest_host(given: Sequence[str], known: Iterable[str]) -> None:
    """The same for names of hosts."""
    _suggest("no tick has the host name", given, known)


def _suggest(what: str, given: Sequence[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in given:
        if name not in known and (near := nearest(name, known)) is not None:
            streams.to_stderr(f"jobrunner: {what} {visible(name[:60])!r}; did you mean {visible(near)!r}?")


def _begin_with(incomplete: str, names: Callable[[], Iterable[str]]) -> list[str]:
    try:
        # A name with a control character cannot be typed, nor shown.
        return sorted({name for name in names() if name.startswith(incomplete) and visible(name) == name})
    except Exception:  # noqa: BLE001 - whatever is wrong, it must not appear in the line that somebody types
        return []


def _read(work: Callable[[Connection], list[str]]) -> list[str]:
    config = environment.load()
    location = locate(environment.database_url(config), config.schema)
    if location.is_missing():
        return []
    with closing(Database(location, patience=_PATIENCE)) as database:
        return database.read(work)
