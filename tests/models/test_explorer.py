"""The explorer on models of a few states: what it counts, what it refuses, and the way that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from models.explorer import Goal, Model, Refuted, Step, explore


def model(ways: Mapping[str, str], start: str = "a", faults: str = "", **more: Any) -> Model:
    """A model whose states are letters: ``ways`` leads from each to others. A step to one of ``faults`` is a fault."""

    def steps(state: str) -> Iterator[Step]:
        for after in ways.get(state, ""):
            yield Step("somebody", f"goes to {after}", after, is_fault=after in faults, begins_tick=after.isupper())

    parts: dict[str, Any] = {"always": {}, "tell": lambda state: {"place": state}, **more}
    return Model(start, steps, **parts)


def refuted(model: Model) -> list[str]:
    with pytest.raises(Refuted) as told:
        explore(model)
    return str(told.value).splitlines()


def test_every_state_and_step_is_counted_once() -> None:
    found = explore(model({"a": "bc", "b": "d", "c": "d", "d": "a"}))
    assert (found.states, found.steps) == (4, 5)
    assert found.actions == {"goes to a", "goes to b", "goes to c", "goes to d"}


def test_promise_that_does_not_hold_is_told_with_the_shortest_way_there() -> None:
    ways = {"a": "bc", "b": "d", "d": "x", "c": "x"}
    assert refuted(model(ways, always={"P0: never there": lambda state: state != "x"})) == [
        "P0: never there",
        "     place: a",
        "  1. somebody: goes to c    place: a -> c",
        "  2. somebody: goes to x    place: c -> x",
    ]


def test_goal_is_reached_from_every_state_on_every_way_without_faults() -> None:
    ways = {"a": "bcx", "b": "Z", "c": "b", "x": "x", "Z": ""}
    goal = {"P0: at last": Goal(lambda state: state in "Zx", 1)}
    assert explore(model(ways, faults="x", at_last=goal)).states == 5


@pytest.mark.parametrize(
    ("ways", "problem", "last"),
    [
        ({"a": "bZ", "b": ""}, "P0: at last: nothing more happens", "somebody: goes to b    place: a -> b"),
        ({"a": "b", "b": "cZ", "c": "b"}, "P0: at last: it goes round", "somebody: goes to b    place: c -> b"),
        ({"a": "B", "B": "Z"}, "P0: at last: more than 1 ticks", "somebody: goes to Z    place: B -> Z"),
    ],
)
def test_goal_that_is_not_reached_is_told_with_the_way_on(ways: dict[str, str], problem: str, last: str) -> None:
    told = refuted(model(ways, at_last={"P0: at last": Goal(lambda state: state == "Z", 1)}))
    assert told[0] == problem
    assert told[-1].endswith(last)


def test_goal_that_only_a_fault_prevents_is_reached_but_not_from_where_the_fault_has_led() -> None:
    told = refuted(model({"a": "xZ", "x": ""}, faults="x", at_last={"P0": Goal(lambda state: state == "Z", 1)}))
    assert told == ["P0: nothing more happens", "     place: a", "  1. somebody: goes to x    place: a -> x"]


def test_states_that_differ_in_who_is_who_are_one_and_the_way_keeps_the_names() -> None:
    def steps(state: tuple[int, int]) -> Iterator[Step]:
        for number, count in enumerate(state):
            after = tuple(each + (at == number) for at, each in enumerate(state))
            if count < 2:
                yield Step(f"number {number + 1}", "counts", after)

    given = Model(
        (0, 0),
        steps,
        always={"P0: not both at two": lambda state: state != (2, 2)},
        tell=lambda state: {"one": state[0], "two": state[1]},
        canonical=lambda state: tuple(sorted(state)),
    )
    told = refuted(given)
    changes = sorted(line.split("    ")[1] for line in told[2:])
    assert changes == ["one: 0 -> 1", "one: 1 -> 2", "two: 0 -> 1", "two: 1 -> 2"]
    assert explore(given._replace(always={})).states == 6
