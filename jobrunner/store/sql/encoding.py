"""How instants, JSON and lists of rows are stored and read, on each database. The types of the tables use this, too.

A value is encoded or decoded by its kind: "instant", "json", "boolean" (only decoded), or, for a parameter that is a
list of rows (``dialect.rows``), the pairs of the name and the kind of its columns. None means that the driver takes and
returns the value as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from operator import methodcaller
from typing import Any, TypeAlias

Rows: TypeAlias = "Iterable[Mapping[str, Any]] | RowsText"
RowsKind: TypeAlias = tuple[tuple[str, "str | None"], ...]
Kind: TypeAlias = str | RowsKind | None
Coder: TypeAlias = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(instant: datetime) -> int:
    """The microseconds since 1970, in which SQLite stores an instant (dates as text sort wrong)."""
    return (aware(instant) - _EPOCH) // _MICROSECOND


def aware(instant: datetime) -> datetime:
    """The instant itself. Refuses a naive datetime, because a wrong guess of its zone would change the instant."""
    if instant.tzinfo is None:
        raise ValueError("a naive datetime has no instant; give it a time zone")
    return instant


def _of_microseconds(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


def read_text(data: bytes) -> str:
    """The value of a text column of SQLite. Another program may have written Latin-1, and no CHECK can refuse that."""
    return data.decode("utf-8", "replace")


def read_json(data: str | bytes) -> Any:
    """The value, or its text if Python cannot represent the value: a number too large or a nesting too deep.

    Only a row written by SQL has such a value. It is refused later, like any payload that is no object.
    """
    text = data if isinstance(data, str) else data.decode()
    try:
        # decode() also looks for white space around the JSON, and takes twice as long.
        value, end = _JSON.raw_decode(text)
        return value if end == len(text) else _JSON.decode(text)
    except (ValueError, RecursionError):
        return text


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


# Infinity would be printed in a form that no other program can read.
_JSON = json.JSONDecoder(parse_float=_finite)
to_json = json.JSONEncoder(separators=(",", ":")).encode

# Within a list of rows JSON is a text inside the text. Otherwise SQLite would write the value anew and round its large
# numbers.
_ENCODERS: dict[str, dict[str, Coder]] = {
    "sqlite": {"instant": microseconds, "json": json.dumps},
    "postgresql": {"instant": aware, "json": json.dumps},
}
_ENCODERS_IN_ROWS: dict[str, dict[str, Coder]] = {
    **_ENCODERS,
    "postgresql": {"instant": lambda instant: aware(instant).isoformat(), "json": json.dumps},
}
# psycopg reads JSON itself, with ``read_json``.
_DECODERS: dict[str, dict[str, Coder]] = {
    "sqlite": {"instant": _of_microseconds, "json": read_json, "boolean": bool},
    "postgresql": {"instant": methodcaller("astimezone", UTC)},
}


def encoder(kind: Kind, database: str) -> Coder | None:
    """What makes the driver's value of a parameter. It is not called for None, unless the parameter is a list."""
    if isinstance(kind, tuple):
        return _RowsEncoder(kind, database).encode
    return None if kind is None else _ENCODERS[database][kind]


def decoder(kind: str | None, database: str) -> Coder | None:
    """What makes the value of a column from what the driver returns. It is not called for None."""
    return None if kind is None else _DECODERS[database].get(kind)


class RowsText(str):
    """A list of rows that is encoded already, by one who sends nearly the same list again and again."""

    __slots__ = ()


class _RowsEncoder:
    """Makes the JSON text of a list of rows, with an object for each row."""

    def __init__(self, columns: RowsKind, database: str) -> None:
        coders = _ENCODERS_IN_ROWS[database]
        self._columns = [(name, None if kind is None else coders[kind]) for name, kind in columns]

    def encode(self, rows: Rows | None) -> str:
        if isinstance(rows, RowsText):
            return str(rows)
        listed = []
        for row in rows or ():
            encoded = {}
            for name, encode in self._columns:
                cell = row.get(name)
                # A missing key is NULL too, and shorter.
                if cell is not None:
                    encoded[name] = cell if encode is None else encode(cell)
            listed.append(encoded)
        return to_json(listed)
