"""One statement to a PostgreSQL server through libpq itself, which is loaded by ctypes.

To import psycopg takes more than ten times as long as Python's own start, and an idle tick has only this one statement.
The library is the one that psycopg uses, so both understand the same connection options.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec

from jobrunner.store.drivers.raw import sockets
from jobrunner.store.drivers.waits import Waits
from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Self

_CONNECTION_OK = 0
_ignore = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(lambda *_: None)
"""libpq itself would print what the server warns of on stderr."""
_DONE = (1, 2)  # PGRES_COMMAND_OK, PGRES_TUPLES_OK
_FOLDERS = ("psycopg_binary.libs", "psycopg_binary/.dylibs")
_NAMES = ("libpq.so.5", "libpq.5.dylib")
_TEXTS = ("PQerrorMessage", "PQresultErrorMessage", "PQcmdTuples")
_POINTERS = ("PQconnectdbParams", "PQexec", "PQescapeLiteral", "PQgetCancel")


class LibraryMissing(Exception):
    """There is no libpq that can be loaded this way."""


def change(options: Mapping[str, Any], statements: str, values: Sequence[str], waits: Waits) -> int:
    """Execute statements in one transaction of their own. Returns how many rows the last one wrote.

    Each ``%s`` in the text stands for the next of ``values``. Raises LibraryMissing, OSError if the server cannot be
    reached, refuses a statement or does not answer within ``waits.call``.
    """
    library = _library()
    names, given = ([*(str(each).encode() for each in column), None] for column in zip(*options.items(), strict=True))
    texts = ctypes.c_char_p * len(names)
    connection = ctypes.c_void_p(library.PQconnectdbParams(texts(*names), texts(*given), 0))
    try:
        if library.PQstatus(connection) != _CONNECTION_OK:
            raise OSError(library.PQerrorMessage(connection).decode("utf-8", "replace"))
        text = statements % tuple(_quoted(library, connection, value) for value in values)
        library.PQsetNoticeProcessor(connection, _ignore, None)
        with _Limit(library, connection, waits) as limit:
            # One message is one transaction, with only the result of the last statement.
            result = ctypes.c_void_p(library.PQexec(connection, text.encode()))
        try:
            if limit.is_over:
                # Also if it succeeded: its COMMIT has waited in vain for a standby, and the full tick says so.
                raise OSError("no answer in time")
            if library.PQresultStatus(result) not in _DONE:
                raise OSError(library.PQresultErrorMessage(result).decode("utf-8", "replace"))
            return int(library.PQcmdTuples(result) or 0)
        finally:
            library.PQclear(result)
    finally:
        library.PQfinish(connection)


def _quoted(library: Any, connection: ctypes.c_void_p, value: str) -> str:
    encoded = value.encode()
    quoted = ctypes.c_void_p(library.PQescapeLiteral(connection, encoded, ctypes.c_size_t(len(encoded))))
    if not quoted.value:
        raise OSError(library.PQerrorMessage(connection).decode("utf-8", "replace"))
    try:
        return ctypes.string_at(quoted).decode()
    finally:
        library.PQfreemem(quoted)


class _Limit:
    """Ends the call that is made inside: first by a request to the server, then by closing the socket."""

    def __init__(self, library: Any, connection: ctypes.c_void_p, waits: Waits) -> None:
        self.is_over = False
        self._library = library
        self._cancel = ctypes.c_void_p(library.PQgetCancel(connection))
        self._socket = sockets.HeldSocket(library.PQsocket(connection))
        self._timers = [
            threading.Timer(waits.call, self._ask),
            threading.Timer(waits.call + waits.cancel, self._socket.shut_down),
        ]

    def __enter__(self) -> Self:
        for timer in self._timers:
            timer.daemon = True
            timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()
        self._socket.close()

    def _ask(self) -> None:
        self.is_over = True
        error = ctypes.create_string_buffer(256)
        self._library.PQcancel(self._cancel, error, len(error))


@cache
def _library() -> Any:
    for path in _candidates():
        with suppress(OSError):
            library = ctypes.CDLL(path)
            for name in _TEXTS:
                getattr(library, name).restype = ctypes.c_char_p
            for name in _POINTERS:
                getattr(library, name).restype = ctypes.c_void_p
            return library
    raise LibraryMissing


def _candidates() -> Iterator[str]:
    # The wheel's own library comes first. To find the package does not import it.
    found = find_spec("psycopg_binary")
    for folder in (found and found.submodule_search_locations) or ():
        for libraries in _FOLDERS:
            beside = os.path.join(os.path.dirname(folder), libraries)
            with suppress(OSError):
                yield from [f"{beside}/{name}" for name in sorted(os.listdir(beside)) if name.startswith("libpq")]
    yield from _NAMES
