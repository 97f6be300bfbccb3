"""The test harness: a real PostgreSQL and SQLite, and the installed command as a real process.

Tests take the fixtures by name (`database`, `jobrunner`, `app`, `private_postgres`, `private_jobrunner`); what they
need by import is here.
"""

from harness.app import App
from harness.commands import Commands
from harness.database import Database, PostgresDatabase, SQLiteDatabase
from harness.databases import PrivatePostgres, postgresql_only, sqlite_only
from harness.waiting import wait_for

__all__ = [
    "App",
    "Commands",
    "Database",
    "PostgresDatabase",
    "PrivatePostgres",
    "SQLiteDatabase",
    "postgresql_only",
    "sqlite_only",
    "wait_for",
]
