"""A row of the table of `make mutants`: a change of one place that is written by hand, for what no operator finds."""

from collections.abc import Sequence
from dataclasses import dataclass

import changes
from changes import Change, Drop, NotThere, Swap
from sandbox import ROOT

__all__ = ["Drop", "Mutation", "Swap"]


@dataclass(frozen=True)
class Mutation:
    """``place`` is a file and a function in it, or a file that is not Python's, in which ``Swap`` replaces a text.

    ``tests`` are to fail without it, unless ``reason`` says why none does. There are several changes where each of
    several places is enough.
    """

    name: str
    place: str
    change: Change | tuple[Change, ...]
    tests: Sequence[str]
    reason: str = ""

    @property
    def file(self) -> str:
        """The file that is changed."""
        return self.place.partition(":")[0]

    def changed(self) -> str:
        """The file after the change. Raises NotThere if what it changes is not there."""
        source = (ROOT / self.file).read_text()
        each_change = self.change if isinstance(self.change, tuple) else (self.change,)
        function = self.place.partition(":")[2]
        if function:
            return changes.changed(source, function, each_change)
        for each in each_change:
            if not isinstance(each, Swap) or source.count(each.old) != 1:
                raise NotThere(f"{each} is not a text that occurs once in {self.file}")
            source = source.replace(each.old, each.new)
        return source

    def problem(self) -> str | None:
        """Why it cannot be tried."""
        try:
            after = self.changed()
        except NotThere as error:
            return str(error)
        before = (ROOT / self.file).read_text()
        return "it changes nothing" if after == (changes.as_written(before) if ":" in self.place else before) else None
