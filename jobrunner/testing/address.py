"""The URL of the database that a connection of a test is on, for a tick in another process."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from jobrunner.errors import UsageError
from jobrunner.store.sql.traits import databases

_OPEN = "a transaction is open on the connection, and a tick sees only what is committed: commit first, or use drain()"


def url_of(connection: Any) -> str:
    """The URL. Raises UsageError for a database in memory, and if a transaction is open."""
    if hasattr(connection, "ensure_connection"):
        return _url_of_django(connection)
    if hasattr(connection, "begin_nested"):
        return _url_of_sqlalchemy(connection)
    if hasattr(connection, "in_transaction"):
        return _url_of_file(connection)
    return _url_of_server(connection)


def _url_of_django(connection: Any) -> str:
    from jobrunner.contrib.django.conf import url_of as url_of_settings

    connection.ensure_connection()
    if connection.vendor in databases(has_server=False):
        return _url_of_file(connection.connection)
    _refuse_open_transaction(connection.connection)
    # With what decides how to connect, such as sslmode and assume_role.
    return url_of_settings(connection)


def _url_of_sqlalchemy(connection: Any) -> str:
    if connection.in_transaction():
        raise UsageError(_OPEN)
    bound = connection.get_bind() if hasattr(connection, "get_bind") else connection
    url = bound.engine.url
    if url.get_backend_name() in databases(has_server=False):
        return _url_of_named(url.database or "")
    return str(url.set(drivername=url.get_backend_name()).render_as_string(hide_password=False))


def _url_of_file(connection: Any) -> str:
    if connection.in_transaction:
        raise UsageError(_OPEN)
    return _url_of_named(next(row[2] for row in connection.execute("PRAGMA database_list") if row[1] == "main"))


def _url_of_named(file: str) -> str:
    if not file or ":memory:" in file or "mode=memory" in file:
        raise UsageError("the database is in memory, where no other process can see it; use drain(), or a file")
    return f"sqlite:///{file}"


def _url_of_server(connection: Any) -> str:
    _refuse_open_transaction(connection)
    info = connection.info
    user, password = quote(info.user, safe=""), quote(info.password, safe="")
    host = f"?host={quote(info.host)}" if info.host.startswith("/") else ""
    # In brackets, or the colons of an address of IPv6 are read as the port's.
    name = f"[{info.host}]" if ":" in info.host else info.host
    place = f":{info.port}" if host else f"{name}:{info.port}"
    return f"postgresql://{user}:{password}@{place}/{quote(info.dbname, safe='')}{host}"


def _refuse_open_transaction(connection: Any) -> None:
    if connection.info.transaction_status != 0:  # psycopg.pq.TransactionStatus.IDLE
        raise UsageError(_OPEN)
