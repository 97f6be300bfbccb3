"""Reads what somebody wrote into the tables by hand, so that no such row ends a tick or a look at it."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any

from jobrunner.model import DEFAULT_TIMEOUT

_LONGEST_TIMEOUT_SECONDS = timedelta(days=3660).total_seconds()


def nearest_instant(*, is_past: bool) -> datetime:
    """What stands for an instant that Python's calendar does not hold, a day from its end: shown in any zone."""
    return datetime(1, 1, 2, tzinfo=UTC) if is_past else datetime(9999, 12, 30, tzinfo=UTC)


def read_timeout(seconds: float | None) -> timedelta | None:
    """The limit in a run's row; None: no limit. What is no length of time counts as the default."""
    if not seconds:
        return None
    # NaN is on neither side.
    return timedelta(seconds=seconds) if 0 < seconds <= _LONGEST_TIMEOUT_SECONDS else DEFAULT_TIMEOUT


def read_text(data: bytes) -> str:
    """Text of any encoding: another program may have written Latin-1 into an SQLite file."""
    return data.decode("utf-8", "replace")


def read_json(data: Any) -> Any:
    """The value, or, if that is not JSON, the text itself: it is refused where it is looked at."""
    if not isinstance(data, str | bytes):
        return data  # SQLite makes a number of what looks like one
    text = data if isinstance(data, str) else read_text(data)
    try:
        return _JSON.decode(text)
    except (ValueError, RecursionError):
        return text


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def _no_number(name: str) -> None:
    raise ValueError(name)


# Strict: what Python reads beyond JSON no other program could read when it is shown again.
_JSON = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)


def read_any_instant(connection: Any, _: Any) -> None:
    """Let a connection of psycopg read `infinity`, and years that Python's calendar does not hold."""
    from psycopg import DataError
    from psycopg.adapt import Loader

    known = connection.adapters
    usual: Any = known.get_loader(known.types["timestamptz"].oid, 0)

    class AnyInstant(Loader):
        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            self._load = usual(oid, context).load

        def load(self, data: Any) -> Any:
            try:
                return self._load(data)
            except DataError:
                text = bytes(data)
                return nearest_instant(is_past=text.startswith(b"-") or text.endswith(b"BC"))

    known.register_loader("timestamptz", AnyInstant)
