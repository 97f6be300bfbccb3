"""What a measure is, how big it is, and the list of all of them."""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from stage import Stage

# Groups: the peers at the size of everyday; the peers at the other sizes, which take long.
PEERS, SIZES = "peers", "sizes"
# Ours that take long: more runs than a tick takes by default.
BACKLOG = "backlog"
# Beside a history of millions of runs, which takes minutes to make.
OPERATE = "operate"
# A stream of runs that goes on for half an hour.
HOURS = "hours"
_OF_FULL_RUN = {SIZES, BACKLOG, OPERATE, HOURS}
LESS_IS_BETTER = {"s", "ms", "µs", "MB", "bytes", "rows", "cores", "ticks", "statements"}


@dataclass(frozen=True)
class Drain:
    """As many runs that do nothing as the field `size` of Sizes says: our line and the peers'."""

    size: str
    ours: str
    peers: str


# The peers' other lines.
PEERS_TIME, PEERS_SERVER = (
    f"a job's processor time{where}: {{peer}}, {{settings}} settings" for where in ("", " in the server")
)
IDLE, ONE_JOB, SINGLE_ENQUEUE = (
    f"{what}: {{peer}}, {{settings}} settings" for what in ("idle", "one job", "single enqueue")
)
# What our enqueue is: a statement in a transaction that the application begins and commits.
JOINED_ENQUEUE = "single enqueue in the caller's transaction: {peer}, {settings} settings"
# The sizes at which we and the peers are compared, the smallest first.
DRAINS = (
    Drain("few_runs", "drain of few, default settings, {db}", "drain of few: {peer}, {settings} settings"),
    Drain("runs", "drain, default settings, {db}", "drain: {peer}, {settings} settings"),
    Drain("spike", "spike, {db}", "spike: {peer}, {settings} settings"),
)


@dataclass(frozen=True)
class Line:
    """One line of the table. `baseline` is another line's name; None: this line is a baseline itself."""

    name: str
    unit: str
    baseline: str | None = None


@dataclass(frozen=True)
class Measure:
    """Takes one sample of each of its lines. `times`: how often in a round; what is short is taken more often."""

    lines: tuple[Line, ...]
    take: Callable[[Stage], Iterable[float]]
    group: str
    times: int
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """What exactly is timed."""
        return " ".join((self.take.__doc__ or "").split())


MEASURES: list[Measure] = []


def measure(
    *lines: Line, group: str, on: Iterable[str] = ("",), times: int = 1, **settings: Any
) -> Callable[[Callable[..., Iterable[float]]], Callable[..., Iterable[float]]]:
    """Put a function on the list, once for each database that it names; {db} in a name stands for the database.

    With a database the function gets (stage, database), without one (stage).
    """

    def add(function: Callable[..., Iterable[float]]) -> Callable[..., Iterable[float]]:
        for database in on:

            def take(stage: Stage, database: str = database) -> Iterable[float]:
                return function(stage, database) if database else function(stage)

            take.__doc__ = function.__doc__
            named = tuple(_for(line, database) for line in lines)
            MEASURES.append(Measure(named, take, group, times, settings))
        return function

    return add


def _for(line: Line, database: str) -> Line:
    baseline = line.baseline and line.baseline.format(db=database)
    return replace(line, name=line.name.format(db=database), baseline=baseline)


def chosen(only: list[str], without: Collection[str] = (), *, full: bool = False) -> list[Measure]:
    """The measures that match one of the words, with the baselines they are compared to; not the groups ``without``.

    The peers' other sizes, the backlogs and the long history belong to the full run, or are asked for by the name of
    their group.
    """
    offered = [each for each in MEASURES if full or each.group in only or each.group not in _OF_FULL_RUN]
    offered = [each for each in offered if each.group not in without]
    wanted = [each for each in offered if any(_matches(each, word) for word in only or [""])]
    while True:
        names = {line.name for each in wanted for line in each.lines}
        needed = {line.baseline for each in wanted for line in each.lines if line.baseline} - names
        if not needed:
            return [each for each in MEASURES if each in wanted]
        found = [each for each in MEASURES if any(line.name in needed for line in each.lines)]
        if not found:
            raise LookupError(f"nothing measures what is compared to: {', '.join(sorted(needed))}")
        wanted += found


def _matches(each: Measure, word: str) -> bool:
    return word in each.group or any(word.lower() in line.name.lower() for line in each.lines)


def median(samples: list[float]) -> float:
    """nan for none: a failed measure stays in the table."""
    ordered = sorted(samples)
    if not ordered:
        return math.nan
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
