"""Many rows as one parameter of a statement. The text of the statement is the same for every length of the list.

``given = rows("given", {"id": BigKey, "error": Text()})`` is a table in a FROM clause. The list is given when the
statement is executed: ``connection.execute(statement, {"given": [{"id": 7, "error": "so"}, {"id": 8}]})``. It is sent
as one JSON text, so that nothing is compiled or expanded per row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from sqlalchemy import JSON, ColumnElement, Dialect, TableValuedAlias, Text, bindparam, cast, column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from jobrunner.store.sql.dialect.values import kind_of
from jobrunner.store.sql.encoding import Rows, encoder

Columns: TypeAlias = Mapping[str, TypeEngine[Any]]


def rows(name: str, columns: Columns, given: Rows | None = None) -> TableValuedAlias:
    """A list of rows that is the parameter ``name`` of a statement, and a table of the same name in it.

    A column that a row does not contain is NULL, and keys that are no columns are ignored. Values are stored as an
    INSERT of a single row would store them. Texts must be storable. The rows keep the order of the list unless the
    statement joins or sorts them. Build it once with its statement, because each call makes another parameter. A
    statement with a list in an IN (...) must have the rows as a part of it: ``given``.
    """
    type_ = ListOfRows(tuple(columns.items()))
    listed = _Recordset(bindparam(name, type_=type_) if given is None else bindparam(name, given, type_=type_))
    return listed.table_valued(*(column(key, type_) for key, type_ in columns.items()), name=name)


def as_json(name: str, columns: Columns) -> ColumnElement[Any]:
    """A list of rows that is the parameter ``name`` of a statement, as JSON for a function of PostgreSQL."""
    return cast(bindparam(name, type_=ListOfRows(tuple(columns.items()))), JSON())


class ListOfRows(TypeDecorator[Rows]):
    """The parameter: a JSON array with an object for each row."""

    impl = Text
    cache_ok = True

    def __init__(self, columns: tuple[tuple[str, TypeEngine[Any]], ...]) -> None:
        super().__init__()
        self.columns = columns

    def process_bind_param(self, value: Rows | None, dialect: Dialect) -> str:
        """The JSON text of all rows, for a connection of SQLAlchemy."""
        encode = encoder(tuple((name, kind_of(type_)) for name, type_ in self.columns), dialect.name)
        assert encode is not None
        return str(encode(value))


class _Recordset(FunctionElement[Any]):
    inherit_cache = True


@compiles(_Recordset)
def _postgresql(element: _Recordset, compiler: Any, **keywords: Any) -> str:
    quote = compiler.preparer.quote
    read, typed = [], []
    for name, type_ in _columns_of(element):
        type_name = compiler.dialect.type_compiler_instance.process(type_)
        is_json = isinstance(type_, JSON)
        read.append(f"CAST({quote(name)} AS {type_name}) AS {quote(name)}" if is_json else quote(name))
        typed.append(f"{quote(name)} {'TEXT' if is_json else type_name}")
    text = compiler.process(element.clauses, **keywords)
    return _select(read, f"json_to_recordset(CAST({text} AS JSON)) AS listed({', '.join(typed)})")


@compiles(_Recordset, "sqlite")
def _sqlite(element: _Recordset, compiler: Any, **keywords: Any) -> str:
    read = [f"json_extract(value, '$.{name}') AS {compiler.preparer.quote(name)}" for name, _ in _columns_of(element)]
    return _select(read, f"json_each({compiler.process(element.clauses, **keywords)})")


def _select(read: list[str], source: str) -> str:
    return f"(SELECT {', '.join(read)} FROM {source})"  # noqa: S608 - names of columns, from our own code


def _columns_of(element: _Recordset) -> tuple[tuple[str, TypeEngine[Any]], ...]:
    (parameter,) = element.clauses
    columns: tuple[tuple[str, TypeEngine[Any]], ...] = parameter.type.columns  # type: ignore[attr-defined]
    return columns
