"""What a finding is, the rules that find one, and the words that they share."""

from __future__ import annotations

import shlex
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeAlias

from jobrunner.durations import format_duration
from jobrunner.settings.health import Thresholds
from jobrunner.store.questions.facts import MOST_COUNTED, DueType, Facts, HostTick
from jobrunner.text import iso_instant, one_line

_NAMED = 3
_LONGEST_SENTENCE = 300
_NAMING = ("id", "job_type", "host", "kind", "name")


class Severity(StrEnum):
    """How bad a finding is. ``critical``: runs do not run, or will not."""

    CRITICAL = "critical"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """What is wrong. ``name`` never changes, the sentence may.

    ``remedy`` is a command that repairs it, or where none can a sentence that names what must be changed. ``detail`` is
    a traceback, if there is one. ``about`` names what it is about, the first of several: the ``id`` of a run, a
    ``job_type``, a ``host``, the ``name`` of a schedule, or the ``kind`` and ``name`` of a pause.
    """

    name: str
    severity: Severity
    sentence: str
    remedy: str
    detail: str | None
    about: Mapping[str, str | int]

    def __str__(self) -> str:
        """In one line, without the name."""
        return f"{self.sentence}; {self.remedy}"


@dataclass(frozen=True)
class Said:
    """What a rule has found: the sentence, and the ``values`` of the rule's remedy.

    ``severity`` and ``remedy`` are in place of those of the rule.
    """

    sentence: str
    values: Mapping[str, object] = field(default_factory=dict)
    severity: Severity | None = None
    remedy: str | None = None
    detail: str | None = None


Scope: TypeAlias = Literal["database", "host", "type", "run", "schedule", "effect", "pause"]
Look: TypeAlias = Callable[[Facts, Thresholds], Iterator[Said]]


class Rule(NamedTuple):
    """A row of the table of findings. ``scope`` is what it is about, ``words`` are those of the documentation.

    ``{id}`` in ``remedy`` is a value of the finding; ``{name!q}`` is quoted for a shell.
    """

    name: str
    scope: Scope
    severity: Severity
    words: str
    remedy: str
    look: Look

    def judge(self, facts: Facts, limits: Thresholds) -> Iterator[Finding]:
        """The findings of this rule in these facts."""
        yield from map(self.found, self.look(facts, limits))

    def found(self, said: Said) -> Finding:
        """A finding of this rule, whose sentence is one line."""
        remedy = _Remedy().format(said.remedy or self.remedy, **said.values)
        severity = said.severity or self.severity
        about = {
            name: value if isinstance(value, int) else str(value)
            for name, value in said.values.items()
            if name in _NAMING and value is not None
        }
        return Finding(self.name, severity, one_line(said.sentence, _LONGEST_SENTENCE), remedy, said.detail, about)


class _Remedy(string.Formatter):
    def convert_field(self, value: Any, conversion: Any) -> Any:
        return shlex.quote(str(value)) if conversion == "q" else super().convert_field(value, conversion)


def rule(scope: Scope, severity: Severity, remedy: str) -> Callable[[Look], Rule]:
    """Make a rule of a function: it has the name of the function, and its docstring says what it means."""

    def make(look: Look) -> Rule:
        words = " ".join((look.__doc__ or "").split())
        return Rule(getattr(look, "__name__", ""), scope, severity, words, remedy, look)

    return make


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


def listed_due(facts: Facts, due: Sequence[DueType]) -> str:
    """How many runs of each of these types are due, and for how long."""
    return listed_few([f"{number_of(e.runs, 'run')} of {e.job_type} for {age(facts, e.run_at)}" for e in due])


def age(facts: Facts, since: datetime) -> str:
    """How long it was since an instant, when the facts were read."""
    return format_duration(max(facts.at - since, timedelta(0)))


def at(instant: datetime) -> str:
    """An instant, to the second."""
    return iso_instant(instant.replace(microsecond=0))
