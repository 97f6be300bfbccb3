"""What the SQL of counting needs and differs between the databases: hours, durations, lines, what is in flight."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Float, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from jobrunner.store.sql.dialect.values import BigKey, UtcTime


class hour_of(FunctionElement[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The begin of the hour (UTC) of an instant."""

    type = UtcTime()
    inherit_cache = True


class seconds_between(FunctionElement[float]):  # noqa: N801 - reads as the SQL function that it is
    """The seconds from the first instant to the second."""

    type = Float(53)
    inherit_cache = True


class first_line(FunctionElement[str]):  # noqa: N801 - reads as the SQL function that it is
    """The first line of a text, without the blanks around the text."""

    type = Text()
    inherit_cache = True


class oldest_transaction(FunctionElement[int]):  # noqa: N801 - reads as the SQL function that it is
    """All transactions with a lower number are over. SQLite has one writer at a time, and no numbers: always 0."""

    type = BigKey
    inherit_cache = True


class own_transaction(FunctionElement[int]):  # noqa: N801 - reads as the SQL function that it is
    """The number of this transaction: it is higher than that of all that have written before. SQLite: always 0."""

    type = BigKey
    inherit_cache = True


@compiles(hour_of)
def _hour_postgresql(element: hour_of, compiler: Any, **keywords: Any) -> str:
    return f"date_trunc('hour', {compiler.process(element.clauses, **keywords)}, 'UTC')"


@compiles(hour_of, "sqlite")
def _hour_sqlite(element: hour_of, compiler: Any, **keywords: Any) -> str:
    (instant,) = element.clauses
    text = compiler.process(instant, **keywords)
    return f"({text} - {text} % 3600000000)"


@compiles(seconds_between)
def _seconds_postgresql(element: seconds_between, compiler: Any, **keywords: Any) -> str:
    first, second = (compiler.process(each, **keywords) for each in element.clauses)
    return f"CAST(EXTRACT(epoch FROM ({second} - {first})) AS DOUBLE PRECISION)"


@compiles(seconds_between, "sqlite")
def _seconds_sqlite(element: seconds_between, compiler: Any, **keywords: Any) -> str:
    first, second = (compiler.process(each, **keywords) for each in element.clauses)
    return f"(({second} - {first}) / 1000000.0)"


@compiles(first_line)
def _line_postgresql(element: first_line, compiler: Any, **keywords: Any) -> str:
    text = compiler.process(element.clauses, **keywords)
    return f"split_part(btrim({text}, E' \\t\\n\\v\\f\\r'), E'\\n', 1)"


@compiles(first_line, "sqlite")
def _line_sqlite(element: first_line, compiler: Any, **keywords: Any) -> str:
    text = f"trim({compiler.process(element.clauses, **keywords)}, char(32, 9, 10, 11, 12, 13))"
    return f"substr({text}, 1, instr({text} || char(10), char(10)) - 1)"


@compiles(oldest_transaction)
def _oldest_postgresql(element: oldest_transaction, compiler: Any, **_: Any) -> str:
    return "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)"


@compiles(own_transaction)
def _own_postgresql(element: own_transaction, compiler: Any, **_: Any) -> str:
    return "CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)"


@compiles(oldest_transaction, "sqlite")
@compiles(own_transaction, "sqlite")
def _transaction_sqlite(element: Any, compiler: Any, **_: Any) -> str:
    return "0"
