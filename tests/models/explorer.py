"""Goes through every state that a model can reach, breadth first, and says by the shortest way what is wrong.

A model is a state, which is a tuple, and rules: from a state, every step that somebody may take next. ``explore`` tries
all of them. It checks each state, and each way on from there on which nothing fails any more. Rules are read beside the
real code: the name of a step is that of what it stands for (``ACTIONS`` of each model).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jobrunner.lifecycle import Event

State = Any
"""A tuple. Equal states are one state, whatever has led to them."""


class Step(NamedTuple):
    """``actor`` does ``action``, and the state is ``after`` then. ``event`` is what it is to the run, if anything.

    ``is_fault``: it may happen, and need not: what is promised to come in the end comes without it. ``begins_tick``:
    cron starts a tick, by which it is counted how long something takes.
    """

    actor: str
    action: str
    after: State
    event: Event | None = None
    is_fault: bool = False
    begins_tick: bool = False


class Goal(NamedTuple):
    """What is true after so many ticks on every way without faults, from every state."""

    is_reached: Callable[[State], bool]
    ticks: int


class Model(NamedTuple):
    """``always`` and ``at_last`` have the promises by their names. ``tell`` has the parts of a state in words.

    ``canonical`` makes one state of those that differ in who is who.
    """

    start: State
    steps: Callable[[State], Iterable[Step]]
    always: Mapping[str, Callable[[State], bool]]
    tell: Callable[[State], Mapping[str, object]]
    at_last: Mapping[str, Goal] = {}
    canonical: Callable[[State], State] = lambda state: state


class Refuted(AssertionError):
    """A promise does not hold. The text is the shortest way there, one line for each step."""


class Explored(NamedTuple):
    """How many states and steps there are, and what was done in them."""

    states: int
    steps: int
    actions: set[str]
    events: set[Event]


def explore(model: Model) -> Explored:
    """Go through all states. Raises Refuted."""
    search = _Search(model)
    search.reach_all()
    for name, goal in model.at_last.items():
        search.check_goal(name, goal)
    return Explored(len(search.states), search.count, search.actions, search.events)


def states_of(model: Model) -> list[State]:
    """All states that can be reached."""
    search = _Search(model)
    search.reach_all()
    return search.states


class _Search:
    def __init__(self, model: Model) -> None:
        self.model = model
        start = model.canonical(model.start)
        self.states = [start]
        self.numbers = {start: 0}
        self.parents = [0]
        # From each state: where the steps without a fault lead, and whether a tick begins.
        self.calm: list[Sequence[tuple[int, bool]]] = []
        self.count = 0
        self.actions: set[str] = set()
        self.events: set[Event] = set()

    def reach_all(self) -> None:
        states, numbers, canonical = self.states, self.numbers, self.model.canonical
        always = list(self.model.always.items())
        keeps_calm = bool(self.model.at_last)
        at = 0
        # The list grows while it is read.
        while at < len(states):
            state = states[at]
            for name, holds in always:
                if not holds(state):
                    raise Refuted(self._told(name, self._way_to(at)))
            calm = []
            for step in self.model.steps(state):
                self.count += 1
                self.actions.add(step.action)
                if step.event is not None:
                    self.events.add(step.event)
                after = canonical(step.after)
                number = numbers.setdefault(after, len(states))
                if number == len(states):
                    states.append(after)
                    self.parents.append(at)
                # A step that changes nothing is none on the way to a goal.
                if keeps_calm and not step.is_fault and number != at:
                    calm.append((number, step.begins_tick))
            if keeps_calm:
                self.calm.append(calm)
            at += 1

    def check_goal(self, name: str, goal: Goal) -> None:
        """From each state, find the way without faults that takes the most ticks, depth first."""
        done: list[int | None] = [0 if goal.is_reached(state) else None for state in self.states]
        for first in range(len(self.states)):
            way: list[tuple[int, Iterator[tuple[int, bool]]]] = []
            on_way: set[int] = set()
            if done[first] is None:
                way, on_way = [(first, iter(self.calm[first]))], {first}
            while way:
                at, left = way[-1]
                number = next((one for one, _ in left if done[one] is None), None)
                if number is None:
                    most = max((int(ticks) + int(done[one] or 0) for one, ticks in self.calm[at]), default=None)
                    done[at] = most
                    problem = "nothing more happens" if most is None else f"more than {goal.ticks} ticks"
                    if most is None or most > goal.ticks:
                        raise Refuted(self._told(f"{name}: {problem}", self._way_to(at), self._longest(at, done)))
                    way.pop()
                    on_way.discard(at)
                elif number in on_way:
                    circle = [one for one, _ in way]
                    circle = [*circle[circle.index(number) :], number]
                    raise Refuted(self._told(f"{name}: it goes round", self._way_to(number), circle[1:]))
                else:
                    way.append((number, iter(self.calm[number])))
                    on_way.add(number)

    def _longest(self, at: int, done: Sequence[int | None]) -> list[int]:
        """The way on from a state that takes the most ticks."""
        way: list[int] = []
        while self.calm[at] and done[at] != 0:
            at = max(self.calm[at], key=lambda each: int(each[1]) + int(done[each[0]] or 0))[0]
            way.append(at)
        return way

    def _way_to(self, at: int) -> list[int]:
        way = []
        while at:
            way.append(at)
            at = self.parents[at]
        return way[::-1]

    def _told(self, problem: str, way: Sequence[int], calm_way: Sequence[int] = ()) -> str:
        """The way again from the start, with actors that keep their names: one line for each step."""
        model, state = self.model, self.model.start
        lines = [f"{problem}\n     {_words(model.tell(state))}"]
        for count, number in enumerate([*way, *calm_way], 1):
            if count == len(way) + 1:
                lines.append("     from here on nothing fails:")
            wanted = self.states[number]
            found = (each for each in model.steps(state) if model.canonical(each.after) == wanted)
            step = next(each for each in found if count <= len(way) or not each.is_fault)
            before, after = model.tell(state), model.tell(step.after)
            changed = [f"{name}: {before[name]} -> {after[name]}" for name in after if before[name] != after[name]]
            event = "" if step.event is None else f" ({step.event})"
            lines.append(f"{count:3}. {step.actor}: {step.action}{event}    {'; '.join(changed)}".rstrip())
            state = step.after
        return "\n".join(lines)


def _words(told: Mapping[str, object]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in told.items())
