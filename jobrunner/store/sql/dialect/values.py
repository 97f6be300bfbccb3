"""Column types, the database's clock (``now``), and other expressions that differ."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

from sqlalchemy import (
    JSON,
    REAL,
    BigInteger,
    Boolean,
    ColumnElement,
    Dialect,
    Float,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    literal_column,
)
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from jobrunner.store.sql.dialect.keys import key_words
from jobrunner.store.sql.encoding import decoder, encoder
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.sql.words import SQLITE_NOW

T = TypeVar("T")


class Words(NamedTuple):
    """An expression in the words of each database, by its name."""

    postgresql: str
    sqlite: str


class UtcTime(TypeDecorator[datetime]):
    """An aware datetime in UTC: timestamptz, or on SQLite microseconds since 1970 (dates as text sort wrong)."""

    impl = TIMESTAMP(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column type of this database."""
        return dialect.type_descriptor(Integer() if dialect.name == "sqlite" else TIMESTAMP(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """The stored value, for a connection of SQLAlchemy."""
        encode = encoder("instant", dialect.name)
        return value if value is None or encode is None else encode(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """The datetime, always aware and in UTC."""
        decode = decoder("instant", dialect.name)
        return cast("datetime | None", value if value is None or decode is None else decode(value))


class _JsonText(JSON):
    """JSON in a column of SQLite's type TEXT."""


@compiles(_JsonText, "sqlite")
def _json_text(element: _JsonText, compiler: Any, **_: Any) -> str:
    return "TEXT"


# A STRICT table of SQLite has only columns of INTEGER (64 bits), REAL and TEXT, and accepts no other values in them.
BigKey = BigInteger().with_variant(Integer(), "sqlite")
SmallNumber = SmallInteger().with_variant(Integer(), "sqlite")
Seconds = Float(53).with_variant(REAL(), "sqlite")
JsonObject = (
    JSON(none_as_null=True)
    .with_variant(JSONB(none_as_null=True), "postgresql")
    .with_variant(_JsonText(none_as_null=True), "sqlite")
)


def short_text(length: int) -> String:
    """A text of at most so many characters. SQLite does not check the length."""
    return String(length).with_variant(Text(), "sqlite")


def kind_of(type_: TypeEngine[Any]) -> str | None:
    """How values of a column are stored and read (``encoding``)."""
    if isinstance(type_, UtcTime):
        return "instant"
    if isinstance(type_, JSON):
        return "json"
    return "boolean" if isinstance(type_, Boolean) else None


class Expression(FunctionElement[T]):
    """An expression that each database has in its own words, in which ``{0}`` stands for the first argument."""

    words: ClassVar[Words]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.inherit_cache = True


@compiles(Expression)
def _expression(element: Expression[Any], compiler: Any, **keywords: Any) -> str:
    given = [compiler.process(each, **keywords) for each in element.clauses]
    # What is listed stands in brackets already.
    inside = [each.removeprefix("(").removesuffix(")") for each in given]
    clock = compiler.process(now(), **keywords)
    text: str = getattr(element.words, compiler.dialect.name)
    return text.format(*given, inside=inside, now=clock)


class now(FunctionElement[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The only clock in SQL: the start of the statement by the database's clock."""

    type = UtcTime()
    inherit_cache = True


class later(Expression[datetime]):  # noqa: N801 - as above
    """``now`` plus a number of seconds: ``later(bindparam("lease_seconds", type_=Float))``."""

    type = UtcTime()
    words = Words(
        postgresql="({now} + make_interval(secs => {0}))",
        sqlite="({now} + CAST({0} * 1000000 AS INTEGER))",
    )


class after(Expression[datetime]):  # noqa: N801 - as above
    """A time plus a number of seconds. NULL if one of both is."""

    type = UtcTime()
    words = Words(
        postgresql="({0} + make_interval(secs => {1}))",
        sqlite="({0} + CAST({1} * 1000000 AS INTEGER))",
    )


class place_in_line(Expression[int]):  # noqa: N801 - as above
    """A time in microseconds, a minute earlier for each step of a priority, for the places of gates in their line."""

    type = BigInteger()
    words = Words(
        postgresql="(CAST(EXTRACT(EPOCH FROM {0}) * 1000000 AS BIGINT) - {1} * 60000000)",
        sqlite="({0} - {1} * 60000000)",
    )


class promoted(Expression[str]):  # noqa: N801 - as above
    """The server, if it is a standby that was promoted since a tick last noted one (``servers``). NULL: it is not."""

    type = Text()
    words = Words(postgresql=f"{MARK}.jobrunner_promoted()", sqlite="NULL")


class turn(Expression[datetime]):  # noqa: N801 - as above
    """When a run's turn comes, for the generated column: its run_at, a minute earlier for each step of its priority."""

    type = UtcTime()
    words = Words(
        # PostgreSQL gives it back in these words, and takes it for immutable because it computes in UTC.
        postgresql="(((run_at AT TIME ZONE 'UTC'::text) - ((priority)::double precision * '00:01:00'::interval))"
        " AT TIME ZONE 'UTC'::text)",
        sqlite="run_at - priority * 60000000",
    )


class Condition(FunctionElement[bool]):
    """A condition compiled as it is. SQLAlchemy would compare it with 1 for SQLite, and no index would serve it."""

    type = Boolean()
    inherit_cache = True

    def self_group(self, *_: Any, **__: Any) -> Any:
        """The condition."""
        return self


class is_one_of(Condition, Expression[bool]):  # noqa: N801 - reads as the SQL operator that it is
    """Whether a value is in the result of a query: ``is_one_of(column, select(...))``.

    As an IN, PostgreSQL plans it as a join, which reads a whole table that has no statistics yet.
    """

    words = Words(postgresql="{0} = ANY(ARRAY({inside[1]}))", sqlite="{0} IN ({inside[1]})")


class stored_json(Expression[Any]):  # noqa: N801 - reads as the SQL function that it is
    """A JSON text in the form that a ``JsonObject`` column stores."""

    type = JsonObject
    words = Words(postgresql="CAST({0} AS JSONB)", sqlite="{0}")


class key_of(FunctionElement[str]):  # noqa: N801 - as above
    """The values of a payload under some names, as one text: ``key_of(payload, first_name, ...)``. See ``keys``."""

    type = Text()
    inherit_cache = True


class of_application(FunctionElement[Any]):  # noqa: N801 - as above
    """A call of a function of ``application_functions``: its name without the prefix, and its arguments."""

    inherit_cache = True

    def __init__(self, name: str, type_: Any, *arguments: ColumnElement[Any]) -> None:
        super().__init__(literal_column(name), *arguments)
        self.type = type_


# A table for SQLAlchemy, so that the schema stands before it as before a table.
_CLOCK = Table("jobrunner_now", MetaData())


@compiles(now)
def _now_postgresql(element: now, compiler: Any, **_: Any) -> str:
    return f"{compiler.preparer.format_table(_CLOCK)}()"


@compiles(now, "sqlite")
def _now_sqlite(element: now, compiler: Any, **_: Any) -> str:
    return SQLITE_NOW


@compiles(of_application)
def _of_application(element: of_application, compiler: Any, **keywords: Any) -> str:
    name, *arguments = (compiler.process(each, **keywords) for each in element.clauses)
    function = compiler.preparer.format_table(Table(f"jobrunner_{name}", MetaData()))
    return f"{function}({', '.join(arguments)})"


@compiles(key_of)
def _key_of(element: key_of, compiler: Any, **keywords: Any) -> str:
    payload, *names = (compiler.process(each, **keywords) for each in element.clauses)
    return key_words(compiler.dialect.name, payload, names)
