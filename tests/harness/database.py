"""The interface of a test database, the same for SQLite and PostgreSQL."""

import json
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from harness.postgres import Access, is_over
from harness.waiting import wait_for

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIME_COLUMN = re.compile(r"(^at|_at|_for|_until)$")
JSON_COLUMNS = {
    "payload",
    "result",
    "progress",
    "checkpoint",
    "detail",
    "counts",
    "outcome",
    "can_run",
    "settings",
    "left_due",
}
SHOWN_TABLES = ("job_runs", "job_attempts", "job_ticks")

Row = dict[str, Any]


class Database(ABC):
    """What a test may do with a database besides giving its URL to jobrunner.

    Every statement is a transaction of its own, with `?` as the placeholder. Rows are dicts, equal
    on both databases: instants are aware datetimes in UTC, JSON is decoded. On SQLite that goes by the column's name
    (`at`, `..._at`, `..._for`, `..._until`; payload, result, progress, detail, counts): give computed columns such a
    name with AS.
    """

    name: str
    url: str

    @abstractmethod
    def query(self, statement: str, params: Iterable[Any] = ()) -> list[Row]: ...

    @abstractmethod
    def execute(self, statement: str, params: Iterable[Any] = ()) -> int:
        """Run a statement and return the number of rows it touched."""

    @abstractmethod
    def now(self) -> datetime:
        """What jobrunner takes for now in this database."""

    @abstractmethod
    def set_clock_offset(self, offset: timedelta) -> None:
        """Move jobrunner's now away from the real one.

        On PostgreSQL a session that is already connected goes on with the old offset: move the clock between commands,
        or `cut_connections()` afterwards. On SQLite the next statement sees it.
        """

    offset = timedelta(0)

    def move_clock(self, by: timedelta) -> None:
        """Move jobrunner's now on by so much (or back); see `set_clock_offset`."""
        self.set_clock_offset(self.offset + by)

    def value(self, statement: str, params: Iterable[Any] = ()) -> Any:
        """The first column of the first row, None without a row."""
        rows = self.query(statement, params)
        return next(iter(rows[0].values())) if rows else None

    def wait_until(
        self, statement: str, params: Iterable[Any] = (), deadline_seconds: float = 20, describe: str = ""
    ) -> Any:
        """Poll until the statement's first value is truthy and return it."""
        params = tuple(params)
        return wait_for(
            lambda: self.value(statement, params),
            deadline_seconds,
            lambda: f"{describe or statement} {params or ''}\n{self.describe()}",
        )

    def describe(self) -> str:
        """What the tables hold, for the message of a failing test."""
        return "\n".join(self._describe_table(table) for table in SHOWN_TABLES)

    def _describe_table(self, table: str) -> str:
        try:
            rows = self.query(f"SELECT * FROM {table} ORDER BY id DESC LIMIT 20")
        except (sqlite3.Error, psycopg.Error, RecursionError) as problem:
            return f"{table}: {str(problem).splitlines()[0]}"
        lines = [f"{table}: {len(rows)} rows" if rows else f"{table}: empty"]
        for row in rows:
            shown = {key: value for key, value in row.items() if value is not None}
            lines.append("  " + ", ".join(f"{key}={printable(value)}" for key, value in shown.items()))
        return "\n".join(lines)


class SQLiteDatabase(Database):
    name = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"

    def query(self, statement: str, params: Iterable[Any] = ()) -> list[Row]:
        with closing(self.connect()) as connection:
            cursor = connection.execute(statement, [to_sqlite(value) for value in params])
            names = [column[0] for column in cursor.description or ()]
            return [
                {name: from_sqlite(name, value) for name, value in zip(names, row, strict=True)}
                for row in cursor.fetchall()
            ]

    def execute(self, statement: str, params: Iterable[Any] = ()) -> int:
        with closing(self.connect()) as connection:
            return connection.execute(statement, [to_sqlite(value) for value in params]).rowcount

    def connect(self) -> sqlite3.Connection:
        """A raw connection in autocommit, for tests that hold a lock; close it yourself."""
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def now(self) -> datetime:
        # SQLite's clock shows whole milliseconds. Compared with it, a finer instant of now is still to come.
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000) + self.offset

    def set_clock_offset(self, offset: timedelta) -> None:
        if self.execute("UPDATE job_state SET clock_offset = ?", [offset]) != 1:
            raise AssertionError("job_state must have exactly one row")
        self.offset = offset


class PostgresDatabase(Database):
    """``keeps_session``: the statements share a session for as long as it lives: a new one costs ten times as much."""

    name = "postgresql"

    def __init__(self, access: Access, database: str, *, keeps_session: bool = False) -> None:
        self.access = access
        self.database = database
        self.url = access.url(database)
        self._keeps_session = keeps_session
        self._idle: list[psycopg.Connection[Row]] = []
        # The server may show one for a moment after it was closed.
        self._closed_pids: list[int] = []

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection[Row]]:
        connection = self._kept() or self.connect()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        if self._keeps_session:
            self._idle.append(connection)
        else:
            connection.close()

    def _kept(self) -> psycopg.Connection[Row] | None:
        # Threads of a test may come at the same time: each takes another one.
        while self._idle:
            connection = self._idle.pop()
            if not is_over(connection):
                return connection
            connection.close()
        return None

    def forget_sessions(self) -> None:
        """Close the sessions that are kept: the next statement has a new one."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                self._closed_pids.append(connection.info.backend_pid)
            connection.close()

    def query(self, statement: str, params: Iterable[Any] = ()) -> list[Row]:
        with self._session() as connection:
            cursor = connection.execute(translated(statement), [to_postgres(value) for value in params])
            if cursor.description is None:
                return []
            return [{key: from_postgres(value) for key, value in row.items()} for row in cursor.fetchall()]

    def execute(self, statement: str, params: Iterable[Any] = ()) -> int:
        with self._session() as connection:
            return connection.execute(translated(statement), [to_postgres(value) for value in params]).rowcount

    def connect(self) -> psycopg.Connection[Row]:
        """A raw connection in autocommit, for tests that hold a lock; close it yourself."""
        return psycopg.connect(
            self.url,
            autocommit=True,
            row_factory=dict_row,
            # Values are written into the statement: no guessing at the types of parameters on the server's side.
            cursor_factory=psycopg.ClientCursor,
            prepare_threshold=None,
            connect_timeout=10,
            application_name="test",
        )

    def now(self) -> datetime:
        now: datetime = self.value("SELECT jobrunner_now()")
        return now

    def set_clock_offset(self, offset: timedelta) -> None:
        # Before version 15 a number of an interval has 32 bits, too few for an hour of microseconds.
        text = f"{offset // timedelta(seconds=1)} seconds {offset.microseconds} microseconds"
        statement = sql.SQL("ALTER DATABASE {} SET jobrunner.clock_offset = {}")
        self.access.execute(statement.format(sql.Identifier(self.database), sql.Literal(text)))
        self.offset = offset
        self.forget_sessions()

    def cut_connections(self) -> int:
        """End every other session of this database, as a failing network or a restart would; how many there were."""
        self.forget_sessions()
        statement = (
            "SELECT count(pg_terminate_backend(pid)) AS cut FROM pg_stat_activity"
            " WHERE datname = %s AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND pid <> ALL(%s)"
        )
        with self.access.admin(self.database) as connection:
            row = connection.execute(statement, [self.database, self._closed_pids]).fetchone()
        return int(row[0]) if row else 0

    def sessions(self) -> list[Row]:
        """The other sessions of this database (pid, state, query, ...)."""
        self.forget_sessions()
        found = self.query(
            "SELECT * FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return [row for row in found if row["pid"] not in self._closed_pids]


def translated(statement: str) -> str:
    """`?` becomes psycopg's placeholder, except inside quotes; a percent sign stands for itself."""
    parts = re.split(r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")", statement.replace("%", "%%"))
    return "".join(part if index % 2 else part.replace("?", "%s") for index, part in enumerate(parts))


def to_sqlite(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    return json.dumps(value) if isinstance(value, Mapping | list) else value


def from_sqlite(name: str, value: Any) -> Any:
    if isinstance(value, int) and TIME_COLUMN.search(name):
        try:
            return EPOCH + timedelta(microseconds=value)
        except OverflowError:
            return value  # a test may have broken it on purpose
    if isinstance(value, str) and name in JSON_COLUMNS:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value  # a test may have broken it on purpose
    return value


def to_postgres(value: Any) -> Any:
    return Jsonb(value) if isinstance(value, Mapping) else value


def from_postgres(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value) if isinstance(value, UUID) else value


def printable(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else repr(value)[:300]


def numbers(database: Database, count: int) -> str:
    """A query that yields `n` from 1 to this count, in the words of the database."""
    if database.name == "postgresql":
        return f"SELECT n FROM generate_series(1, {count}) AS n"
    return f"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}) SELECT n FROM s"
