"""The words that differ in the SQL of the views and of the checks of tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import MetaData, Table, literal_column
from sqlalchemy.ext.compiler import compiles

from jobrunner.model import FIRST_INSTANT, LAST_INSTANT
from jobrunner.store.sql.dialect.values import Condition
from jobrunner.store.sql.encoding import microseconds
from jobrunner.store.sql.words import SQLITE_WORDS, postgresql_words

# STABLE and without SET clauses, so that the planner inlines it and can use it in an index condition.
# clock_timestamp() would be a filter. Tests change only the setting. A CASE, because PostgreSQL 13 computes no NULLIF
# when it plans: it would not know how many rows are before an instant.
_POSTGRESQL_CLOCK = """
CREATE FUNCTION {clock} RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT statement_timestamp() + CASE coalesce(current_setting('jobrunner.clock_offset', true), '')
    WHEN '' THEN '0' ELSE current_setting('jobrunner.clock_offset', true) END::interval
$$
"""

# The tables of the first schema that have more are those of runs and of definitions.
_FEW = 3


def ddl_words(dialect_name: str, schema: str | None = None) -> dict[str, str]:
    """The words that differ in the SQL of the views: the schema, the clock, durations."""
    if dialect_name == "sqlite":
        return {**SQLITE_WORDS, "one_second": "1000000"}
    return {**postgresql_words(schema), "one_second": "interval '1 second'"}


def readable(dialect_name: str, instants: Sequence[str], json_columns: Iterable[str]) -> str:
    """The condition that Python can read these columns of a table, as far as their types do not say so.

    PostgreSQL knows infinity, and years that Python does not; SQLite takes any text for JSON.
    """
    is_sqlite = dialect_name == "sqlite"
    first, last = ((microseconds(each) if is_sqlite else f"'{each}'") for each in (FIRST_INSTANT, LAST_INSTANT))
    within = [f"{name} BETWEEN {first} AND {last}" for name in instants]
    if not is_sqlite and len(within) > _FEW:
        # The server reads a check anew for each statement that writes the table, and the time that takes grows with
        # the words. NULL passes, as it does above.
        span = f"CAST('[{FIRST_INSTANT},{LAST_INSTANT}]' AS tstzrange)"
        within = [f"{span} @> ALL (ARRAY[{', '.join(instants)}])"]
    valid = [f"({name} IS NULL OR json_valid({name}))" for name in json_columns] if is_sqlite else []
    return " AND ".join(within + valid)


def clock_statements(dialect_name: str, schema: str | None) -> list[str]:
    """The function that is the clock, on which the views depend."""
    return [] if dialect_name == "sqlite" else [_POSTGRESQL_CLOCK.format(clock=postgresql_words(schema)["now"])]


class condition(Condition):  # noqa: N801 - reads as the part of a statement that it is
    """A condition of the views in a statement: its text."""

    inherit_cache = True

    def __init__(self, text: str) -> None:
        super().__init__(literal_column(text))


@compiles(condition)
def _condition(element: condition, compiler: Any, **keywords: Any) -> str:
    (text,) = (compiler.process(each, **keywords) for each in element.clauses)
    words = ddl_words(compiler.dialect.name)
    if compiler.dialect.name != "sqlite":
        # As before each table, so that a connection of SQLAlchemy has its schema there, too.
        before = compiler.preparer.format_table(Table("x", MetaData())).removesuffix("x")
        words |= {"schema": before, "now": f"{before}jobrunner_now()"}
    return f"({text.format(**words)})"
