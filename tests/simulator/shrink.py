"""Makes a failing history shorter: fewer actions of people, and zeros in the place of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from simulator import history, scenario
from simulator.history import Result
from simulator.places import ServerPlace
from simulator.scenario import Scenario


class Shrunk:
    """``made`` and ``numbers`` lead to the failure still. ``tries`` is how many histories that took."""

    def __init__(self, made: Scenario, numbers: list[int], fails: Callable[[Scenario, Sequence[int]], bool]) -> None:
        self.made = made
        self.numbers = numbers
        self.tries = 0
        self._fails = fails

    def shrink(self, most_tries: int) -> None:
        """Write zeros into ever smaller parts of the numbers, and leave out actions, as long as it fails still."""
        size = len(self.numbers)
        while size:
            for start in range(0, len(self.numbers), size):
                part = self.numbers[start : start + size]
                if self.tries < most_tries and any(part):
                    zeros = [0] * len(part)
                    self._try(self.made, [*self.numbers[:start], *zeros, *self.numbers[start + size :]])
            for action in self.made.actions if size == len(self.numbers) else ():
                left = tuple(each for each in self.made.actions if each is not action)
                if self.tries < most_tries:
                    self._try(self.made._replace(actions=left), self.numbers)
            size //= 2

    def _try(self, made: Scenario, numbers: list[int]) -> None:
        self.tries += 1
        if self._fails(made, numbers):
            self.made, self.numbers = made, numbers


def shrunk(seed: int, template: Path | ServerPlace, folder: Path, most_tries: int = 150) -> Result:
    """The history of this seed, shorter if it fails."""
    run = partial(history.run, seed, template, folder)
    found = run(tells=True)
    if found.problem is None:
        return found
    made = Shrunk(
        scenario.make(seed),
        found.numbers,
        lambda made, numbers: run(made=made, numbers=numbers).problem is not None,
    )
    made.shrink(most_tries)
    return run(made=made.made, numbers=made.numbers, tells=True)
