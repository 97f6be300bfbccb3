"""Lets a process open only the databases that it was told of: a child of a test must not open the real one.

What is looked at: engines of SQLAlchemy, and connections of psycopg. A file that is opened by sqlite3 itself is not:
tools that measure a test keep such files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg.rows import tuple_row
from sqlalchemy import event
from sqlalchemy.engine import Engine

from jobrunner.errors import DatabaseUnavailable, UsageError
from jobrunner.store import full_url

_WHO = "SELECT current_database()::text, pg_postmaster_start_time()::text"


def allow_only(urls: Sequence[str], note: Callable[[str], None]) -> None:
    """Refuse connections to other databases from now on. ``note`` gets the sentence; then UsageError is raised."""
    guard = _Guard(urls, note)
    event.listen(Engine, "do_connect", guard.before_engine)
    guard.watch_psycopg()


class _Guard:
    def __init__(self, urls: Sequence[str], note: Callable[[str], None]) -> None:
        self._note = note
        self._files: set[str] = set()
        self._servers: list[dict[str, Any]] = []
        self._connect = psycopg.Connection[Any].connect
        self._others: set[tuple[str, str, str]] = set()
        for url in urls:
            try:
                file, _, options = full_url.read(url)
            except DatabaseUnavailable:
                # Of another kind: an engine of SQLAlchemy may open it.
                parts = urlsplit(url)
                self._others.add(_place(parts.hostname, parts.port, parts.path[1:]))
                continue
            if file is not None:
                self._files.add(os.path.realpath(file))
            else:
                self._servers.append(options)

    def before_engine(self, dialect: Any, _: object, words: Sequence[Any], options: dict[str, Any]) -> None:
        """SQLAlchemy calls it before it connects."""
        if dialect.name == "sqlite":
            self._check_file(str(words[0] if words else options.get("database", "")))
        elif dialect.driver not in ("psycopg", "psycopg_async"):
            name = str(options.get("dbname") or options.get("database") or options.get("db") or "")
            place = _place(options.get("host"), options.get("port"), name)
            servers = {_place(o.get("host"), o.get("port"), str(o.get("dbname", ""))) for o in self._servers}
            if place not in servers | self._others:
                self._refuse(f"{dialect.name}://{':'.join(filter(None, place[:2]))}/{name}")

    def _check_file(self, given: str) -> None:
        path, _, options = given.removeprefix("file:").partition("?")
        in_memory = path in ("", ":memory:") or "mode=memory" in options
        file = os.path.realpath(unquote(path) if given.startswith("file:") else given)
        if not in_memory and file not in self._files:
            self._refuse(f"sqlite:///{file}")

    def watch_psycopg(self) -> None:
        """Look at each connection of psycopg before its owner gets it."""
        connect, connect_async, guard = self._connect.__func__, psycopg.AsyncConnection.connect.__func__, self  # type: ignore[attr-defined]

        def checked(cls: Any, *words: Any, **options: Any) -> Any:
            made = connect(cls, *words, **options)
            try:
                found = psycopg.Cursor(made, row_factory=tuple_row).execute(_WHO).fetchone()
                made.rollback()
                guard._check_server(made, found)
            except BaseException:
                made.close()
                raise
            return made

        async def checked_async(cls: Any, *words: Any, **options: Any) -> Any:
            made = await connect_async(cls, *words, **options)
            try:
                asked = await psycopg.AsyncCursor(made, row_factory=tuple_row).execute(_WHO)
                found = await asked.fetchone()
                await made.rollback()
                guard._check_server(made, found)
            except BaseException:
                await made.close()
                raise
            return made

        psycopg.Connection.connect = classmethod(checked)  # type: ignore[method-assign,assignment]
        psycopg.AsyncConnection.connect = classmethod(checked_async)  # type: ignore[method-assign,assignment]
        psycopg.connect = psycopg.Connection.connect

    def _check_server(self, made: Any, found: Any) -> None:
        # Asked of the server: the same database has many addresses.
        if found is None or found not in self._allowed_servers():
            info = made.info
            self._refuse(f"postgresql://{info.host}:{info.port}/{info.dbname}")

    @cache  # noqa: B019 - there is one guard in a process
    def _allowed_servers(self) -> set[tuple[str, str]]:
        found = set()
        for options in self._servers:
            with self._connect(**options) as connection:
                name, began = connection.execute(_WHO).fetchone() or ("", "")
                found.add((name, began))
        return found

    def _refuse(self, what: str) -> NoReturn:
        sentence = (
            f"a process of a test would open {what}, which is not the database of the test; give the tick the variable"
            " from which the application reads its URL, as in jobs.tick(DATABASE_URL=url); if it is another database of"
            " the test, name it, as in jobs.tick(databases=[url]); or use drain()"
        )
        self._note(sentence)
        raise UsageError(sentence)


def _place(host: object, port: object, name: str) -> tuple[str, str, str]:
    return str(host or ""), str(port or ""), name
