"""Cursors on a caller's connection that read and write values as the driver does by itself, whatever is set on it.

A connection may have types of its own, a cursor factory, a row factory or a text factory, or be in psycopg's pipeline
mode. An enqueue needs the values of each answer before it sends the next statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from jobrunner.store.sql.encoding import read_json

_DECLARED = frozenset({"INTEGER", "REAL", "TEXT"})


def is_pipelined(driver: Any) -> bool:
    """Whether a connection of psycopg is in pipeline mode, where a statement has no answer until the next sync.

    False for the connections of other drivers, which have no such mode.
    """
    return bool(getattr(getattr(driver, "info", None), "pipeline_status", False))


def execute_psycopg(driver: Any, text: str, parameters: Any) -> Any:
    """A cursor of psycopg that has executed this statement, also in pipeline mode."""
    if is_pipelined(driver):
        # The end of an inner block waits for all answers, and raises the first error.
        with driver.pipeline():
            return _cursors("Cursor")(driver).execute(text, parameters)
    return _cursors("Cursor")(driver).execute(text, parameters)


async def execute_psycopg_async(driver: Any, text: str, parameters: Any) -> Any:
    """The same as ``execute_psycopg``, for a connection of an event loop."""
    if is_pipelined(driver):
        async with driver.pipeline():
            return await _cursors("AsyncCursor")(driver).execute(text, parameters)
    return await _cursors("AsyncCursor")(driver).execute(text, parameters)


@contextmanager
def plain_texts(driver: Any) -> Iterator[None]:
    """Have a connection to SQLite return texts as ``str`` in this block, also if its owner set a ``text_factory``."""
    factory = driver.text_factory
    if factory is str:
        yield
        return
    driver.text_factory = str
    try:
        yield
    finally:
        driver.text_factory = factory


def has_converters() -> bool:
    """Whether an application has values of a declared type of our columns converted, on some connections to SQLite.

    A connection does not tell whether it is one of them.
    """
    import sqlite3

    return not _DECLARED.isdisjoint(sqlite3.converters)


def undeclared(text: str, columns: int) -> str:
    """A statement of SQLite with columns that are expressions: those have no declared type, and are not converted."""
    if not columns:
        return text
    before, returning, listed = text.rpartition(" RETURNING ")
    if returning:
        return f"{before} RETURNING {', '.join(f'+{each}' for each in listed.split(', '))}"
    names = [f"c{number}" for number in range(columns)]
    answer = f"WITH jobrunner_answer({', '.join(names)}) AS ({text})"
    return f"{answer} SELECT {', '.join(f'+{name}' for name in names)} FROM jobrunner_answer"  # noqa: S608 - our own texts


@cache
def psycopg_adapters() -> Any:
    """How psycopg itself reads and writes values, whatever an application has registered in the whole process."""
    from psycopg import postgres
    from psycopg.adapt import AdaptersMap
    from psycopg.types.array import register_all_arrays
    from psycopg.types.json import set_json_loads

    made = AdaptersMap(types=postgres.types)
    postgres.register_default_adapters(made)
    register_all_arrays(made)
    set_json_loads(read_json, made)
    return made


@cache
def _cursors(name: str) -> Any:
    import psycopg
    from psycopg.rows import tuple_row

    kind: Any = getattr(psycopg, name)
    plain = type(f"Plain{name}", (kind,), {"adapters": property(lambda _: psycopg_adapters())})
    return partial(plain, row_factory=tuple_row)
