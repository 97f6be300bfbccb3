"""A connection of Django to a test's database, in a process that may know Django's settings already or not."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from harness.database import Database, SQLiteDatabase


@contextmanager
def django_connection(database: Database) -> Iterator[Any]:
    """Django's default connection, for this thread and block."""
    django = pytest.importorskip("django")
    from django.conf import settings

    options = _options(database)
    if not settings.configured:
        settings.configure(DATABASES={"default": options})
        django.setup()
    from django.db import connections
    from django.db.utils import ConnectionHandler

    connection = ConnectionHandler({"default": options})["default"]
    before = connections._connections.default if hasattr(connections._connections, "default") else None
    connections["default"] = connection
    try:
        yield connection
    finally:
        connection.close()
        if before is not None:
            connections["default"] = before


def _options(database: Database) -> dict[str, Any]:
    if isinstance(database, SQLiteDatabase):
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(database.path)}
    given = psycopg.conninfo.conninfo_to_dict(database.url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": given["dbname"],
        "USER": given["user"],
        "PASSWORD": given["password"],
        "HOST": given["host"],
        "PORT": given["port"],
        "OPTIONS": {name: given[name] for name in ("sslmode", "gssencmode") if name in given},
    }
