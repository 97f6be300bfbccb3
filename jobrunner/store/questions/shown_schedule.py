"""A schedule in words, with why it makes no runs: what ``schedule show`` answers, and the page of the schedule."""

from __future__ import annotations

from dataclasses import dataclass

from jobrunner.errors import BadSchedule
from jobrunner.schedules.describe import describe
from jobrunner.schedules.recurrence import Recurrence
from jobrunner.store.questions.definitions import ListedDefinition, ShownDefinition
from jobrunner.store.questions.explain.explanation import Brief, Explanation
from jobrunner.text import picked


@dataclass(frozen=True)
class Schedule(ShownDefinition):
    """A schedule with its newest runs and events, and what its expression means in words."""

    in_words: str | None
    explanation: Brief | None


def of_schedule(found: ShownDefinition, why: Explanation | None) -> Schedule:
    """The answer about a schedule."""
    return picked(Schedule, found, in_words=in_words(found), explanation=why and why.brief())


def in_words(found: ListedDefinition) -> str | None:
    """What its expression means. None: there is none, or it cannot be read."""
    try:
        return None if found.schedule is None else describe(Recurrence.parse(found.schedule, found.timezone).expression)
    except BadSchedule:
        return None
