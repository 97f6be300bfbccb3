"""Several questions to the database as one statement, for pages that show many things at once.

``together`` sends them, and gives a connection that has their answers already: the functions of the store that ask one
of them get its rows at once, and whatever else they ask goes to the database. So a page may call what the command line
calls, and sends few statements.

The statement is a UNION ALL whose columns have the types of all questions, and NULL where a question has no such
column. So the rows keep their types. It is compiled once for the same questions, whatever their parameters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import sqlalchemy
from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Float,
    Integer,
    Label,
    Numeric,
    Select,
    String,
    Text,
    bindparam,
    func,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.sql.visitors import replacement_traverse
from sqlalchemy.types import JSON, TypeEngine

from jobrunner.store.drivers.connection import NO_VALUES, Connection, Executor, Result
from jobrunner.store.sql.dialect.values import BigKey, JsonObject, Seconds, UtcTime
from jobrunner.store.sql.statement import Question, Row, Statement, Values, core, row_type


def together(connection: Connection, questions: Sequence[Question]) -> Connection:
    """Ask all of these at once. Expects a read transaction, in which the answers stay true."""
    joined = _joined(tuple(statement for statement, _ in questions))
    values = {
        _renamed(number, name): value for number, (_, given) in enumerate(questions) for name, value in given.items()
    }
    answers = joined.ask(connection, values)
    known = {_key(*question): answer for question, answer in zip(questions, answers, strict=True)}
    # It has all that the store's functions use to read.
    return cast("Connection", _Answered(connection, known))


class _Answered(Executor):
    def __init__(self, connection: Connection, known: Mapping[Any, list[Row]]) -> None:
        self.database = connection.database
        self.schema = connection.schema
        self._connection = connection
        self._known = known

    def execute(self, statement: Statement, values: Values = NO_VALUES) -> Result:
        found = self._known.get(_key(statement, values))
        return self._connection.execute(statement, values) if found is None else Result(found, len(found))


def _key(statement: Statement, values: Values) -> tuple[Statement, str]:
    return statement, repr(sorted(values.items()))


def _renamed(number: int, name: str) -> str:
    return f"asked_{number}_{name}"


@lru_cache(maxsize=64)
def _joined(statements: tuple[Statement, ...]) -> _Joined:
    return _Joined(statements)


class _Joined:
    def __init__(self, statements: Sequence[Statement]) -> None:
        # Of Core, as Prepared statements are, too.
        parts: list[Any] = [_with_own_names(number, core(cast("Any", each))) for number, each in enumerate(statements)]
        subqueries = [each.subquery(f"asked_{number}") for number, each in enumerate(parts)]
        self._columns = [[*_slots(each.c)] for each in subqueries]
        self._types = [row_type(tuple(name for name, _, _ in columns)) for columns in self._columns]
        slots = sorted({slot: kind for columns in self._columns for _, slot, kind in columns}.items())
        self.statement = union_all(
            *(_part(number, each, self._columns[number], slots) for number, each in enumerate(subqueries))
        )

    def ask(self, connection: Connection, values: Values) -> list[list[Row]]:
        found: defaultdict[int, list[Row]] = defaultdict(list)
        for row in connection.execute(self.statement, values):
            found[row.part].append(row)
        return [self._rows(number, found[number]) for number in range(len(self._columns))]

    def _rows(self, number: int, found: list[Row]) -> list[Row]:
        # A server with several workers may mix the rows of a union.
        ordered = sorted(found, key=lambda row: int(row.place))
        slots, of_type = [slot for _, slot, _ in self._columns[number]], self._types[number]
        return [of_type(getattr(row, slot) for slot in slots) for row in ordered]


def _with_own_names(number: int, statement: Any) -> Any:
    """The statement with names of its own for its parameters: other questions have the same."""

    def rename(element: Any, **_: Any) -> Any:
        if isinstance(element, BindParameter) and element.required:
            return bindparam(_renamed(number, element.key), type_=element.type, required=True)
        return None

    return replacement_traverse(statement, {}, rename)


def _slots(columns: Any) -> Iterator[tuple[str, str, TypeEngine[Any]]]:
    """For each column its name, its column in the union, and the type of that."""
    used: Counter[str] = Counter()
    for column in columns:
        name, kind = _kind(column)
        yield column.name, f"{name}_{used[name]}", kind
        used[name] += 1


def _kind(column: ColumnElement[Any]) -> tuple[str, TypeEngine[Any]]:
    for types, name, kind in _KINDS:
        if isinstance(column.type, types):
            return name, kind
    raise TypeError(f"a question has a column of no known type: {column}")


_KINDS: Sequence[tuple[Any, str, TypeEngine[Any]]] = (
    (UtcTime, "instant", UtcTime()),
    (JSON, "json", JsonObject),
    (Boolean, "boolean", Boolean()),
    (Integer, "number", BigKey),
    ((Float, Numeric), "seconds", Seconds),
    ((String, Text), "text", Text()),
)


def _part(number: int, asked: Any, columns: Sequence[tuple[str, str, Any]], slots: Sequence[tuple[str, Any]]) -> Any:
    # A sum of numbers is of another type on a server, and then all of its column would be.
    given = {
        slot: sqlalchemy.cast(asked.c[column], kind) if isinstance(kind, Integer) else asked.c[column]
        for column, slot, kind in columns
    }
    place: Label[int] = func.row_number().over().label("place")
    cells = [given.get(slot, sqlalchemy.cast(null(), kind)).label(slot) for slot, kind in slots]
    found: Select[Any] = select(literal_column(str(number), Integer()).label("part"), place, *cells)
    return found.select_from(asked)
