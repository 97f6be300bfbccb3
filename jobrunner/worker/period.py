"""For how long a tick claims: until its budget or batch is used up, or, where it listens, until it is superseded."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable
from jobrunner.worker.context import TickContext

LOOK_AGAIN_SECONDS = 1.0


class Period(ABC):
    """One reason to go on, and one source of the next step's time.

    ``is_open_ended``: an empty queue does not end it. ``trouble`` is why it ended before its time, if the database was
    the reason. After ``ask_again_seconds`` the database is asked again where nothing was due.
    """

    is_open_ended = False
    trouble: str | None = None

    @abstractmethod
    def goes_on(self) -> bool:
        """Whether this tick may still claim."""

    @abstractmethod
    def most_runs(self) -> float:
        """How many more runs it may claim."""

    @property
    def ask_again_seconds(self) -> float:
        return LOOK_AGAIN_SECONDS

    def next_step_at(self) -> float:
        """When ``look`` has something to do, unless the supervisor is woken before; infinity: nothing is planned."""
        return float("inf")

    def look(self, *, is_ready: bool, is_free: bool) -> bool:
        """Whether there may be new runs to claim, if it is time to look.

        ``is_ready``: handlers could begin a run at once. ``is_free``: none is at work. Raises DatabaseUnavailable.
        """
        return False

    def end(self, trouble: DatabaseUnavailable | None = None) -> None:  # noqa: B027 - a budget needs no end
        """Claim no more. Runs at work are seen to their end."""


class Budget(Period):
    """A plain tick: so much time, and so many runs."""

    def __init__(self, context: TickContext) -> None:
        self._counts = context.counts
        self._batch = context.config.batch
        self._ends_at = clock.elapsed() + context.config.budget.total_seconds()

    def goes_on(self) -> bool:
        return clock.elapsed() < self._ends_at and self.most_runs() > 0

    def most_runs(self) -> float:
        return self._batch - self._counts["claimed"]
