"""A handler with an argument of each kind that a payload can hold, and a value for each of them."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

HANDLERS = """
from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, NewType, NotRequired, Optional, TypedDict
from uuid import UUID

from pydantic import BaseModel

from jobrunner import Context, Schedule, job


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclass
class Address:
    street: str
    since: date
    former: list[Address] = field(default_factory=list)


class Line(TypedDict):
    amount: Decimal
    note: NotRequired[str]


class Point(NamedTuple):
    x: int
    at: datetime


class Customer(BaseModel):
    name: str
    born: date


@dataclass(eq=False)
class Unequal:
    name: str


UserId = NewType("UserId", int)
NOON = datetime(2026, 1, 5, 12, 30, 0, 250_000, tzinfo=UTC)
VALUES = dict(
    whole=-5,
    huge=2**200,
    text="ä\\u2028 ' \\" \\\\ 5",
    yes=True,
    number=0.1,
    round_number=1e22,
    nothing=None,
    names=["a", ""],
    table={"a": {"b": [1]}},
    numbers=[1.0, 2.5],
    loose={"a": [1, None]},
    choice="green",
    either=7,
    old=None,
    new_type=UserId(5),
    noted=9,
    sequence=["x"],
    mapping={"x": 1},
    instant=NOON,
    naive=datetime(2026, 1, 5, 12, 30),
    offset=datetime(2026, 1, 5, 12, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    day=date(2026, 1, 5),
    clock=time(12, 30, 1),
    span=timedelta(days=-3, microseconds=5),
    money=Decimal("12.50"),
    unique=UUID("12345678-1234-5678-1234-567812345678"),
    raw=b"\\x00\\xff",
    colour=Colour.RED,
    level=Level.HIGH,
    pair=(1, date(2026, 1, 5)),
    days=(date(2026, 1, 5),),
    ids={3},
    frozen=frozenset([date(2026, 1, 5)]),
    by_day={date(2026, 1, 5): Decimal("1.1")},
    by_number={1: "one"},
    address=Address("Elm", date(2020, 2, 29), [Address("Oak", date(2019, 1, 1))]),
    line=Line(amount=Decimal("0.10")),
    point=Point(1, NOON),
    customer=Customer(name="Ada", born=date(1815, 12, 10)),
    customers=[Customer(name="Ada", born=date(1815, 12, 10))],
    maybe=date(2026, 1, 5),
    no_equality=Unequal("x"),
)
"""
PARAMETERS = """
    ctx: Context,
    whole: int,
    huge: int,
    text: str,
    yes: bool,
    number: float,
    round_number: float,
    nothing: None,
    names: list[str],
    table: dict[str, dict[str, list[int]]],
    numbers: list[float],
    loose,
    choice: Literal["red", "green"],
    either: int | str,
    old: Optional[int],
    new_type: UserId,
    noted: Annotated[int, "a note"],
    sequence: Sequence[str],
    mapping: Mapping[str, int],
    instant: datetime,
    naive: datetime,
    offset: datetime,
    day: date,
    clock: time,
    span: timedelta,
    money: Decimal,
    unique: UUID,
    raw: bytes,
    colour: Colour,
    level: Level,
    pair: tuple[int, date],
    days: tuple[date, ...],
    ids: set[int],
    frozen: frozenset[date],
    by_day: dict[date, Decimal],
    by_number: dict[int, str],
    address: Address,
    line: Line,
    point: Point,
    customer: Customer,
    customers: list[Customer],
    maybe: date | None,
    no_equality: Unequal,
"""
HANDLERS += f"""

@job
def take(
{PARAMETERS}
):
    # Text tells 1 from 1.0, and a class from a dict.
    return {{name: repr(value) for name, value in locals().items() if name != "ctx"}}


@job
async def take_async(
{PARAMETERS}
):
    return {{name: repr(value) for name, value in locals().items() if name != "ctx"}}


@job(schedule=Schedule("@daily", payload={{"day": date(2026, 1, 5), "wait": timedelta(hours=1)}}))
def daily(ctx: Context, day: date, wait: timedelta):
    return repr((day, wait))
"""
TAKES = [line.split(":")[0].strip(" ,") for line in PARAMETERS.strip().splitlines()[1:]]


def load(folder: Path, source: str = HANDLERS, name: str = "typed_handlers") -> Any:
    """Write the handlers as a module, and import it here as an application would."""
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
