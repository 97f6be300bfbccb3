"""Arguments travel as JSON and arrive as what the handler's annotation says; what could not is refused."""

import enum
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pydantic
import pytest

from harness import typed_jobs
from jobrunner.errors import BadPayload, ConfigurationError, PayloadMismatch
from jobrunner.jobs import signature
from jobrunner.jobs.context import Context
from jobrunner.jobs.payload import checked_text

BERLIN = ZoneInfo("Europe/Berlin")


class Colour(enum.Enum):
    RED = "red"


class Broken(enum.Enum):
    NONE = None


@dataclass
class Address:
    street: str
    since: date


@dataclass
class Home(Address):
    rooms: int = 1


@dataclass
class Positive:
    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("below zero")
        if self.number > 9:
            raise KeyError(self.number) if self.number < 99 else SystemExit("bye")


@dataclass
class Late:
    when: "DefinedLater"  # noqa: F821


class Line(TypedDict):
    amount: Decimal


class Customer(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    name: str
    born: date


class Custom:
    def __repr__(self) -> str:
        # Part of the name of a test, which must be the same in each process.
        return "Custom()"


def handler_of(annotation: Any) -> Callable[..., Any]:
    def handler(ctx: Context, x: Any) -> None: ...

    handler.__annotations__["x"] = annotation
    return handler


def through_payload(annotation: Any, value: object) -> Any:
    handler = handler_of(annotation)
    payload = json.loads(checked_text(signature.encoded(handler, {"x": value})))
    return signature.decoded(handler, payload)["x"]


def test_every_kind_of_argument_comes_back_as_it_was(tmp_path: Path) -> None:
    module = typed_jobs.load(tmp_path)
    assert list(module.VALUES) == typed_jobs.TAKES
    text = checked_text(signature.encoded(module.take.function, module.VALUES))
    back = signature.decoded(module.take.function, json.loads(text))
    assert {name: repr(value) for name, value in back.items()} == {
        name: repr(value) for name, value in module.VALUES.items()
    }
    # What is there as JSON, from SQL or the command line, can be enqueued as it is.
    assert signature.encoded(module.take.function, json.loads(text)) == json.loads(text)
    (daily,) = module.daily.schedules
    assert daily.payload == {"day": "2026-01-05", "wait": "PT3600S"}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        # An aware time in the hour that the clock repeats is equal to no time of another zone.
        (datetime, datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1)),
        (list[datetime], [datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)]),
        (Decimal, Decimal("NaN")),
        (Annotated[int, msgspec.Meta(ge=0)], 0),
        (Customer | None, Customer(name="Ada", born=date(1815, 12, 10))),
        (float, 10**22),
        (float | None, 3),
        (dict[str, float], {"a": 3}),
    ],
    ids=repr,
)
def test_value_that_is_hard_to_compare_survives(annotation: Any, value: Any) -> None:
    back = through_payload(annotation, value)
    assert type(back) is (float if annotation in (float, float | None) else type(value))
    assert shown(back) == shown(value)


def shown(value: Any) -> Any:
    if isinstance(value, list):
        return [shown(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value if value == value else repr(value)


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        (datetime, 5, "must be datetime: Expected `datetime`, got `int`"),
        (datetime, "yesterday", "must be datetime: Invalid RFC3339 encoded datetime"),
        (date, datetime(2026, 1, 1, tzinfo=UTC), "must be date: Invalid RFC3339 encoded date"),
        (str, date(2026, 1, 1), "must be str, not date"),
        (int, "5", "must be int, not str"),
        (list[int], [1, "2"], r"must be list\[int\], not list"),
        (dict[str, bool], {"a": 1}, "must be dict.*, not dict"),
        (Literal[1], True, r"must be Literal\[1\], not bool"),
        (float, 10**400, "must be float, not int"),
        (list[date], ["2026-01-01", 2], r"must be list\[datetime.date\]: Expected `date`, got `int` at x\[1\]"),
        (Address, {"street": "Elm", "since": "x"}, "must be Address: Invalid RFC3339 encoded date at x.since"),
        (Address, {"street": "Elm"}, "must be Address: Object missing required field `since`"),
        # A list is encoded and made again, too, but it is not what was given.
        (list[date], (date(2026, 1, 1),), "must be .*: a tuple would not arrive as one"),
        (Address, Home("Elm", date(2026, 1, 1), 3), "must be Address: a Home would not arrive as one"),
        (Address, Address("Elm", 5), "must be Address: Expected `date`, got `int` at x.since"),  # type: ignore[arg-type]
        (Positive, {"number": -1}, "must be Positive: below zero"),
        (Positive, {"number": 10}, "must be Positive: KeyError: 10"),
        (Positive, {"number": 99}, "must be Positive: SystemExit: bye"),
        (Colour, "secret", "must be Colour: Invalid enum value$"),
        (
            Customer,
            {"name": "Ada", "born": "secret"},
            "must be Customer: Input should be a valid date.* at Customer.born$",
        ),
        (
            Customer,
            {"name": 5, "born": "1815-12-10"},
            "must be Customer: Input should be a valid string at Customer.name",
        ),
        (date, Custom(), "must be date: Custom cannot be written as JSON"),
        (Annotated[int, msgspec.Meta(ge=0)], -1, "must be .*: Expected `int` >= 0"),
    ],
    ids=repr,
)
def test_value_that_would_not_arrive_is_refused_with_its_path(annotation: Any, value: object, problem: str) -> None:
    with pytest.raises(PayloadMismatch, match=f"^argument 'x' {problem}") as refused:
        through_payload(annotation, value)
    assert "secret" not in str(refused.value)


def test_fields_that_the_class_does_not_have_are_left_out() -> None:
    """Old code meets what new code has enqueued, in every deploy."""
    address = {"street": "Elm", "since": "2026-01-01", "floor": 3}
    assert signature.decoded(handler_of(Address), {"x": address})["x"] == Address("Elm", date(2026, 1, 1))
    assert signature.decoded(handler_of(Line), {"x": {"amount": "1", "more": 2}})["x"] == {"amount": Decimal(1)}


def test_rules_of_payloads_hold_for_what_is_converted() -> None:
    @dataclass
    class Box:
        number: float = 0.0
        text: str = ""
        items: list[Any] = field(default_factory=list)

    endless: list[Any] = []
    endless.append(endless)
    deep: list[Any] = []
    for _ in range(70):
        deep = [deep]
    for box, problem in (
        (Box(number=float("nan")), "is nan, which JSON cannot hold"),
        (Box(text="a\0b"), "NUL"),
        (Box(items=endless), "'x' is nested too deep"),
        (Box(items=deep), "nested deeper than 64 levels"),
    ):
        with pytest.raises(BadPayload, match=problem):
            through_payload(Box, box)


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (date | datetime, "more than one str-like type"),
        (str | UUID, "more than one str-like type"),
        (Address | Line, "more than one dict-like type"),
        (set[int] | tuple[date, ...], "more than one array-like"),
        (Customer | int, "custom type"),
        (Custom, "JSON cannot be made into .*Custom$"),
        (dict[str, list[Custom]], "JSON cannot be made into .*Custom$"),
        (Callable[[], None], "JSON cannot be made into collections.abc.Callable$"),
        (complex, "JSON cannot be made into builtins.complex$"),
        (Broken, "Enums must contain either all str or all int values"),
        (Literal[Colour.RED], "Literal may only contain"),
        (pydantic.SecretStr, "JSON cannot be made into pydantic.types.SecretStr$"),
    ],
    ids=repr,
)
def test_annotation_that_no_payload_can_hold_is_refused_at_import(annotation: Any, problem: str) -> None:
    with pytest.raises(
        ConfigurationError,
        match=rf"^the parameter 'x' of the handler handler is .*, which a payload cannot hold: .*{problem}",
    ) as refused:
        signature.check_handler(handler_of(annotation))
    assert "\n" not in str(refused.value)


def test_annotation_that_is_defined_after_the_handler_is_resolved_at_first_use() -> None:
    late, hidden = handler_of("DefinedLater"), handler_of(Late)
    name = {"x": "2026-01-05"}
    for function in (late, hidden):
        signature.check_handler(function)
        with pytest.raises(
            ConfigurationError, match="NameError: name 'DefinedLater' is not defined; import what it names"
        ):
            signature.resolve(function)
    globals()["DefinedLater"] = date
    try:
        assert signature.decoded(late, name) == {"x": date(2026, 1, 5)}
        assert signature.decoded(hidden, {"x": {"when": "2026-01-05"}}) == {"x": Late(date(2026, 1, 5))}  # type: ignore[arg-type]
    finally:
        del globals()["DefinedLater"]


def test_arguments_of_any_name_are_converted_by_their_annotation() -> None:
    def handler(ctx: Context, /, **days: date) -> None: ...

    assert signature.decoded(handler, {"ctx": "2026-01-05"}) == {"ctx": date(2026, 1, 5)}
    assert signature.encoded(handler, {"a": date(2026, 1, 5)}) == {"a": "2026-01-05"}
    with pytest.raises(PayloadMismatch, match="argument 'b' must be date: Expected `date`, got `int`"):
        signature.decoded(handler, {"a": "2026-01-05", "b": 1})


def test_handler_with_plain_arguments_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(
        ctx: Context, a: int, b: list[dict[str, int | None]], c: Literal["x"] = "x", **d: object
    ) -> Iterator[int]: ...

    monkeypatch.setitem(sys.modules, "msgspec", None)
    monkeypatch.delitem(sys.modules, "jobrunner.jobs.conversion", raising=False)
    given = {"a": 1, "b": [{"x": 1}], "c": "x", "e": [1]}
    assert signature.decoded(handler, given) is given
    assert signature.encoded(handler, given) is given
    with pytest.raises(ImportError):
        signature.check_handler(handler_of(date))
