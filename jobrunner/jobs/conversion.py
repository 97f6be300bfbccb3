"""Arguments that JSON has no type for: what they are in a payload, and back again, by the handler's annotation.

Only this module imports msgspec, and only a handler with such an annotation imports this module. A payload never says
what it is made into: otherwise whoever can write a payload could have anything made.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from jobrunner.errors import BadPayload, PayloadMismatch
from jobrunner.jobs.payload import check_payload
from jobrunner.text import one_line

_WHERE = re.compile(r" - at `\$\.value(?P<path>[^`]*)`$")
_LONGEST_REASON = 300


class Unsupported(Exception):
    """Values of this annotation cannot be written as JSON and found again."""


class Converter:
    """Converts the values of one annotation, which errors call ``shown``.

    Raises Unsupported if there is no way to do that, and NameError if a class in the annotation has a field whose own
    annotation cannot be resolved (yet).
    """

    def __init__(self, hint: Any, shown: str) -> None:
        self._shown = shown
        # msgspec keeps what it knows of an annotation with the class, so that a conversion takes a microsecond.
        self._holder = msgspec.defstruct("Argument", [("value", hint, None)])
        try:
            msgspec.convert({}, self._holder)
            unknown = next(_unknown_classes(inspect.type_info(hint), set()), None)
        except (TypeError, ValueError) as error:
            raise Unsupported(one_line(str(error), _LONGEST_REASON)) from None
        if unknown is not None:
            raise Unsupported(f"JSON cannot be made into {unknown.__module__}.{unknown.__qualname__}")

    def decode(self, name: str, value: Any) -> Any:
        """The value for the argument ``name``, made from JSON. Raises PayloadMismatch with the path in the argument."""
        try:
            # The class of the holder is made at run time, so that the checkers do not know its field.
            return msgspec.convert({"value": value}, self._holder, str_keys=True, dec_hook=_decode).value  # type: ignore[attr-defined]
        except BaseException as error:  # noqa: BLE001 - this makes objects of the application's classes
            raise self._misfit(name, error) from None

    def encode(self, name: str, value: Any) -> Any:
        """JSON for the argument ``name``. Raises BadPayload unless the same value can be made from it."""
        try:
            encoded = msgspec.to_builtins(value, str_keys=True, enc_hook=_encode)
        except RecursionError:
            raise BadPayload(f"the value of {name!r} is nested too deep") from None
        except Exception as error:  # noqa: BLE001 - as above
            raise self._misfit(name, error) from None
        # Before the value is made from it: NaN equals nothing.
        check_payload({name: encoded}, sys.maxsize)
        if not _is_same(value, encoded, self.decode(name, encoded)):
            kind = type(value).__qualname__
            raise PayloadMismatch(f"argument {name!r} must be {self._shown}: a {kind} would not arrive as one")
        return encoded

    def _misfit(self, name: str, error: BaseException) -> PayloadMismatch:
        try:
            reason = str(error)
        except BaseException:  # noqa: BLE001 - the class of the error is the application's, too
            reason = "its message cannot be read"
        path = ""
        if isinstance(error, msgspec.ValidationError):
            found = _WHERE.search(reason)
            if found:
                reason = reason[: found.start()]
                path = found["path"] and f" at {name}{found['path']}"
            if reason.startswith("Invalid enum value"):
                # The rest is the value, and errors are shown to more people than payloads.
                reason = "Invalid enum value"
        elif not isinstance(error, TypeError):
            reason = f"{type(error).__name__}: {reason}"
        reason = one_line(reason, _LONGEST_REASON)
        return PayloadMismatch(f"argument {name!r} must be {self._shown}: {reason}{path}")


def _is_same(value: Any, encoded: Any, decoded: Any) -> bool:
    """Whether the value that was made from JSON stands for what was given. Plain JSON stands for itself."""
    try:
        if decoded == value or encoded == value:
            return True
        # A class may have no equality, and a time in the hour that its zone repeats equals no time of another zone.
        again = msgspec.to_builtins(decoded, str_keys=True, enc_hook=_encode)
        return type(decoded) is type(value) and bool(again == encoded)
    except Exception:  # noqa: BLE001 - comparisons are the application's, too
        return False


def _encode(value: Any) -> Any:
    if _is_model(type(value)):
        return value.model_dump(mode="json", by_alias=True, round_trip=True)
    for base in (str, int, float):
        if isinstance(value, base):
            return base(value)
    raise TypeError(f"{type(value).__qualname__} cannot be written as JSON")


def _decode(wanted: Any, value: Any) -> Any:
    try:
        # As JSON, because a strict model takes a text for a time only there.
        return wanted.model_validate_json(json.dumps(value))
    except sys.modules["pydantic"].ValidationError as error:
        # Its text would quote the payload.
        first = error.errors()[0]
        path = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"])
        raise ValueError(f"{first['msg']} at {wanted.__name__}{path}") from None


def _is_model(kind: Any) -> bool:
    """Whether this is a class of pydantic 2. Who has one has imported pydantic."""
    pydantic: Any = sys.modules.get("pydantic")
    base = getattr(pydantic, "BaseModel", None)
    return isinstance(kind, type) and base is not None and issubclass(kind, base) and hasattr(kind, "model_validate")


def _unknown_classes(node: Any, seen: set[int]) -> Iterator[Any]:
    """The classes within an annotation that neither msgspec nor pydantic can make from JSON."""
    if isinstance(node, tuple):
        for each in node:
            yield from _unknown_classes(each, seen)
    elif isinstance(node, inspect.CustomType):
        if not _is_model(node.cls):
            yield node.cls
    elif isinstance(node, inspect.Type | inspect.Field) and id(node) not in seen:
        seen.add(id(node))
        for name in node.__struct_fields__:
            yield from _unknown_classes(getattr(node, name), seen)
