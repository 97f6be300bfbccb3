"""What a finding is, and the words that the rules share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from jobrunner.durations import format_duration
from jobrunner.settings.health import Thresholds
from jobrunner.store.questions.findings import MOST_COUNTED, DueType, Facts, HostTick
from jobrunner.text import iso_instant, one_line

_NAMED = 3
_LONGEST_SENTENCE = 300


class Severity(IntEnum):
    """How bad a finding is. ``CRITICAL``: runs do not run, or will not."""

    WARNING = 1
    CRITICAL = 2


@dataclass(frozen=True)
class Finding:
    """What is wrong. ``name`` never changes, the sentence may.

    ``remedy`` is a command that mends it, or where none can a sentence that names what must be changed.

    ``detail`` is a traceback, if there is one.
    """

    name: str
    severity: Severity
    sentence: str
    remedy: str
    detail: str | None = None

    def as_data(self) -> dict[str, str | None]:
        """For a JSON output."""
        return {**vars(self), "severity": self.severity.name.lower()}


def finding(name: str, severity: Severity, sentence: str, remedy: str, detail: str | None = None) -> Finding:
    """A finding whose sentence is one line."""
    return Finding(name, severity, one_line(sentence, _LONGEST_SENTENCE), remedy, detail)


def ticking(facts: Facts, limits: Thresholds) -> list[HostTick]:
    """The hosts that are in service."""
    return [each for each in facts.hosts if facts.at - each.started_at < limits.host_gone]


def listed_few(words: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    rest = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def number_of(count: int, noun: str) -> str:
    """The number with its noun. Of more than ``MOST_COUNTED`` it is not known how many."""
    return f"{MOST_COUNTED}+ {noun}s" if count > MOST_COUNTED else f"{count} {noun}{'s' * (count != 1)}"


def due_runs(due: DueType) -> str:
    """How many runs of the type are due."""
    return number_of(due.runs, "run")


def age(facts: Facts, since: datetime) -> str:
    """How long it was since an instant, when the facts were read."""
    return format_duration(max(facts.at - since, timedelta(0)))


def at(instant: datetime) -> str:
    """An instant, to the second."""
    return iso_instant(instant.replace(microsecond=0))
