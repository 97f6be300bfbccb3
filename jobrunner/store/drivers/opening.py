"""Opens connections. A module of a database is imported only when that database is used."""

from __future__ import annotations

from collections.abc import Callable

from jobrunner.store.drivers.connection import Connection, DriverError, Wire
from jobrunner.store.drivers.location import Location
from jobrunner.store.drivers.waits import Waits


def open_connection(location: Location, *, waits: Waits, opened: Callable[[Wire], None]) -> Connection:
    """A connection for one thread. ``opened`` is called before its first statement. Raises DriverError."""
    if location.file is None:
        from jobrunner.store.drivers.postgresql import ServerConnection

        server = ServerConnection(location.options, waits, location.schema)
        opened(server.wire)
        return server
    from jobrunner.store.drivers.sqlite import FileConnection

    file = FileConnection(location.file, waits)
    opened(file.wire)
    try:
        file.prepare()
    except DriverError:
        file.close()
        raise
    return file


def waits_unfairly(location: Location) -> bool:
    """Whether a writer can starve while others write. If so, each write also renews the leases of its tick."""
    return location.file is not None
