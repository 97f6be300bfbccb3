"""A statement of PostgreSQL whose values all cross as texts, each of the type ``cstring``.

An application can give asyncpg a codec of its own for int8, text, timestamptz or any other type of a column, and it
does so for its connection, on which our statements run, too. asyncpg accepts none for a pseudo type. So each parameter
is sent as a ``cstring``, which the server makes a text, and each row comes back as one, a JSON array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from datetime import datetime
from typing import Any

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
    return value.isoformat() if isinstance(value, datetime) else repr(value)


def answering(text: str, columns: int) -> str:
    """The statement with its rows in one column. It returns this number of columns by itself."""
    if not columns:
        return text
    names = ", ".join(f"c{number}" for number in range(columns))
    # A WITH that writes cannot stand within another one.
    start = _start_of_main(text)
    before = f"{text[:start].rstrip()}, " if start else "WITH "
    array = f"CAST(pg_catalog.json_build_array({names}) AS pg_catalog.text)"
    answer = f"jobrunner_answer({names}) AS ({text[start:]})"
    return f"{before}{answer} SELECT pg_catalog.textout({array}) FROM jobrunner_answer"  # noqa: S608 - our own texts


def read(answer: str, instants: Container[int]) -> tuple[Any, ...]:
    """The values of such a row. ``instants``: the positions of the columns that are times."""
    cells = json.loads(answer)
    return tuple(
        datetime.fromisoformat(cell) if index in instants and cell is not None else cell
        for index, cell in enumerate(cells)
    )


def _start_of_main(text: str) -> int:
    """Where the statement begins that stands behind a WITH; 0 without one."""
    depth = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and token.isalpha():
            return found.start()
    return 0
