"""The raw driver: a database without SQLAlchemy, for the idle tick and for ``drivers``.

Both use its SQL words, its connection options and its ways to end a call that hangs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container
from contextlib import closing, suppress

from jobrunner import clock
from jobrunner.store.drivers.raw.sockets import HeldSocket
from jobrunner.store.drivers.waits import PROBE, Waits
from jobrunner.store.sql.words import SQLITE_WORDS, postgresql_words
from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

_CROWD_SECONDS = 5.0
"""For so long an idle tick asks for a free connection. After that the full tick does."""
# Only URLs with one possible meaning. All others are left to SQLAlchemy, which the other commands use. The expression
# is compiled when it is used first: a tick has one kind of URL.
_FILE_SCHEMES = ("sqlite", "sqlite+pysqlite", "sqlite+aiosqlite")
_SERVER_URL = (
    r"(?a)(?:postgres|postgresql)(?:\+(?:psycopg|psycopg2|asyncpg))?://"
    r"(?:([^:/@?#]+)(?::([^:/@?#]*))?@)?([A-Za-z0-9.-]*)(?::([1-9]\d{0,4}))?/([A-Za-z0-9_.-]+)(?:\?([^?#]+))?"
)
_SERVER_OPTIONS = {"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "channel_binding", "gssencmode"}

NONE_FREE = r"too many (clients|connections)|connection slots|no more connections allowed"
"""What a server or PgBouncer says, in lower case, where others have all connections that there may be."""
MOST_BYTES_CHECKED = 8 * 2**20
"""A tick does not check a larger SQLite file for damage: this one takes a twentieth of a second."""


class UnusualUrl(Exception):
    """The raw driver does not handle this URL. The full tick handles it, or reports what is wrong."""


class FileDamaged(Exception):
    """The SQLite file is damaged. The full tick reports it."""


def change(
    url: str,
    schema: str | None,
    statement: Callable[[dict[str, str]], str],
    values: tuple[str, ...],
    *,
    is_checked: bool = False,
) -> int:
    """Run one statement in its own transaction, and return the number of rows that it wrote.

    ``is_checked``: a file is checked for damage before.

    ``statement`` builds it from the words of the database. Raises UnusualUrl for an unusual URL, or a file with a
    schema, and all errors of the driver. Its waits are short (``waits.PROBE``).
    """
    if file := file_of(url):
        if schema is not None:
            raise UnusualUrl
        return _change_file(file, statement(SQLITE_WORDS), values, is_checked=is_checked)
    # Not for a file: ctypes takes time, too.
    from jobrunner.store.drivers.raw import libpq

    options = server_options(url)
    asked = statement(postgresql_words(schema))
    text = f"{limits(PROBE)}; {asked}"
    all_options = options | _of_libpq(connection_options(PROBE, given=options))
    give_up_at = clock.elapsed() + _CROWD_SECONDS
    while True:
        try:
            return libpq.change(all_options, text, values, PROBE)
        except libpq.LibraryMissing:
            return _ask_server(options, asked, values, lambda cursor: int(cursor.rowcount))
        except OSError as error:
            # The ticks of many hosts begin in the same second. A full tick would only make the crowd worse.
            if not is_none_free(error) or clock.elapsed() >= give_up_at:
                raise
            clock.sleep(pause_before_next())


def is_none_free(error: BaseException) -> bool:
    """Whether the server has refused a connection because none is free."""
    return re.search(NONE_FREE, str(error).lower()) is not None


def pause_before_next() -> float:
    """How long to wait before the server is asked for a free connection again, not in step with others that wait."""
    return 0.1 + os.urandom(1)[0] / 256


def _of_libpq(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in ("prepare_threshold", "autocommit")}


def _change_file(file: str, statement: str, values: tuple[str, ...], *, is_checked: bool) -> int:
    import sqlite3

    with closing(sqlite3.connect(file_uri(file), uri=True, timeout=PROBE.file)) as connection:
        prepare_file_connection(connection)
        if is_checked and connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise FileDamaged
        return connection.execute(statement, values).rowcount


def first_row(options: dict[str, Any], statement: str, values: tuple[Any, ...]) -> Any:
    """The first row of a statement on its own connection. None means no row. Raises all errors of the driver."""
    return _ask_server(options, statement, values, lambda cursor: cursor.fetchone())


def _ask_server(options: dict[str, Any], statement: str, values: tuple[Any, ...], answer: Callable[[Any], T]) -> T:
    import threading

    import psycopg

    options = options | connection_options(PROBE, given=options)
    with closing(psycopg.connect(**options)) as connection, closing(HeldSocket(connection.fileno())) as held:
        # Nothing else ends a call to a server that no longer answers.
        timer = threading.Timer(PROBE.call, _cut, [connection, held])
        timer.daemon = True
        timer.start()
        try:
            # One message is one transaction. So the limits cost no round trip, and also work behind a pooler.
            cursor = psycopg.ClientCursor(connection)
            cursor.execute(f"{limits(PROBE)}; {statement}".encode(), values)
            while cursor.nextset():
                pass
            return answer(cursor)
        finally:
            timer.cancel()


def _cut(connection: Any, held: HeldSocket) -> None:
    cancel(connection, PROBE)
    held.shut_down()


def file_of(url: str) -> str | None:
    """The file that a URL names, as it is written there. None means that it is no plain URL of a file."""
    scheme, _, path = url.strip().partition(":///")
    is_plain = scheme in _FILE_SCHEMES and not path.startswith(":memory:") and not any(each in path for each in "?#%")
    return path or None if is_plain else None


def server_options(url: str) -> dict[str, Any]:
    """The options of a URL for psycopg. Raises UnusualUrl."""
    # Not for a file: it takes as long as to open one.
    from urllib.parse import parse_qsl, unquote

    found = re.fullmatch(_SERVER_URL, url.strip())
    if found is None or url.count("@") > 1:
        raise UnusualUrl
    user, password, host, port, name, query = found.groups()
    given = parse_qsl(query or "")
    options = dict(given)
    if len(options) != len(given) or not _SERVER_OPTIONS.issuperset(options) or "," in options.get("host", ""):
        raise UnusualUrl
    if int(port or 0) > 65535:
        raise UnusualUrl
    from_url = {
        "user": user and unquote(user),
        "password": password and unquote(password),
        "host": host,
        "port": port and int(port),
        "dbname": name,
    }
    return {key: value for key, value in from_url.items() if value} | options


def file_uri(file: str | os.PathLike[str]) -> str:
    """A URI with mode=rw, so that a missing file is an error and is not created empty."""
    quoted = os.fspath(file).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?mode=rw"


def prepare_file_connection(connection: Any) -> None:
    """Set the options of a connection to a file."""
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # NORMAL may lose the last commits in a power cut. Then a finished run would run again.
    connection.execute("PRAGMA synchronous = FULL")


def connection_options(waits: Waits, *, given: Container[str]) -> dict[str, Any]:
    """The options of each connection to a server, without those that its URL has ``given``."""
    of_the_network = {
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        # For data that was sent and not acknowledged, in milliseconds.
        "tcp_user_timeout": round(waits.call * 1000),
    }
    return {
        "connect_timeout": waits.connect,
        # Behind a transaction pooler the next transaction may be on a server connection without the prepared statement.
        "prepare_threshold": None,
        "application_name": "jobrunner",
        # In a database without an encoding the driver would otherwise return bytes instead of texts.
        "client_encoding": "utf8",
        # Each transaction begins with our own BEGIN, which also sets its limits.
        "autocommit": True,
        **{name: value for name, value in of_the_network.items() if name not in given},
    }


def limits(waits: Waits) -> str:
    """The statements at the start of a transaction that set the server's limits."""
    values = {
        "lock_timeout": waits.lock,
        "statement_timeout": waits.statement,
        "idle_in_transaction_session_timeout": waits.idle,
    }
    return "; ".join(f"SET LOCAL {name} = {seconds * 1000:.0f}" for name, seconds in values.items())


def cancel(connection: Any, waits: Waits) -> None:
    """Ask the server to end the current statement of this connection. Any thread may call this. It returns soon.

    Without the request a server goes on waiting after its client has disappeared.
    """
    with suppress(Exception):
        connection.cancel_safe(timeout=waits.cancel)


def shut_down(connection: Any) -> None:
    """Shut down the socket of a connection in its own thread, like a network failure."""
    # Whatever the driver raises: the connection is closed already.
    with suppress(Exception), closing(HeldSocket(connection.pgconn.socket)) as held:
        held.shut_down()
