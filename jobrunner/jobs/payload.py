"""What a payload may be: a JSON object that both databases can store. Every way to enqueue a run checks it.

PostgreSQL refuses NUL, NaN, infinities and lone surrogates, and SQLite accepts them. Therefore the check is made before
a database gets the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from jobrunner.errors import BadPayload, PayloadMismatch
from jobrunner.jobs.payload_limits import DEFAULT_LIMIT_BYTES
from jobrunner.text import one_line

_DEEPEST = 64
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_PLAIN = frozenset({int, bool, type(None)})

Payload = dict[str, Any]
_Answer = TypeVar("_Answer")


def parse_payload(text: str, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Payload:
    """Read a payload from JSON text. Raises BadPayload with one line that says what is wrong."""
    if len(text) > limit_bytes:
        raise _too_large(limit_bytes)
    return check_payload(parse_value(text), limit_bytes)


def parse_value(text: str) -> Any:
    """Read any value from JSON text. Raises BadPayload as ``parse_payload``, and does not check what it holds."""
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except BadPayload:
        raise
    except RecursionError:
        raise BadPayload(f"the payload is nested deeper than {_DEEPEST} levels") from None
    except json.JSONDecodeError as error:
        raise BadPayload(f"the payload is not JSON: {error.msg} at character {error.pos + 1}") from None
    except ValueError:
        raise BadPayload("the payload holds a number with too many digits") from None


def check_payload(value: object, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Payload:
    """Return the payload if both databases can store it. Raises BadPayload if not."""
    return _checked(_object(value), limit_bytes)[0]


def checked_text(value: object, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> str:
    """The JSON text of a payload that ``check_payload`` would return."""
    return _checked(_object(value), limit_bytes)[1]


def value_text(value: object, where: str, *, above: int) -> str:
    """The JSON text of a value that both databases can store, so many levels deep in an object.

    Raises BadPayload, whose message names the value by ``where``.
    """
    try:
        _check_value(value, where, _DEEPEST - above)
        return _stored_alike(value)[1]
    except BadPayload as error:
        raise BadPayload(str(error).replace("the payload", where)) from None


def check_match(job_type: str, check: Callable[[Mapping[str, Any]], _Answer], payload: Mapping[str, Any]) -> _Answer:
    """The answer of ``check``, which raises if the handler or command of this type cannot take the payload.

    Raises PayloadMismatch: one line with the job type and the reason.
    """
    try:
        return check(payload)
    except PayloadMismatch as error:
        raise PayloadMismatch(one_line(f"the payload does not fit the job type {job_type!r}: {error}")) from None


encode_payload = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""The compact JSON text of a checked payload, without ASCII escapes."""


def _object(value: object) -> Payload:
    if not isinstance(value, Mapping):
        raise BadPayload(f"the payload must be a JSON object, not {_json_name(value)}")
    return dict(value)


def _checked(payload: Payload, limit_bytes: int) -> tuple[Payload, str]:
    """The payload and its text."""
    _check_value(payload, "the payload", _DEEPEST)
    payload, text = _stored_alike(payload)
    # In UTF-8 a character has at most four bytes.
    if len(text) * 4 > limit_bytes and len(text.encode()) > limit_bytes:
        raise _too_large(limit_bytes)
    return payload, text


def _stored_alike(value: Any) -> tuple[Any, str]:
    """The value that both databases give back, and its text."""
    try:
        text = encode_payload(value)
    except ValueError:
        raise BadPayload("the payload holds a number with too many digits") from None
    if "e+" in text:
        value = json.loads(text, parse_float=_as_stored)
        text = encode_payload(value)
    return value, text


def _as_stored(text: str) -> float:
    # PostgreSQL stores 1e22 as the whole number 10000000000000000000000. Make it one for SQLite, too.
    return int(float(text)) if "e+" in text else float(text)


def _check_value(value: object, where: str, levels_left: int) -> None:
    if levels_left == 0:
        raise BadPayload(f"the payload is nested deeper than {_DEEPEST} levels")
    if isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, dict):
        _check_object(value, where, levels_left)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_value(item, where, levels_left - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadPayload(f"{where} is {value}, which JSON cannot hold")
    elif value is not None and not isinstance(value, bool | int | float):
        raise BadPayload(f"{where} is of type {type(value).__name__}, which JSON cannot hold")


def _check_object(value: dict[object, object], where: str, levels_left: int) -> None:
    for key, item in value.items():
        if not isinstance(key, str):
            raise BadPayload(f"a key of {where} is {key!r}; keys must be text")
        if _UNSTORABLE.search(key):
            _check_text(key, f"a key of {where}")
        if type(item) not in _PLAIN or levels_left == 1:
            _check_value(item, _named(key), levels_left - 1)


def _check_text(text: str, where: str) -> None:
    found = _UNSTORABLE.search(text)
    if found:
        what = "a NUL character" if found.group() == "\x00" else "a lone surrogate"
        raise BadPayload(f"{where} holds {what}, which PostgreSQL cannot store")


def _named(key: str) -> str:
    return f"the value of {key[:60]!r}"


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadPayload(f"the payload names {key[:60]!r} twice")
            seen.add(key)
    return found


def _refuse_constant(name: str) -> None:
    raise BadPayload(f"the payload holds {name}, which is not JSON")


def _too_large(limit_bytes: int) -> BadPayload:
    return BadPayload(f"the payload is larger than {limit_bytes} bytes; keep the data elsewhere and pass its key")


def _json_name(value: object) -> str:
    names = {str: "a string", bool: "true or false", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), "an array" if isinstance(value, list | tuple) else type(value).__name__)
