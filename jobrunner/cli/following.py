"""Looks at the database again and again, for somebody who watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from jobrunner import clock
from jobrunner.cli import garbage, streams
from jobrunner.errors import DatabaseUnavailable
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database

T = TypeVar("T")


def looks(database: Database, look: Callable[[Connection], T], seconds: float) -> Iterator[T]:
    """The result of each look, each in a read transaction of its own, with a pause of so many seconds between two.

    The first look must succeed. Later, a database that does not answer is reported on stderr once, and is asked again
    until it answers.
    """
    garbage.collect()
    yield database.read(look)
    is_away = False
    while True:
        clock.sleep(seconds)
        try:
            found = database.read(look)
        except DatabaseUnavailable as error:
            if not is_away:
                streams.report_error(f"{error}; asking again", error.exit_code)
            is_away = True
            continue
        is_away = False
        yield found
