"""What a column holds and what the clock says: types, ``now``, and the words by which the migrations' SQL differs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from sqlalchemy import JSON, REAL, BigInteger, Dialect, Float, Integer, SmallInteger, String, Text
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from jobrunner.model import FIRST_INSTANT, LAST_INSTANT
from jobrunner.store.raw_driver import POSTGRESQL_NOW, POSTGRESQL_WORDS, SQLITE_NOW, SQLITE_WORDS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# STABLE and free of SET clauses, so that the planner inlines it and an index condition stays one:
# clock_timestamp() would be a filter. Tests move the setting and nothing else.
_POSTGRESQL_CLOCK = """
CREATE FUNCTION jobrunner_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT statement_timestamp() + coalesce(nullif(current_setting('jobrunner.clock_offset', true), ''), '0')::interval
$$
"""


class UtcTime(TypeDecorator[datetime]):
    """An aware UTC datetime: timestamptz, or on SQLite whole microseconds since 1970 (text dates sort wrong)."""

    impl = TIMESTAMP(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column type of this database."""
        return dialect.type_descriptor(Integer() if dialect.name == "sqlite" else TIMESTAMP(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuses a naive datetime: guessing its zone would move the instant."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime has no instant; give it a time zone")
        return _microseconds(value) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Always aware, always UTC."""
        if value is None:
            return None
        if dialect.name == "sqlite":
            return _EPOCH + timedelta(microseconds=value)
        return cast(datetime, value).astimezone(UTC)


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND


class _JsonText(JSON):
    """JSON in a column of SQLite's type TEXT."""


@compiles(_JsonText, "sqlite")
def _json_text(element: _JsonText, compiler: Any, **_: Any) -> str:
    return "TEXT"


# A STRICT table of SQLite has columns of INTEGER, REAL and TEXT, and takes nothing else into them. INTEGER is 64 bits
# wide there.
BigKey = BigInteger().with_variant(Integer(), "sqlite")
SmallNumber = SmallInteger().with_variant(Integer(), "sqlite")
Seconds = Float(53).with_variant(REAL(), "sqlite")
JsonObject = (
    JSON(none_as_null=True)
    .with_variant(JSONB(none_as_null=True), "postgresql")
    .with_variant(_JsonText(none_as_null=True), "sqlite")
)


def short_text(length: int) -> String:
    """A text of so many characters at most, which SQLite does not count."""
    return String(length).with_variant(Text(), "sqlite")


def read_text(data: bytes) -> str:
    """What is in a text column of SQLite: another program may have written Latin-1 into it, which no CHECK can see."""
    return data.decode("utf-8", "replace")


def read_json(data: str | bytes) -> Any:
    """The value; the text itself where Python cannot hold the value: a large number, or a deep one, written by SQL.

    It is refused where it is looked at, as any payload that is no object.
    """
    text = data if isinstance(data, str) else data.decode()
    try:
        return _JSON.decode(text)
    except (ValueError, RecursionError):
        return text


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


# Infinity would be shown as what no other program can read.
_JSON = json.JSONDecoder(parse_float=_finite)


class now(FunctionElement[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The one clock of all SQL: the start of the statement by the database's clock."""

    type = UtcTime()
    inherit_cache = True


class later(FunctionElement[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """``now`` plus a number of seconds: ``later(bindparam("lease_seconds", type_=Float))``."""

    type = UtcTime()
    inherit_cache = True


class stored_json(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function that it is
    """A JSON text as a ``JsonObject`` column holds it."""

    type = JsonObject
    inherit_cache = True


@compiles(now)
def _now_postgresql(element: now, compiler: Any, **_: Any) -> str:
    return POSTGRESQL_NOW


@compiles(now, "sqlite")
def _now_sqlite(element: now, compiler: Any, **_: Any) -> str:
    return SQLITE_NOW


@compiles(later)
def _later_postgresql(element: later, compiler: Any, **keywords: Any) -> str:
    return f"({POSTGRESQL_NOW} + make_interval(secs => {compiler.process(element.clauses, **keywords)}))"


@compiles(later, "sqlite")
def _later_sqlite(element: later, compiler: Any, **keywords: Any) -> str:
    return f"({SQLITE_NOW} + CAST({compiler.process(element.clauses, **keywords)} * 1000000 AS INTEGER))"


@compiles(stored_json)
def _stored_json_postgresql(element: stored_json, compiler: Any, **keywords: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **keywords)} AS JSONB)"


@compiles(stored_json, "sqlite")
def _stored_json_sqlite(element: stored_json, compiler: Any, **keywords: Any) -> str:
    return str(compiler.process(element.clauses, **keywords))


# A fifth of each page is left for HOT updates. And a vacuum comes after so many dead rows, whatever the number of rows:
# after a share of them, as usual, the claim would walk past the more dead entries the longer the history is.
_STORAGE_OF_RUNS = "fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000"


def ddl_words(dialect_name: str) -> dict[str, str]:
    """The words by which a migration's SQL text differs: types, the clock, how the runs are stored."""
    if dialect_name == "sqlite":
        return {
            **SQLITE_WORDS,
            # AUTOINCREMENT: without it the id of a deleted top row is used again.
            "identity": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
            "key": "INTEGER",
            "small_number": "INTEGER",
            "time": "INTEGER",
            "json": "TEXT",
            "seconds": "REAL",
            "one_second": "1000000",
            "storage": " STRICT",
            "storage_of_runs": " STRICT",
        }
    return {
        **POSTGRESQL_WORDS,
        "identity": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "key": "BIGINT",
        "small_number": "SMALLINT",
        "time": "TIMESTAMPTZ",
        "json": "JSONB",
        "seconds": "DOUBLE PRECISION",
        "one_second": "interval '1 second'",
        "storage": "",
        "storage_of_runs": f" WITH ({_STORAGE_OF_RUNS})",
    }


def readable(dialect_name: str, instants: Iterable[str], json_columns: Iterable[str]) -> str:
    """The condition that Python can read these columns of a table, as far as their types do not say so.

    PostgreSQL knows infinity, and years that Python does not; SQLite takes any text for JSON.
    """
    is_sqlite = dialect_name == "sqlite"
    first, last = ((_microseconds(each) if is_sqlite else f"'{each}'") for each in (FIRST_INSTANT, LAST_INSTANT))
    within = [f"{name} BETWEEN {first} AND {last}" for name in instants]
    valid = [f"({name} IS NULL OR json_valid({name}))" for name in json_columns] if is_sqlite else []
    return " AND ".join(within + valid)


def clock_statements(dialect_name: str) -> list[str]:
    """What a migration must run to create the clock before the first view uses it."""
    return [] if dialect_name == "sqlite" else [_POSTGRESQL_CLOCK]


def clock_removal(dialect_name: str) -> list[str]:
    """The inverse of ``clock_statements``."""
    return [] if dialect_name == "sqlite" else ["DROP FUNCTION IF EXISTS jobrunner_now()"]
