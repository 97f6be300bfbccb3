"""Lets a process open only the databases that it was told of: a child of a test must not open the real one.

What is looked at: engines of SQLAlchemy, and connections of psycopg and asyncpg. Which database a connection is on is
asked of its server of PostgreSQL, because the same one has many addresses, and an address can lead to many. Of the
files that sqlite3 itself opens, only those are refused that are known to be real: tools of a test keep others.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import pq
from sqlalchemy import event
from sqlalchemy.engine import Engine

from jobrunner.errors import DatabaseUnavailable, UsageError
from jobrunner.store.drivers import full_url

# Of a server its start, to the microsecond, in words that no setting of the session changes.
_WHO = """
SELECT CAST(CAST(extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000 AS bigint) AS pg_catalog.text)
  || ' ' || CAST(oid AS pg_catalog.text) || ' ' || CAST(datname AS pg_catalog.text)
FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()
"""
_ASKED = "jobrunner_asked"
_Place = tuple[str, str, str, str]


def allow_only(urls: Iterable[str], note: Callable[[str], None], *, real: Iterable[str] = ()) -> None:
    """Refuse connections to other databases from now on. ``note`` gets the sentence; then UsageError is raised.

    ``real`` are the URLs of databases that are known to be real, as far as they are not among ``urls``.
    """
    guard = _Guard(urls, note)
    event.listen(Engine, "do_connect", guard.before_engine)
    event.listen(Engine, "engine_connect", guard.after_engine)
    guard.watch_psycopg()
    guard.watch_files({file for url in real if (file := _file_of(url)) is not None})
    if find_spec("asyncpg") is not None:
        guard.watch_asyncpg()


class _Guard:
    def __init__(self, urls: Iterable[str], note: Callable[[str], None]) -> None:
        self._note = note
        self._files: set[str] = set()
        self._servers: list[dict[str, Any]] = []
        self._others: set[_Place] = set()
        self._connect = psycopg.Connection[Any].connect
        for url in urls:
            self._allow(url)

    def _allow(self, url: str) -> None:
        try:
            file, _, options = full_url.read(url)
        except DatabaseUnavailable:
            # Of another kind: an engine of SQLAlchemy may open it.
            parts = urlsplit(url)
            self._others.add(_place(parts.scheme, parts.hostname, parts.port, parts.path[1:]))
            return
        if file is not None:
            self._files.add(os.path.realpath(file))
        else:
            self._servers.append(options)

    def before_engine(self, dialect: Any, _: object, words: Sequence[Any], options: dict[str, Any]) -> None:
        """SQLAlchemy calls it before it connects by a URL."""
        if dialect.name == "sqlite":
            self._check_file(str(words[0] if words else options.get("database", "")))
        elif dialect.name != "postgresql":
            name = str(options.get("dbname") or options.get("database") or options.get("db") or "")
            place = _place(dialect.name, options.get("host"), options.get("port"), name)
            if place not in self._others:
                self._refuse(f"{dialect.name}://{':'.join(filter(None, place[1:3]))}/{name}")

    def after_engine(self, connection: Any) -> None:
        """SQLAlchemy calls it before somebody gets a connection, whatever has opened it."""
        if connection.dialect.name not in ("sqlite", "postgresql") or _ASKED in connection.info:
            return
        is_file = connection.dialect.name == "sqlite"
        driver = connection.connection.dbapi_connection
        cursor = driver.cursor()
        try:
            cursor.execute("PRAGMA database_list" if is_file else _WHO)
            rows = [tuple(row) for row in cursor.fetchall()]
            cursor.close()
            if is_file:
                self._check_file(next(row[2] for row in rows if row[1] == "main"))
            else:
                driver.rollback()
                self._check_server(rows[0][0])
        except BaseException:
            connection.invalidate()
            raise
        connection.info[_ASKED] = True

    def _check_file(self, given: str) -> None:
        file = _file_in(given)
        if file is not None and file not in self._files:
            self._refuse(f"sqlite:///{file}")

    def watch_files(self, real: set[str]) -> None:
        """Refuse that sqlite3 itself opens one of these files, unless it is one of the allowed."""
        connect, refused = sqlite3.connect, real - self._files

        def checked(database: Any, *words: Any, **options: Any) -> Any:
            file = _file_in(os.fsdecode(database))
            if file in refused:
                self._refuse(f"sqlite:///{file}")
            return connect(database, *words, **options)

        if refused:
            sqlite3.connect = sqlite3.dbapi2.connect = checked

    def watch_psycopg(self) -> None:
        """Look at each connection of psycopg before its owner gets it."""
        connect, connect_async, guard = self._connect.__func__, psycopg.AsyncConnection.connect.__func__, self  # type: ignore[attr-defined]

        def checked(cls: Any, *words: Any, **options: Any) -> Any:
            return guard._checked_psycopg(connect(cls, *words, **options))

        async def checked_async(cls: Any, *words: Any, **options: Any) -> Any:
            return guard._checked_psycopg(await connect_async(cls, *words, **options))

        psycopg.Connection.connect = classmethod(checked)  # type: ignore[method-assign,assignment]
        psycopg.AsyncConnection.connect = classmethod(checked_async)  # type: ignore[method-assign,assignment]
        psycopg.connect = psycopg.Connection.connect

    def _checked_psycopg(self, made: Any) -> Any:
        info = made.info
        try:
            self._check_server(_answer(made), f"{info.host}:{info.port}")
        except BaseException:
            made.pgconn.finish()
            raise
        return made

    def watch_asyncpg(self) -> None:
        """Look at each connection of asyncpg, also of its pools, before its owner gets it."""
        import asyncpg  # type: ignore[import-untyped]
        from asyncpg import connection

        connect = connection.connect

        async def checked(*words: Any, **options: Any) -> Any:
            made = await connect(*words, **options)
            try:
                self._check_server(await made.fetchval(_WHO))
            except BaseException:
                made.terminate()
                raise
            return made

        asyncpg.connect = connection.connect = checked

    def _check_server(self, answer: str, address: str = "") -> None:
        if answer not in self._allowed_servers:
            self._refuse(f"postgresql://{address}/{answer.split(' ', 2)[2]}")

    @cached_property
    def _allowed_servers(self) -> set[str]:
        found = set()
        for options in self._servers:
            with self._connect(**options) as connection:
                found.add(_answer(connection))
        return found

    def _refuse(self, what: str) -> NoReturn:
        sentence = (
            f"a process of a test would open {what}, which is not the database of the test; give the tick the variable"
            " from which the application reads its URL, as in jobs.tick(DATABASE_URL=url); if it is another database of"
            " the test, name it, as in jobs.tick(databases=[url]); or use drain()"
        )
        self._note(sentence)
        raise UsageError(sentence)


def _answer(connection: Any) -> str:
    """What its server says of a connection of psycopg, whatever cursors and types its class has."""
    result = connection.pgconn.exec_(_WHO.encode())
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise psycopg.errors.error_from_result(result)
    return bytes(result.get_value(0, 0)).decode()


def _file_of(url: str) -> str | None:
    try:
        file: Path | None = full_url.read(url)[0]
    except DatabaseUnavailable:
        return None
    return None if file is None else os.path.realpath(file)


def _file_in(given: str) -> str | None:
    """The file that sqlite3 would open for this path or URI; None: a database in memory."""
    path, _, options = given.removeprefix("file:").partition("?")
    if path in ("", ":memory:") or "mode=memory" in options:
        return None
    return os.path.realpath(unquote(path) if given.startswith("file:") else given)


def _place(scheme: str, host: object, port: object, name: str) -> _Place:
    return scheme.partition("+")[0], str(host or ""), str(port or ""), name
