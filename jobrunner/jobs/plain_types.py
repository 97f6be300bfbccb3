"""Annotations that JSON has types for: what fits them is found without any library.

These are str, bool, int, float, None, list, dict, Literal and unions of them, and no annotation at all. For all others
there is ``jobrunner.jobs.conversion``.
"""

from __future__ import annotations

import collections.abc
import functools
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple


class Plain(NamedTuple):
    """``fits`` says whether a JSON value fits. ``widen`` turns it into what the annotation says; None: it is that."""

    fits: Callable[[Any], bool]
    widen: Callable[[Any], Any] | None = None


ANYTHING = Plain(lambda value: True)
_TEXT = Plain(lambda value: isinstance(value, str))
_BOOL = Plain(lambda value: isinstance(value, bool))
_INT = Plain(lambda value: isinstance(value, int) and not isinstance(value, bool))
_NONE = Plain(lambda value: value is None)


def _is_float(value: Any) -> bool:
    # JSON has one kind of number, and a float without a fraction may come back as a whole number.
    if isinstance(value, float):
        return True
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _BEYOND_FLOAT


_BEYOND_FLOAT = 2**1024 - 2**970
"""From half a step above the largest float on, a whole number has no float."""
_FLOAT = Plain(_is_float, float)
_SIMPLE: dict[Any, Plain] = {str: _TEXT, bool: _BOOL, int: _INT, float: _FLOAT, types.NoneType: _NONE, None: _NONE}
_SIMPLE |= {Any: ANYTHING, object: ANYTHING}
_LISTS: set[Any] = {list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Collection}
_LISTS |= {collections.abc.Iterable}
_TABLES: set[Any] = {dict, collections.abc.Mapping, collections.abc.MutableMapping}


def plain(hint: Any) -> Plain | None:
    """How to check values against this annotation. None means that JSON has no type for it."""
    if not isinstance(hint, collections.abc.Hashable):
        return None
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is typing.Annotated:
        # The constraints of msgspec are msgspec's to check.
        is_constrained = any(type(each).__module__.startswith("msgspec") for each in arguments[1:])
        return None if is_constrained else plain(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return _union([plain(each) for each in arguments])
    if origin is typing.Literal:
        return _literal(arguments)
    if isinstance(hint, typing.NewType):
        return plain(hint.__supertype__)
    if (origin or hint) in _LISTS:
        return _list(plain(arguments[0] if arguments else Any))
    if (origin or hint) in _TABLES:
        key, value = arguments or (str, Any)
        return _table(plain(value)) if key in (str, Any) else None
    return _SIMPLE.get(hint)


def _union(members: list[Plain | None]) -> Plain | None:
    found = [each for each in members if each is not None]
    if len(found) < len(members):
        return None
    fits = functools.reduce(_either, [each.fits for each in found])
    if not any(each.widen for each in found):
        return Plain(fits)

    def widen(value: Any) -> Any:
        # A whole number stays one if the union has int, too.
        fitting = [each for each in found if each.fits(value)]
        return value if any(each.widen is None for each in fitting) else _widened(fitting[0], value)

    return Plain(fits, widen)


def _either(first: Callable[[Any], bool], second: Callable[[Any], bool]) -> Callable[[Any], bool]:
    # A loop over the members of a union would take five times as long.
    return lambda value: first(value) or second(value)


def _literal(choices: tuple[Any, ...]) -> Plain | None:
    if not all(isinstance(each, str | int | None) and type(each).__module__ == "builtins" for each in choices):
        return None

    def fits(value: Any) -> bool:
        # To Python, True is 1.
        is_bool = isinstance(value, bool)
        return isinstance(value, str | int | None) and any(
            value == each and is_bool is isinstance(each, bool) for each in choices
        )

    return Plain(fits)


def _list(item: Plain | None) -> Plain | None:
    if item is None:
        return None
    if item is ANYTHING:
        return Plain(lambda value: isinstance(value, list))
    widen = None if item.widen is None else lambda value: [_widened(item, each) for each in value]
    return Plain(lambda value: isinstance(value, list) and all(map(item.fits, value)), widen)


def _table(item: Plain | None) -> Plain | None:
    if item is None:
        return None
    if item is ANYTHING:
        return Plain(lambda value: isinstance(value, dict))
    widen = None if item.widen is None else lambda value: {key: _widened(item, each) for key, each in value.items()}
    return Plain(lambda value: isinstance(value, dict) and all(map(item.fits, value.values())), widen)


def _widened(item: Plain, value: Any) -> Any:
    return value if item.widen is None else item.widen(value)
