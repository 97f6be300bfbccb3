"""Reads a table of the configuration file key by key, so that each error names its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jobrunner.errors import ConfigurationError, JobrunnerError
from jobrunner.text import nearest
from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

_KINDS: dict[type, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
    float: "a number",
}


class TableReader:
    """One table. Each ``take`` reads a key; ``close`` refuses the other keys, and suggests the nearest correct one."""

    def __init__(self, path: str, values: Mapping[str, Any]) -> None:
        self._path = path
        self._left = dict(values)
        self._known: list[str] = []

    def take(self, key: str, kind: type[T]) -> T | None:
        """The value of the key; None where it is not given."""
        self._known.append(key)
        if key not in self._left:
            return None
        value = self._left.pop(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(key, f"must be {_KINDS[kind]}, not {_described(value)}")
        return value

    def take_list(self, key: str, kind: type[T]) -> list[T] | None:
        """A list whose members are all of one kind; None where it is not given."""
        values = self.take(key, list)
        for value in values or ():
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise self.wrong(key, f"must be a list of which each member is {_KINDS[kind]}, not {_described(value)}")
        return values

    def take_any(self, key: str) -> Any:
        """The value of the key as it is; None where it is not given."""
        self._known.append(key)
        return self._left.pop(key, None)

    def below(self, key: str, values: Mapping[str, Any]) -> TableReader:
        """The reader of a table in this one."""
        return TableReader(f"{self._path}.{key}", values)

    def close(self) -> None:
        """Raise ConfigurationError for the first key that was not taken."""
        for key in self._left:
            raise self.wrong(key, f"is not a key of this table; {nearest_of(key, self._known)}")

    def wrong(self, key: str, what: str | JobrunnerError) -> ConfigurationError:
        """The error of a key, for the caller to raise."""
        return ConfigurationError(f"{self._path}.{key}: {what}" if self._path else f"{key}: {what}")


def nearest_of(word: str, known: Sequence[str], prefix: str = "") -> str:
    """A suggestion for the end of a message: the nearest known word, or all of them, each with the ``prefix``."""
    near = nearest(word, known, 0.5)
    if near is not None:
        return f"did you mean {prefix + near!r}?"
    return f"there are: {', '.join(prefix + each for each in sorted(known))}"


def _described(value: object) -> str:
    # Not the value itself: in the wrong place it may be a secret.
    return _KINDS.get(type(value), f"a {type(value).__name__}")
