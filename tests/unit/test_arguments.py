"""Whether a payload fits a handler: checked before the handler starts, with the name of the argument."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Optional

import pytest

from jobrunner.errors import BadPayload, ConfigurationError
from jobrunner.jobs import signature
from jobrunner.jobs.context import Context


def report(ctx: Context, user_id: int, week: str, copies: int = 1, *, note: str | None = None) -> None: ...


def flexible(ctx: Context, /, known: float, **rest: Any) -> None: ...


def named_like_its_context(ctx: Context, **rest: Any) -> None: ...


def typed(
    ctx: Context,
    text: str = "",
    whole: int = 0,
    number: float = 0.0,
    yes: bool = False,
    names: list[str] | None = None,
    table: dict[str, int] | None = None,
    either: int | str = 0,
    old: Optional[int] = None,  # noqa: UP045 - as much code in the world is written
    nothing: None = None,
    colour: Literal["red", "green"] = "red",
    noted: Annotated[int, "a note"] = 0,
    anything: Any = None,
    mapping: Mapping[str, int] | None = None,
    own: "Unknown" = None,  # type: ignore[name-defined] # noqa: F821
    bare=None,  # type: ignore[no-untyped-def]
) -> None: ...


def resolved(
    ctx: Context,
    text: str = "",
    whole: int = 0,
    number: float = 0.0,
    yes: bool = False,
    names: list[str] | None = None,
    table: dict[str, int] | None = None,
    either: int | str = 0,
    old: Optional[int] = None,  # noqa: UP045
    nothing: None = None,
    colour: Literal["red", "green"] = "red",
    noted: Annotated[int, "a note"] = 0,
    anything: Any = None,
    mapping: Mapping[str, int] | None = None,
) -> None: ...


@pytest.mark.parametrize(
    "payload",
    [
        {"user_id": 1, "week": "2026-01-05"},
        {"user_id": 1, "week": "2026-01-05", "copies": 2, "note": "x"},
        {"user_id": 1, "week": "2026-01-05", "note": None},
    ],
)
def test_payload_that_fits_the_signature_is_accepted(payload: dict[str, Any]) -> None:
    signature.check(report, payload)


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({}, "missing argument 'user_id'"),
        ({"user_id": 1}, "missing argument 'week'"),
        ({"user_id": 1, "week": "w", "user": 2}, "unexpected argument 'user'; the handler takes user_id, week, copies"),
        ({"user_id": "1", "week": "w"}, "argument 'user_id' must be int, not str"),
        ({"user_id": None, "week": "w"}, "argument 'user_id' must be int, not NoneType"),
        ({"user_id": True, "week": "w"}, "argument 'user_id' must be int, not bool"),
        ({"user_id": 1.0, "week": "w"}, "argument 'user_id' must be int, not float"),
        ({"user_id": 1, "week": "w", "note": 5}, r"argument 'note' must be str \| None, not int"),
        ({"user_id": 1, "week": "w", "ctx": 2}, "unexpected argument 'ctx'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(payload: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadPayload, match=problem):
        signature.check(report, payload)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", ""), ("whole", -1), ("number", 1.5), ("number", 1), ("yes", False), ("names", []), ("names", None),
        ("table", {}), ("either", "x"), ("either", 1), ("old", None), ("old", 1), ("nothing", None),
        ("colour", "green"), ("noted", 3), ("anything", [1]), ("anything", None), ("mapping", {"a": 1}),
    ],
)  # fmt: skip
def test_each_json_type_fits_its_annotation(name: str, value: object) -> None:
    signature.check(resolved, {name: value})


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("text", 1, "str"), ("whole", 1.5, "int"), ("number", "1", "float"), ("number", True, "float"),
        ("yes", 1, "bool"), ("yes", "true", "bool"), ("names", {}, r"list\[str\] \| None"), ("table", [], "dict"),
        ("either", 1.5, r"int \| str"), ("either", True, r"int \| str"), ("old", "x", "Optional|int"),
        ("nothing", 0, "NoneType"), ("colour", "blue", "Literal"), ("noted", "x", "int"),
    ],
)  # fmt: skip
def test_each_other_json_type_is_refused(name: str, value: object, wanted: str) -> None:
    with pytest.raises(BadPayload, match=f"argument '{name}' must be .*({wanted}).*, not {type(value).__name__}"):
        signature.check(resolved, {name: value})


def test_annotation_that_is_never_defined_is_an_error_that_names_it() -> None:
    """Without the type there is no conversion: the handler would get a text where it says datetime."""
    for use in (signature.check, signature.encoded, lambda function, _: signature.resolve(function)):
        with pytest.raises(ConfigurationError, match="handler typed cannot be resolved: NameError: name 'Unknown' is"):
            use(typed, {"own": 1})
    # While the module is being imported the name may still come. The others are checked.
    assert signature.encoded_early(typed, {"own": 1, "bare": [1]}) == {"own": 1, "bare": [1]}
    with pytest.raises(BadPayload, match="argument 'whole' must be int, not str"):
        signature.encoded_early(typed, {"own": 1, "whole": "1"})


def test_handler_with_keyword_arguments_takes_any_name() -> None:
    signature.check(flexible, {"known": 1, "more": [], "ctx": "positional only, so the name is free"})
    with pytest.raises(BadPayload, match="missing argument 'known'"):
        signature.check(flexible, {"more": 1})


def test_name_of_the_context_argument_is_reserved_even_with_keyword_arguments() -> None:
    with pytest.raises(BadPayload, match="unexpected argument 'ctx'"):
        signature.check(named_like_its_context, {"ctx": 1})


def test_error_for_a_handler_without_arguments_names_that() -> None:
    def clean_up(ctx: Context) -> None: ...

    signature.check(clean_up, {})
    with pytest.raises(BadPayload, match="unexpected argument 'x'; the handler takes no arguments"):
        signature.check(clean_up, {"x": 1})


def no_context() -> None: ...


def context_by_keyword(*, ctx: Context) -> None: ...


def anonymous(ctx: Context, *names: str) -> None: ...


def positional(ctx: Context, user_id: int, /) -> None: ...


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (no_context, "it must take a Context as its first parameter"),
        (context_by_keyword, "it must take a Context as its first parameter"),
        (anonymous, "its parameter 'names' cannot be given by keyword"),
        (positional, "its parameter 'user_id' cannot be given by keyword"),
    ],
)
def test_a_function_that_cannot_be_a_handler_is_refused(function: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        signature.check_handler(function)


@pytest.mark.parametrize("function", [report, flexible, typed, lambda ctx: None])
def test_function_that_can_be_a_handler_is_accepted(function: Any) -> None:
    signature.check_handler(function)
