"""Whether a payload fits a handler: compares its names with the signature and its types with the annotations."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter
from typing import Any

from jobrunner.errors import BadPayload, ConfigurationError, PayloadMismatch

# JSON has one kind of number: a float parameter takes an int, but a bool is never a number.
_FITS: dict[Any, Callable[[object], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    list: lambda value: isinstance(value, list),
    dict: lambda value: isinstance(value, dict),
    type(None): lambda value: value is None,
    None: lambda value: value is None,
}


def check_handler(function: Callable[..., Any], reserved: Collection[str]) -> None:
    """Raise ConfigurationError unless the function takes a context first and all other arguments by keyword."""
    name = getattr(function, "__name__", "the handler")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(
            f"the handler {name} is a generator: a call would only make it, and do nothing; replace each yield,"
            " or loop over the generator in a handler of its own"
        )
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
        raise ConfigurationError(f"the handler {name} must take a Context as its first parameter")
    for parameter in parameters[1:]:
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            raise ConfigurationError(
                f"the parameter {parameter.name!r} of the handler {name} cannot be given by keyword"
            )
        if parameter.name in reserved:
            raise ConfigurationError(
                f"the parameter {parameter.name!r} of the handler {name} is an option of enqueue; rename it"
            )


def named(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The positional arguments after the context, by name. Raises PayloadMismatch unless each has a name of its own."""
    if not args:
        return {}
    parameters = list(inspect.signature(function).parameters.values())[1:]
    names = [each.name for each in parameters if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    if len(args) > len(names):
        raise PayloadMismatch(f"{len(args)} arguments are given by position; the handler takes {_listed(names)}")
    found = dict(zip(names, args, strict=False))
    if twice := found.keys() & kwargs.keys():
        raise PayloadMismatch(f"argument {min(twice)!r} is given twice")
    return found


def check(function: Callable[..., Any], payload: Mapping[str, Any]) -> None:
    """Raise PayloadMismatch with the argument that does not fit, or BadPayload if the payload is no JSON object."""
    _check(_signature_of(function), payload)


def check_early(function: Callable[..., Any], payload: Mapping[str, Any]) -> None:
    """Like ``check``, while the module of the function is being imported.

    The result is not cached, because the annotations may use names that the module defines later.
    """
    _check(_signature_of.__wrapped__(function), payload)


def _check(taken: _Signature, payload: Mapping[str, Any]) -> None:
    if not isinstance(payload, Mapping):
        # A row that was inserted by hand has not been checked before.
        raise BadPayload(f"the payload must be a JSON object, not {type(payload).__name__}")
    for name in payload:
        if name not in taken.arguments and (not taken.takes_any or name == taken.context):
            raise PayloadMismatch(f"unexpected argument {name!r}; the handler takes {_listed(list(taken.arguments))}")
    for name, argument in taken.arguments.items():
        if name not in payload:
            if argument.is_required:
                raise PayloadMismatch(f"missing argument {name!r}")
        elif not argument.fits(payload[name]):
            kind = type(payload[name]).__name__
            raise PayloadMismatch(f"argument {name!r} must be {_shown(argument.hint)}, not {kind}")


@dataclass(frozen=True, slots=True)
class _Argument:
    is_required: bool
    hint: Any
    fits: Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class _Signature:
    """What a handler takes. ``context`` is the name that a payload must not use; None means that there is none."""

    context: str | None
    takes_any: bool
    arguments: Mapping[str, _Argument]


@lru_cache(maxsize=1024)
def _signature_of(function: Callable[..., Any]) -> _Signature:
    first, *parameters = inspect.signature(function).parameters.values()
    # A keyword with the name of the context parameter is an error, unless that parameter is positional only.
    context = None if first.kind is Parameter.POSITIONAL_ONLY else first.name
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # noqa: BLE001 - users write the annotations; one that cannot be resolved is not checked
        hints = {}
    arguments = {
        each.name: _Argument(each.default is Parameter.empty, hints.get(each.name), _check_of(hints, each.name))
        for each in parameters
        if each.kind is not Parameter.VAR_KEYWORD
    }
    return _Signature(context, len(arguments) < len(parameters), arguments)


def _check_of(hints: Mapping[str, Any], name: str) -> Callable[[object], bool]:
    return _check_for(hints[name]) if name in hints else _anything


def _check_for(hint: Any) -> Callable[[object], bool]:
    """Make the function that checks values against this hint. To inspect a hint costs more than to check a value."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        checks = [_check_for(each) for each in typing.get_args(hint)]
        return lambda value: any(check(value) for check in checks)
    if origin is typing.Literal:
        choices = typing.get_args(hint)
        return lambda value: value in choices
    if origin is typing.Annotated:
        return _check_for(typing.get_args(hint)[0])
    known = isinstance(origin or hint, type) or hint is None
    return _FITS.get(origin or hint, _anything) if known else _anything


def _anything(value: object) -> bool:
    return True


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "no arguments"
