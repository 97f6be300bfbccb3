"""The options of a schedule as one table, for code, the file, the command line and `schedule show`.

An option has the same name as its column and as its field in ``SlotPolicy``, which also gives the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

from jobrunner.durations import parse_duration
from jobrunner.errors import UsageError
from jobrunner.jobs.options import choice, whole_number
from jobrunner.model import FIRST_INSTANT, LAST_INSTANT, OVERLAPS, SlotPolicy

Kind: TypeAlias = Literal["choice", "number", "duration", "instant"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option: ``help`` is for the command line, ``most`` is the largest number, ``meanings`` explains each choice.

    `schedule show` prints ``shown`` on the line ``line``; names in braces are columns, and "" prints nothing. For a
    choice it prints the meaning.
    """

    name: str
    kind: Kind
    help: str
    line: str = ""
    shown: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)
    most: int = 0

    @property
    def can_be_none(self) -> bool:
        """Whether the option can be cleared; otherwise it has a default."""
        return getattr(SlotPolicy(), self.name) is None

    def check(self, value: Any) -> Any:
        """Convert the value for ``SlotPolicy``. Raises UsageError that names the option and the remedy."""
        return None if value is None and self.can_be_none else _CHECKS[self.kind](self, value)

    def say(self, row: Mapping[str, str | None]) -> str | None:
        """What `schedule show` prints for a definition's row, whose values are texts; None: nothing."""
        value = row[self.name]
        if value is None:
            return None
        return (f"{value}: {self.meanings[value]}" if self.meanings else self.shown).format_map(row) or None


def _duration(option: Option, value: Any) -> timedelta:
    try:
        duration = parse_duration(value)
    except UsageError as error:
        raise UsageError(f"{option.name}: {error}") from None
    if not duration:
        raise UsageError(f"{option.name} must be longer than 0; leave it out for none")
    return duration


def _instant(option: Option, value: Any) -> datetime:
    instant = value
    if isinstance(value, str):
        try:
            instant = datetime.fromisoformat(value.strip())
        except ValueError:
            instant = None
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        raise UsageError(
            f"{option.name} must be an instant with its offset, such as 2027-01-01T00:00:00Z, not {str(value)[:60]!r}"
        )
    if not FIRST_INSTANT <= instant <= LAST_INSTANT:
        raise UsageError(f"{option.name} is outside the calendar; leave it out for no end")
    return instant.astimezone(UTC)


_CHECKS: Mapping[Kind, Callable[[Option, Any], Any]] = {
    "choice": lambda option, value: choice(option.name, value, tuple(option.meanings)),
    "number": lambda option, value: whole_number(option.name, value, 1, option.most),
    "duration": _duration,
    "instant": _instant,
}
_MISFIRE = {
    "latest": "only the newest missed slot gets a run",
    "skip": "missed slots get no run",
    "all": "every missed slot gets a run, at most {misfire_most} at once",
}
_ON = {
    "any-host": "a slot gets one run, on any host",
    "every-host": "a slot gets a run on each host that has the type",
}
_ALL = (
    Option("misfire", "choice", "Which missed slots get a run. [default: latest]", "misfire", meanings=_MISFIRE),
    Option(
        "misfire_window",
        "duration",
        "No run for a slot that is older than this. [default: none; 2m with --misfire skip]",
        line="misfire",
        shown="none after {misfire_window}",
    ),
    Option(
        "misfire_most",
        "number",
        "With --misfire all: the most slots that get a run at once. [default: 100]",
        most=10_000,
    ),
    Option(
        "overlap",
        "choice",
        "What to do when the previous run has not finished. [default: skip]",
        line="overlap",
        meanings={name: policy.words for name, policy in OVERLAPS.items()},
    ),
    Option(
        "start_deadline",
        "duration",
        "A run that has not started this long after it was due is dead. [default: none]",
        line="start deadline",
        shown="a run is dead if it has not started {start_deadline} after it was due",
    ),
    Option(
        "jitter",
        "duration",
        "Delay each run by up to this, always by the same amount for one name. [default: none]",
        line="jitter",
        shown="runs are due within {jitter} after their slots",
    ),
    Option(
        "ends_at",
        "instant",
        "No slots after this time, ISO 8601 with an offset. [default: none]",
        line="ends at",
        shown="{ends_at}",
    ),
    Option(
        "max_runs",
        "number",
        "No slots after this many runs. [default: none]",
        line="max runs",
        shown="{runs_made} of {max_runs} made",
        most=10**9,
    ),
    Option("on", "choice", "Where a slot gets its run. [default: any-host]", "on", meanings=_ON),
)
OPTIONS: Mapping[str, Option] = {option.name: option for option in _ALL}
"""By name, in the order in which they are shown."""
DURATIONS = frozenset(name for name, option in OPTIONS.items() if option.kind == "duration")
