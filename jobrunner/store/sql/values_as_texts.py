"""A statement of PostgreSQL whose values all cross as texts, each of the type ``cstring``.

An application can give asyncpg a codec of its own for int8, text, timestamptz or any other type of a column, and it
does so for its connection, on which our statements run, too. asyncpg accepts none for a pseudo type. So each parameter
is sent as a ``cstring``, which the server makes a text, and each row comes back as one, a JSON array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from jobrunner.store.sql.encoding import read_json

_TOKEN = re.compile(r"""'[^']*'|"[^"]*"|[()]|\b(?:SELECT|INSERT|UPDATE|DELETE)\b""")


def parameter(number: int) -> str:
    """The words for the parameter with this number: a text."""
    return f"pg_catalog.textin(${number})"


def sent(value: Any) -> str | None:
    """A parameter as its text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"{{{','.join(map(_in_array, value))}}}"
    return value.isoformat() if isinstance(value, datetime) else repr(value)


def _in_array(value: object) -> str:
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def answering(text: str, columns: int, documents: Collection[int] = ()) -> str:
    """The statement with its rows in one column. It returns this number of columns by itself.

    ``documents`` are the positions of those that hold JSON: each crosses as a text in the array, so that one that
    Python cannot represent does not spoil the row.
    """
    if not columns:
        return text
    names = ", ".join(f"c{number}" for number in range(columns))
    cells = ", ".join(
        f"CAST(c{number} AS pg_catalog.text)" if number in documents else f"c{number}" for number in range(columns)
    )
    # A WITH that writes cannot stand within another one.
    start = _start_of_main(text)
    before = f"{text[:start].rstrip()}, " if start else "WITH "
    array = f"CAST(pg_catalog.json_build_array({cells}) AS pg_catalog.text)"
    answer = f"jobrunner_answer({names}) AS ({text[start:]})"
    return f"{before}{answer} SELECT pg_catalog.textout({array}) FROM jobrunner_answer"  # noqa: S608 - our own texts


def read(answer: str, instants: Collection[int], documents: Collection[int] = ()) -> tuple[Any, ...]:
    """The values of such a row. ``instants``: the positions of the columns that are times."""
    cells = json.loads(answer)
    for index in instants:
        if cells[index] is not None:
            cells[index] = datetime.fromisoformat(cells[index])
    for index in documents:
        if cells[index] is not None:
            cells[index] = read_json(cells[index])
    return tuple(cells)


def answering_by_name(text: str) -> str:
    """A SELECT whose columns are not declared, with each of its rows as an object in one column."""
    answer = "CAST(pg_catalog.to_json(jobrunner_answer) AS pg_catalog.text)"
    return f"SELECT pg_catalog.textout({answer}) FROM ({text}) AS jobrunner_answer"  # noqa: S608 - our own texts


def read_by_name(answers: Sequence[str]) -> tuple[list[tuple[Any, ...]], list[tuple[str]]]:
    """The values of such rows, and the name of each column as a description of it."""
    found: list[list[tuple[str, Any]]] = [json.loads(each, object_pairs_hook=list) for each in answers]
    names = [(name,) for name, _ in found[0]] if found else []
    return [tuple(value for _, value in row) for row in found], names


def _start_of_main(text: str) -> int:
    """Where the statement begins that stands behind a WITH; 0 without one."""
    depth = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and token.isalpha():
            return found.start()
    return 0
