"""What a handler takes: payloads are compared with its signature and converted by its annotations.

In a payload a value is JSON, and for the handler it is what the annotation says. JSON's own types need no conversion.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter
from typing import Any, NamedTuple

from jobrunner.errors import BadPayload, ConfigurationError, PayloadMismatch
from jobrunner.jobs.plain_types import ANYTHING, plain
from jobrunner.text import shown

Function = Callable[..., Any]
_Convert = Callable[[str, Any], Any]


def check_handler(function: Function) -> None:
    """Raise ConfigurationError unless the function can be a handler. The caller adds which one.

    It takes a context first and all other arguments by keyword, is no generator, and each annotation that can be
    resolved by now is one that JSON can be converted by.
    """
    _check_kind(function)
    try:
        parameters = _parameters(function)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"its parameters cannot be read, so it cannot be a handler: {error}") from None
    if not parameters or parameters[0].kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
        raise ConfigurationError("it must take a Context as its first parameter")
    if parameters[0].name in ("self", "cls") and _is_in_class(function):
        raise ConfigurationError(
            f"it is a method, and a tick has nothing to give it as {parameters[0].name}; write a function, which may"
            " make the object and call its method"
        )
    for parameter in parameters[1:]:
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            raise ConfigurationError(f"its parameter {parameter.name!r} cannot be given by keyword")
    _read_early(function, parameters)


def _check_kind(function: object) -> None:
    if inspect.isclass(function):
        raise ConfigurationError("a handler must be a function, and this is a class: a call would only make an object")
    if not callable(function):
        raise ConfigurationError(f"a handler must be a function, not {shown(function)}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(
            f"{_name_of(function)} is a generator: a call would only make it, and do nothing; replace each yield,"
            " or loop over the generator in a handler of its own"
        )


def _is_in_class(function: Function) -> bool:
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def check_names(function: Function, names: Collection[tuple[str, str]]) -> None:
    """Raise ConfigurationError unless the function takes arguments of all these names: option and name."""
    for option, name in names:
        if not takes(function, name):
            raise ConfigurationError(f"its {option} names {name!r}, which it does not take")


def takes(function: Function, name: str) -> bool:
    """Whether the function takes an argument of this name."""
    return any(each.name == name or each.kind is Parameter.VAR_KEYWORD for each in _parameters(function)[1:])


def named(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The positional arguments after the context, by name. Raises PayloadMismatch unless each has a name of its own."""
    if not args:
        return {}
    names = [each.name for each in _parameters(function)[1:] if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    if len(args) > len(names):
        raise PayloadMismatch(f"{len(args)} arguments are given by position; the handler takes {_listed(names)}")
    found = dict(zip(names, args, strict=False))
    if twice := found.keys() & kwargs.keys():
        raise PayloadMismatch(f"argument {min(twice)!r} is given twice")
    return found


def check(function: Function, payload: Mapping[str, Any]) -> None:
    """Raise PayloadMismatch with the argument that does not fit, or BadPayload if the payload is no JSON object."""
    decoded(function, payload)


def decoded(function: Function, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keyword arguments for the handler, made from the payload. Raises like ``check``."""
    return _converted(_read(function), payload, to_json=False)


def encoded(function: Function, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The payload, made from the keyword arguments for the handler. What is JSON already stays.

    Raises PayloadMismatch with the argument that does not fit, or BadPayload.
    """
    return _converted(_read(function), arguments, to_json=True)


def encoded_early(function: Function, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Like ``encoded``, while the module of the function is being imported.

    An annotation may name what the module defines later. Its argument is neither checked nor converted.
    """
    return _converted(_read_early(function), arguments, to_json=True)


def resolve(function: Function) -> None:
    """Raise ConfigurationError if an annotation cannot be resolved. Call it when all modules are imported."""
    _read(function)


class _Argument(NamedTuple):
    """``decode`` makes the handler's value from JSON, and ``encode`` the reverse. None: the value stays as it is."""

    hint: Any
    fits: Callable[[Any], bool]
    decode: _Convert | None = None
    encode: _Convert | None = None
    unresolved: str | None = None


class _Signature(NamedTuple):
    """What a handler takes. ``context`` is the name that a payload must not use; None means that there is none.

    ``others`` is what arguments of any other name are. None means that there are none.
    """

    context: str | None
    others: _Argument | None
    arguments: Mapping[str, _Argument]
    required: Sequence[str]


def _converted(taken: _Signature, given: Mapping[str, Any], *, to_json: bool) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        # A row that was inserted by hand has not been checked before.
        raise BadPayload(f"the payload must be a JSON object, not {type(given).__name__}")
    changed: dict[str, Any] = {}
    for name, value in given.items():
        argument = taken.arguments.get(name) or taken.others
        if argument is None or name == taken.context:
            raise PayloadMismatch(f"unexpected argument {name!r}; the handler takes {_listed(list(taken.arguments))}")
        if not argument.fits(value):
            raise PayloadMismatch(f"argument {name!r} must be {_shown(argument.hint)}, not {type(value).__name__}")
        if convert := argument.encode if to_json else argument.decode:
            changed[name] = convert(name, value)
    for name in taken.required:
        if name not in given:
            raise PayloadMismatch(f"missing argument {name!r}")
    return {**given, **changed} if changed else given


_known: dict[Function, _Signature] = {}


def _read(function: Function) -> _Signature:
    if function not in _known:
        read = _read_early(function)
        for each in filter(None, (*read.arguments.values(), read.others)):
            if each.unresolved is not None:
                raise ConfigurationError(
                    f"an annotation of the handler {_name_of(function)} cannot be resolved: {each.unresolved};"
                    " import what it names also when the program runs, not only for type checkers"
                )
    return _known[function]


def _read_early(function: Function, listed: Sequence[Parameter] = ()) -> _Signature:
    """The signature. It is kept only if all annotations can be resolved by now."""
    if function in _known:
        return _known[function]
    first, *parameters = listed or _parameters(function)
    read = {each.name: _read_argument(function, each) for each in parameters}
    others = [read.pop(each.name) for each in parameters if each.kind is Parameter.VAR_KEYWORD]
    # A keyword with the name of the context parameter is an error, unless that parameter is positional only.
    context = None if first.kind is Parameter.POSITIONAL_ONLY else first.name
    required = [each.name for each in parameters if each.name in read and each.default is Parameter.empty]
    signature = _Signature(context, others[0] if others else None, read, required)
    if not any(each.unresolved for each in (*read.values(), *others)):
        _known[function] = signature
    return signature


def _read_argument(function: Function, parameter: Parameter) -> _Argument:
    if parameter.annotation is Parameter.empty:
        return _Argument(None, ANYTHING.fits)
    try:
        hint = _hint_of(function, parameter)
    except Exception as error:  # noqa: BLE001 - users write the annotations
        return _Argument(None, ANYTHING.fits, unresolved=f"{type(error).__name__}: {error}")
    if found := plain(hint):
        return _Argument(hint, found.fits, _by_value(found.widen))
    from jobrunner.jobs.conversion import Converter, Unsupported

    try:
        converter = Converter(hint, _shown(hint))
    except NameError as error:
        return _Argument(None, ANYTHING.fits, unresolved=f"NameError: {error}")
    except Unsupported as error:
        raise ConfigurationError(
            f"the parameter {parameter.name!r} of the handler {_name_of(function)} is {_shown(hint)}, which a payload"
            f" cannot hold: {error}"
        ) from None
    return _Argument(hint, ANYTHING.fits, converter.decode, converter.encode)


def _by_value(widen: Callable[[Any], Any] | None) -> _Convert | None:
    return None if widen is None else lambda name, value: widen(value)


def _hint_of(function: Function, parameter: Parameter) -> Any:
    """The annotation, resolved by itself: another one that cannot be resolved is not in its way."""
    target: Any = function
    while isinstance(target, functools.partial):
        target = target.func
    holder = types.SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    names = getattr(inspect.unwrap(target), "__globals__", {})
    return typing.get_type_hints(holder, globalns=names, include_extras=True)[parameter.name]


def _parameters(function: Function) -> list[Parameter]:
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        # Annotations may name what the module defines later.
        return list(inspect.signature(function, annotation_format=Format.FORWARDREF).parameters.values())
    return list(inspect.signature(function).parameters.values())


def _name_of(function: Function) -> str:
    return getattr(function, "__name__", "of this type")


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "no arguments"
