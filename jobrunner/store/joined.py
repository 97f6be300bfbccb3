"""Several questions to the database as one statement, for pages that show many things at once.

It is a UNION ALL whose columns have the types of all questions, and NULL where a question has no such column. So the
rows keep their types, and no question waits for the answer of another.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Float,
    Integer,
    Label,
    Numeric,
    Select,
    String,
    Text,
    cast,
    func,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.sql.selectable import SelectBase
from sqlalchemy.types import JSON, TypeEngine

from jobrunner.store.connection import NO_VALUES, Connection
from jobrunner.store.dialect.values import BigKey, JsonObject, Seconds, UtcTime
from jobrunner.store.statement import Row, Values

Rows = Sequence[Mapping[str, Any]]


class Joined:
    """Build it once: its statement is compiled for each object. Its questions must not share names of parameters."""

    def __init__(self, **questions: SelectBase) -> None:
        subqueries = {name: each.subquery(f"asked_{name}") for name, each in questions.items()}
        self._names = list(questions)
        self._columns = {name: [*_slots(each.c)] for name, each in subqueries.items()}
        slots = sorted({slot: kind for each in self._columns.values() for _, slot, kind in each}.items())
        self.statement = union_all(
            *(_part(number, subqueries[name], self._columns[name], slots) for number, name in enumerate(self._names))
        )

    def ask(self, connection: Connection, values: Values = NO_VALUES) -> dict[str, Rows]:
        """The rows of each question, by its name, in its order."""
        found: defaultdict[int, list[Row]] = defaultdict(list)
        for row in connection.execute(self.statement, values):
            found[row.part].append(row)
        return {name: self._rows(name, found[number]) for number, name in enumerate(self._names)}

    def _rows(self, name: str, found: list[Row]) -> Rows:
        # A server with several workers may mix the rows of a union.
        ordered = sorted(found, key=lambda row: int(row.place))
        return [{column: getattr(row, slot) for column, slot, _ in self._columns[name]} for row in ordered]


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
    raise TypeError(f"a question for Joined has a column of no known type: {column}")


_KINDS: Sequence[tuple[Any, str, TypeEngine[Any]]] = (
    (UtcTime, "instant", UtcTime()),
    (JSON, "json", JsonObject),
    (Boolean, "boolean", Boolean()),
    (Integer, "number", BigKey),
    ((Float, Numeric), "seconds", Seconds),
    ((String, Text), "text", Text()),
)


def _part(number: int, asked: Any, columns: Sequence[tuple[str, str, Any]], slots: Sequence[tuple[str, Any]]) -> Any:
    given = {slot: asked.c[column] for column, slot, _ in columns}
    place: Label[int] = func.row_number().over().label("place")
    cells = [given.get(slot, cast(null(), kind)).label(slot) for slot, kind in slots]
    found: Select[Any] = select(literal_column(str(number), Integer()).label("part"), place, *cells)
    return found.select_from(asked)
