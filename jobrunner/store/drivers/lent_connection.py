"""An open connection of ours and its transaction, lent to SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from sqlalchemy import Connection as EngineConnection
from sqlalchemy import NullPool, create_engine, exc

from jobrunner.store.drivers.connection import Connection


@contextmanager
def engine_on(connection: Connection) -> Iterator[EngineConnection]:
    """The open connection and its transaction for SQLAlchemy, which Alembic needs. Its errors become ours."""
    if connection.engine is not None:
        yield connection.engine
        return
    is_server = connection.traits.has_server
    # Otherwise SQLAlchemy asks the server for the type hstore first.
    options: Any = {"use_native_hstore": False} if is_server else {}
    url = "postgresql+psycopg://" if is_server else "sqlite://"
    engine = create_engine(url, creator=lambda: _Lent(connection.driver), poolclass=NullPool, **options)
    try:
        with engine.connect() as lent:
            yield lent
    except exc.DBAPIError as error:
        raise connection.raised(cast(Exception, error.orig)) from error


class _Lent:
    """A driver's connection whose transaction SQLAlchemy neither commits nor rolls back, and that it does not close."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def commit(self) -> None:
        """Do nothing: ``Database`` commits."""

    def create_function(self, *_: Any, **__: Any) -> None:
        """Do nothing: SQLAlchemy would replace the function REGEXP, of which Django has its own."""

    def rollback(self) -> None:
        """Do nothing: ``Database`` rolls back."""

    def close(self) -> None:
        """Do nothing: ``Database`` closes the connection."""
