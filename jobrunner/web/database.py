"""The database of a page that is mounted in an application: the URL that is given, or the environment's."""

from __future__ import annotations

import os
from collections.abc import Callable

from jobrunner.settings import config
from jobrunner.store.drivers.location import Location, locate


def database_of(url: str | Callable[[], str | None] | None) -> Callable[[], Location]:
    """What finds the database at the first request, when the application is complete."""

    def find() -> Location:
        given = url() if callable(url) else url
        return locate(given or config.database_url(os.environ), config.for_enqueue(os.environ).schema)

    return find
