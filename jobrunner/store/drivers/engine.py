"""An engine of SQLAlchemy for handlers that have none of their own. Only ``ctx.transaction()`` uses it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.pool import NullPool

from jobrunner.store import raw_driver
from jobrunner.store.drivers.sqlite import FileConnection
from jobrunner.store.location import Location
from jobrunner.store.waits import Waits


def open_engine(location: Location, waits: Waits) -> Engine:
    """An engine for this database. Each of its connections is opened for one transaction."""
    if location.file is None:
        return create_engine("postgresql+psycopg://", creator=lambda: _server(location, waits), poolclass=NullPool)
    file = location.file
    engine = create_engine("sqlite://", creator=lambda: _file(FileConnection(file, waits)), poolclass=NullPool)
    # Not deferred: such a transaction may fail at its first write, whatever the busy timeout is.
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _server(location: Location, waits: Waits) -> Any:
    import psycopg

    options = {**location.options, **raw_driver.connection_options(waits, given=location.options)}
    return psycopg.connect(**{**options, "autocommit": False})


def _file(connection: FileConnection) -> Any:
    connection.prepare()
    return connection.driver
