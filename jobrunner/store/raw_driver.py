"""A database as its driver knows it, without SQLAlchemy: for the idle tick, and for ``dialect``, which builds on it.

The words of SQL, the options of a connection and the end of a call that hangs are said here once, for both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

from jobrunner.store.waits import PROBE, Waits

T = TypeVar("T")

_FILE_URL = re.compile(r"sqlite(?:\+pysqlite|\+aiosqlite)?:///(?!:memory:)([^?#%]+)", re.ASCII)
# Only what can be read in one way: everything else is left to SQLAlchemy, which the other commands go by.
_SERVER_URL = re.compile(
    r"(?:postgres|postgresql)(?:\+(?:psycopg|psycopg2|asyncpg))?://"
    r"(?:([^:/@?#]+)(?::([^:/@?#]*))?@)?([A-Za-z0-9.-]*)(?::([1-9]\d{0,4}))?/([A-Za-z0-9_.-]+)(?:\?([^?#]+))?",
    re.ASCII,
)
_SERVER_OPTIONS = {"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "channel_binding", "gssencmode"}

# julianday() is a double whose last bits are worth some 40 microseconds: milliseconds are what it holds.
SQLITE_NOW = (
    "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000"
    " + (SELECT clock_offset FROM job_state))"
)
POSTGRESQL_NOW = "jobrunner_now()"
SQLITE_WORDS = {"now": SQLITE_NOW, "ten_minutes": "600000000", "given": "?"}
POSTGRESQL_WORDS = {"now": POSTGRESQL_NOW, "ten_minutes": "interval '10 minutes'", "given": "%s"}


class CannotTell(Exception):
    """Not to be asked in this way: the full path asks, and tells what is wrong."""


def change(url: str, statement: Callable[[dict[str, str]], str], values: tuple[str, ...]) -> int:
    """Run one statement in a transaction of its own, and return the number of rows it wrote.

    ``statement`` makes it of the database's words. Raises CannotTell for a URL of the less usual kinds, and whatever
    the driver raises; waits for nothing longer than a moment.
    """
    if file := file_of(url):
        return _change_file(file, statement(SQLITE_WORDS), values)
    return _ask_server(server_options(url), statement(POSTGRESQL_WORDS), values, lambda cursor: int(cursor.rowcount))


def _change_file(file: Path, statement: str, values: tuple[str, ...]) -> int:
    import sqlite3

    with closing(sqlite3.connect(file_uri(file), uri=True, timeout=PROBE.file)) as connection:
        prepare_file_connection(connection)
        return connection.execute(statement, values).rowcount


def first_row(options: dict[str, Any], statement: str, values: tuple[Any, ...]) -> Any:
    """What a server answers at once, on a connection of its own; None: no row. Raises whatever the driver raises."""
    return _ask_server(options, statement, values, lambda cursor: cursor.fetchone())


def _ask_server(options: dict[str, Any], statement: str, values: tuple[Any, ...], answer: Callable[[Any], T]) -> T:
    import threading

    import psycopg

    options = options | connection_options(PROBE, given=options)
    with closing(psycopg.connect(**options)) as connection:
        # Nothing else ends a call to a server that does not answer any more.
        watch = threading.Timer(PROBE.call, _cut, [connection])
        watch.daemon = True
        watch.start()
        try:
            # One message, which is one transaction: the limits cost no round trip, and hold behind a pooler.
            cursor = psycopg.ClientCursor(connection)
            cursor.execute(f"{limits(PROBE)}; {statement}".encode(), values)
            while cursor.nextset():
                pass
            return answer(cursor)
        finally:
            watch.cancel()


def _cut(connection: Any) -> None:
    cancel(connection, PROBE)
    shut_down(connection)


def file_of(url: str) -> Path | None:
    """The file that a URL names; None where it is no plain one of a file."""
    found = _FILE_URL.fullmatch(url.strip())
    return Path(found[1]).absolute() if found else None


def server_options(url: str) -> dict[str, Any]:
    """What a URL says, as psycopg takes it. Raises CannotTell."""
    found = _SERVER_URL.fullmatch(url.strip())
    if found is None or url.count("@") > 1:
        raise CannotTell
    user, password, host, port, name, query = found.groups()
    given = parse_qsl(query or "")
    options = dict(given)
    if len(options) != len(given) or not _SERVER_OPTIONS.issuperset(options) or "," in options.get("host", ""):
        raise CannotTell
    if int(port or 0) > 65535:
        raise CannotTell
    from_url = {
        "user": user and unquote(user),
        "password": password and unquote(password),
        "host": host,
        "port": port and int(port),
        "dbname": name,
    }
    return {key: value for key, value in from_url.items() if value} | options


def file_uri(file: Path) -> str:
    """With mode=rw: a file that is not there is an error, never silently created empty."""
    quoted = str(file).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?mode=rw"


def prepare_file_connection(connection: Any) -> None:
    """What each connection to a file must be told."""
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # NORMAL may lose the last commits at a power cut: a finished run would run again.
    connection.execute("PRAGMA synchronous = FULL")


def connection_options(waits: Waits, *, given: Container[str]) -> dict[str, Any]:
    """What each connection to a server is opened with, beside what its URL has ``given``."""
    of_the_network = {
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        # What was sent and is not even received: milliseconds.
        "tcp_user_timeout": round(waits.call * 1000),
    }
    return {
        "connect_timeout": waits.connect,
        # Behind a transaction pooler a prepared statement is on another server connection the next time.
        "prepare_threshold": None,
        "application_name": "jobrunner",
        # Whatever the database's own is: in one without an encoding the driver reads bytes where texts are expected.
        "client_encoding": "utf8",
        # Each transaction begins with a BEGIN of our own, which brings its limits along.
        "autocommit": True,
        **{name: value for name, value in of_the_network.items() if name not in given},
    }


def limits(waits: Waits) -> str:
    """The server's own limits, as the statements with which a transaction begins."""
    values = {
        "lock_timeout": waits.lock,
        "statement_timeout": waits.statement,
        "idle_in_transaction_session_timeout": waits.idle,
    }
    return "; ".join(f"SET LOCAL {name} = {seconds * 1000:.0f}" for name, seconds in values.items())


def cancel(connection: Any, waits: Waits) -> None:
    """Have the server end what it does for this connection. From any thread; returns in a moment.

    A server whose client has gone without a word goes on waiting.
    """
    with suppress(Exception):
        connection.cancel_safe(timeout=waits.cancel)


def shut_down(connection: Any) -> None:
    """End whatever a connection to a server waits for. From any thread.

    A COMMIT to a stopped server ignores every timeout that can be set beforehand.
    """
    import socket

    try:
        # A duplicate, since the descriptor's number may be closed and used again at this moment.
        with socket.socket(fileno=os.dup(connection.pgconn.socket)) as connected:
            connected.shutdown(socket.SHUT_RDWR)
    except Exception:  # noqa: BLE001 - already closed, which is what was wanted
        return
