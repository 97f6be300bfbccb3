"""What a promise is, what a check gets, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias

from jobrunner.store.verify.records import Attempt, Gate, Key, Parent, Run, Step

ONE_TICK = timedelta(minutes=2)
"""After this time a tick has done its work: ticks start each minute, and one may still be at work."""
SLACK = timedelta(minutes=1)
"""How far the clock of a database may step back with no row that shows it: times this close prove nothing."""


class Facts(NamedTuple):
    """What the database as a whole shows.

    ``recorded_since``: from then on each change has its row, and no run was put back or taken away by an archive.
    ``kept_since``: from then on no run was deleted because of its age. ``tick_at`` is when the newest tick started that
    did all its work. ``steps`` are the times over which the clock was set back. ``agreed`` has the types whose limits
    all hosts report alike, and since when. ``lost`` are the times of which a promotion has taken rows and not effects.
    """

    now: datetime
    recorded_since: datetime
    kept_since: datetime
    tick_at: datetime | None = None
    steps: Sequence[Step] = ()
    slack: timedelta = SLACK
    agreed: Mapping[str, datetime] = {}
    lost: Sequence[tuple[datetime, datetime]] = ()

    def stepped(self, first: datetime, last: datetime) -> bool:
        """Whether the clock was set back to or over a time between these two: then their order proves nothing."""
        return any(step.after <= last and step.before >= first for step in self.steps)

    def was_lost(self, at: datetime) -> bool:
        """Whether a promotion has taken rows of this time."""
        return any(first <= at <= last for first, last in self.lost)

    def had_tick(self, since: datetime) -> bool:
        """Whether a tick that began later than this has done all that there was to do."""
        return self.tick_at is not None and since + ONE_TICK <= self.tick_at <= self.now


class History(NamedTuple):
    """All rows of one run, its attempts in order. ``changes`` counts what was done to it; None: that is not known."""

    run: Run
    attempts: Sequence[Attempt]
    changes: Mapping[str, int] | None
    parents: Sequence[Parent] = ()
    key: Key | None = None
    gate: Gate | None = None

    @property
    def last(self) -> Attempt | None:
        """The last attempt that has ended."""
        return self.attempts[-1] if self.attempts else None

    def was_changed(self, *actions: str) -> bool:
        """Whether one of these was done to the run, or it is not known whether."""
        return self.changes is None or any(self.changes.get(each) for each in actions)


About: TypeAlias = Literal["run", "effect", "schedule", "pause", "type"]
Look: TypeAlias = Callable[[Any, Facts], Iterator[str]]


class Promise(NamedTuple):
    """A row of the table of promises.

    ``number`` is that of docs/explanation/reliability.md, or "" for what stands there without one.
    """

    name: str
    number: str
    about: About
    words: str
    remedy: str
    look: Look


@dataclass(frozen=True)
class Breach:
    """A promise that the history refutes. ``subject`` is a run by its id, a schedule or a type by its name, a key,
    or what is paused.

    ``remedy`` is what shows more about it.
    """

    promise: str
    number: str
    subject: str
    sentence: str
    remedy: str

    def __str__(self) -> str:
        """In one line."""
        number = f" ({self.number})" if self.number else ""
        return f"{self.promise}{number}: {self.sentence}; {self.remedy}"


def promise(number: str, about: About, remedy: str) -> Callable[[Look], Promise]:
    """Make a promise of a function: it has the name of the function, and its docstring says what must hold."""

    def make(look: Look) -> Promise:
        words = " ".join((look.__doc__ or "").split())
        return Promise(getattr(look, "__name__", ""), number, about, words, remedy, look)

    return make
