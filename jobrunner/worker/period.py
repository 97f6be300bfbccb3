"""How long a tick claims: until its budget or batch is used up, or, if it listens, until it is superseded."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable
from jobrunner.worker.context import TickContext

LOOK_AGAIN_SECONDS = 1.0


class Period(ABC):
    """Decides whether a tick may still claim, and when the loop must look again.

    ``is_open_ended``: the tick goes on when nothing is due. ``is_needed`` False: the tick goes on as a plain one.
    ``trouble`` is the reason if the database has ended the period early. ``has_answered``: the last ``look`` has got an
    answer of the database. If nothing was due, the loop asks the database again after ``ask_again_seconds``.
    """

    is_open_ended = False
    is_needed = True
    trouble: str | None = None
    has_answered = False

    @abstractmethod
    def goes_on(self) -> bool:
        """Whether this tick may still claim."""

    @abstractmethod
    def most_runs(self) -> float:
        """How many more runs it may claim."""

    def ended_by(self) -> str:
        """Why the tick claims no more, as job_ticks says it."""
        return "empty" if self.goes_on() else "budget"

    def lasts_until(self, instant: float | None) -> bool:
        """Whether it is worth to wait for what happens then; None: nothing does."""
        return False

    @property
    def ask_again_seconds(self) -> float:
        return LOOK_AGAIN_SECONDS

    def next_step_at(self) -> float:
        """When ``look`` has something to do even if nothing happens. Infinity means that nothing is planned."""
        return float("inf")

    def look(self, *, is_ready: bool, is_free: bool) -> bool:
        """Look for new runs if it is time to; whether there may be some.

        ``is_ready``: handlers could begin a run at once. ``is_free``: none is at work. Raises DatabaseUnavailable.
        """
        return False

    def lose(self, error: DatabaseUnavailable) -> None:  # noqa: B027 - a budget has nothing to lose
        """Note that the database did not answer. A period that goes on connects again."""

    def end(self, trouble: DatabaseUnavailable | None = None) -> None:  # noqa: B027 - a budget needs no end
        """Claim no more. The tick still waits for its runs at work."""


class Budget(Period):
    """The period of a plain tick: limited in time and in the number of runs."""

    def __init__(self, context: TickContext) -> None:
        self._counts = context.counts
        self._batch = context.config.batch
        self._ends_at = clock.elapsed() + context.config.budget.total_seconds()

    def goes_on(self) -> bool:
        return clock.elapsed() < self._ends_at and self.most_runs() > 0

    def ended_by(self) -> str:
        return "batch" if self.most_runs() <= 0 else super().ended_by()

    def lasts_until(self, instant: float | None) -> bool:
        return instant is not None and instant < self._ends_at

    def most_runs(self) -> float:
        return self._batch - self._counts["claimed"]
