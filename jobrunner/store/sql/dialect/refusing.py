"""Triggers by which tables refuse every change, whoever makes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobrunner.store.sql.namespace import MARK

_CHANGES = ("INSERT", "UPDATE", "DELETE")
_FUNCTION = """
CREATE FUNCTION {schema}.jobrunner_closed() RETURNS trigger LANGUAGE plpgsql AS $jobrunner$
BEGIN RAISE EXCEPTION USING MESSAGE = {message}; END $jobrunner$
"""
# By statement: also a change that meets no row is refused.
_ON_SERVER = """
CREATE TRIGGER jobrunner_closed BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {schema}.{table}
FOR EACH STATEMENT EXECUTE FUNCTION {schema}.jobrunner_closed()
"""


def locks(dialect_name: str, tables: Sequence[str]) -> list[str]:
    """What waits for the transactions that have changed these tables. On SQLite the transaction has the only lock."""
    if dialect_name == "sqlite":
        return []
    return [f"LOCK TABLE {', '.join(f'{MARK}.{table}' for table in tables)} IN SHARE ROW EXCLUSIVE MODE"]


def refuse(dialect_name: str, tables: Sequence[str], message: str) -> Iterator[str]:
    """What makes each change of these tables fail with this message."""
    text = "'" + message.replace("'", "''") + "'"
    if dialect_name == "sqlite":
        for name, table, change in _in_file(tables):
            yield f"CREATE TRIGGER {name} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, {text}); END"
        return
    yield _FUNCTION.format(schema=MARK, message=text)
    yield from (_ON_SERVER.format(schema=MARK, table=table) for table in tables)


def allow(dialect_name: str, tables: Sequence[str]) -> Iterator[str]:
    """What undoes ``refuse``."""
    if dialect_name == "sqlite":
        yield from (f"DROP TRIGGER {name}" for name, _, _ in _in_file(tables))
        return
    yield from (f"DROP TRIGGER jobrunner_closed ON {MARK}.{table}" for table in tables)
    yield f"DROP FUNCTION {MARK}.jobrunner_closed()"


def _in_file(tables: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for table in tables:
        yield from ((f"jobrunner_closed_{table}_{change.lower()}", table, change) for change in _CHANGES)
