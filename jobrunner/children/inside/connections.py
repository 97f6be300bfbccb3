"""Keeps a run from leaving its database connections to the next run of its child in a bad state.

Nothing is imported here: only Django and SQLAlchemy that the handlers have imported are looked at.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from typing import Any
from weakref import WeakSet

from jobrunner.children.messages import Report

_sessions: WeakSet[Any] = WeakSet()
_connections: WeakSet[Any] = WeakSet()
_is_listening = False
_main_thread = _thread.get_ident()  # threading would cost its import in every child


def prepare() -> None:
    """Listen for the transactions that SQLAlchemy begins. Call it when the handlers are imported."""
    global _is_listening  # noqa: PLW0603 - a process has one SQLAlchemy
    if _is_listening or "sqlalchemy" not in sys.modules:
        return
    sqlalchemy = sys.modules["sqlalchemy"]
    sqlalchemy.event.listen(sqlalchemy.Engine, "begin", _note_connection)
    if "sqlalchemy.orm" in sys.modules:
        sqlalchemy.event.listen(sys.modules["sqlalchemy.orm"].Session, "after_begin", _note_session)
    _is_listening = True


def before_run() -> None:
    """Close Django's connections that can no longer be used, as Django does before a request."""
    if "django.db" in sys.modules:
        _refresh_django()


def after_run(report: Report) -> None:
    """Do what Django does after a request, and roll back what a failed run has left open in SQLAlchemy.

    A session or connection that handlers keep would otherwise refuse every later run, or commit half of this one.
    """
    if "django.db" in sys.modules:
        _refresh_django()
    if report.outcome != "succeeded" and "sqlalchemy" in sys.modules:
        _roll_back()
        prepare()


def around_async_run() -> AbstractAsyncContextManager[None]:
    """Refresh Django's connections before and after the run of a coroutine.

    Those of coroutines are in one thread of Django's own. One that is inside ``atomic()`` is left alone. Connections of
    SQLAlchemy are left alone, because other coroutines may use them.
    """
    return _around_async_run() if "django.db" in sys.modules else nullcontext()


@asynccontextmanager
async def _around_async_run() -> AsyncGenerator[None, None]:
    in_djangos_thread = sys.modules["asgiref.sync"].sync_to_async(_refresh_django)
    await in_djangos_thread()
    try:
        yield
    finally:
        await in_djangos_thread()


def _refresh_django() -> None:
    database = sys.modules["django.db"]
    # A handler's run must not fail because of a connection that it may not use.
    with suppress(Exception):
        settings = sys.modules["django.conf"].settings
        if settings.configured:
            database.close_old_connections()
            if settings.DEBUG:
                # Otherwise the list of all queries grows for as long as the child lives.
                database.reset_queries()


def _roll_back() -> None:
    # Sessions first: their end returns their connections.
    for begun in (*_sessions, *_connections):
        with suppress(Exception):
            if begun.in_transaction():
                begun.rollback()
    _sessions.clear()
    _connections.clear()


def _note_connection(connection: Any) -> None:
    # Other threads may go on after the run, with connections of their own.
    if _thread.get_ident() == _main_thread:
        _connections.add(connection)


def _note_session(session: Any, _transaction: Any, _connection: Any) -> None:
    if _thread.get_ident() == _main_thread:
        _sessions.add(session)
