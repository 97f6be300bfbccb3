"""Engines of SQLAlchemy for handlers that have none of their own. Only ``ctx.transaction()`` uses them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.pool import NullPool

from jobrunner.errors import UsageError
from jobrunner.store.drivers.location import Location
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.drivers.sqlite import FileConnection
from jobrunner.store.drivers.waits import Waits

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine


def open_engine(location: Location, waits: Waits) -> Engine:
    """An engine for this database. Each of its connections is opened for one transaction."""
    if location.file is None:
        return create_engine("postgresql+psycopg://", creator=lambda: _server(location, waits), poolclass=NullPool)
    file = location.file
    engine = create_engine("sqlite://", creator=lambda: _file(FileConnection(file, waits)), poolclass=NullPool)
    _begin_at_once(engine)
    return engine


def open_async_engine(location: Location, waits: Waits) -> AsyncEngine:
    """The same for await. Raises UsageError if a library that it needs is not installed."""
    needed = "greenlet" if location.has_server else "greenlet aiosqlite"
    try:
        for name in needed.split():
            import_module(name)
    except ImportError as error:
        raise UsageError(
            f"async with ctx.transaction() needs {error.name}: pip install {needed}; or give it a connection of yours"
        ) from None
    from sqlalchemy.ext.asyncio import create_async_engine

    if location.file is None:
        psycopg = import_module("psycopg")
        options = _options(location, waits)
        return create_async_engine(
            "postgresql+psycopg://",
            async_creator=lambda: psycopg.AsyncConnection.connect(**options),
            poolclass=NullPool,
        )
    file, aiosqlite = location.file, import_module("aiosqlite")
    engine = create_async_engine(
        "sqlite+aiosqlite://",
        async_creator=lambda: aiosqlite.Connection(lambda: _file(FileConnection(file, waits)), 64),
        poolclass=NullPool,
    )
    _begin_at_once(engine.sync_engine)
    return engine


def _begin_at_once(engine: Engine) -> None:
    # Not deferred: such a transaction may fail at its first write, whatever the busy timeout is.
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))


def _server(location: Location, waits: Waits) -> Any:
    import psycopg

    return psycopg.connect(**_options(location, waits))


def _options(location: Location, waits: Waits) -> dict[str, Any]:
    options = {**location.options, **raw_driver.connection_options(waits, given=location.options)}
    return {**options, "autocommit": False}


def _file(connection: FileConnection) -> Any:
    connection.prepare()
    return connection.driver
