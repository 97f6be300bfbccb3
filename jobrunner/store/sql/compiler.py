"""Compiles statements of SQLAlchemy Core: the only place that does. Its result needs no SQLAlchemy."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Dialect, Executable, Float
from sqlalchemy.types import TypeEngine

from jobrunner.store.sql.dialect.rows import ListOfRows
from jobrunner.store.sql.dialect.values import kind_of
from jobrunner.store.sql.encoding import Kind, encoder
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.sql.source import Source


def source(statement: Executable, database: str) -> Source:
    """The statement for this database, with parameters by name. A list in an IN (...) must be part of it.

    On PostgreSQL ``namespace.MARK`` stands before each name of ours.
    """
    marked = {} if database == "sqlite" else {"schema_translate_map": {None: MARK}, "render_schema_translate": True}
    options: dict[str, Any] = marked
    # Every statement has it, but the type of executables does not declare it.
    compiled: Any = statement.compile(dialect=dialect_of(database), **options)  # type: ignore[attr-defined]
    kinds = {name: kind for name, each in compiled.binds.items() if (kind := _kind(each.type)) is not None}
    required = {name for name, each in compiled.binds.items() if each.required}
    # With the lists of IN, whose lengths are known, as parameters of their own.
    expanded = compiled.construct_expanded_state(dict.fromkeys(required))
    literals = {name: value for name, value in expanded.parameters.items() if name not in required}
    for name, value in literals.items():
        encode = encoder(kinds.get(name), database)
        if encode is not None and value is not None:
            literals[name] = encode(value)
    encoded = {name: kind for name, kind in kinds.items() if name in expanded.parameters}
    columns = getattr(statement, "exported_columns", None)
    named = None if columns is None else tuple((str(getattr(each, "name", "")), kind_of(each.type)) for each in columns)
    text = "\n".join(line.rstrip() for line in expanded.statement.splitlines())
    return Source(text, literals, encoded, named)


def _kind(type_: TypeEngine[Any]) -> Kind:
    if isinstance(type_, ListOfRows):
        return tuple((name, kind_of(each)) for name, each in type_.columns)
    kind = kind_of(type_)
    return None if kind == "boolean" else kind


class _Float(Float[Any]):
    """A number with a fraction, whose type a server is told, as SQLAlchemy does with most others."""

    render_bind_cast = True


@cache
def dialect_of(database: str) -> Dialect:
    """The database's language, for SQLAlchemy."""
    if database == "sqlite":
        from sqlalchemy.dialects.sqlite import dialect as sqlite

        return sqlite(paramstyle="named")
    from sqlalchemy.dialects.postgresql.psycopg import dialect as postgresql

    # SQLAlchemy's dialects have no annotations.
    made: Dialect = postgresql()  # type: ignore[no-untyped-call]
    made.colspecs = {**made.colspecs, Float: _Float}
    return made
