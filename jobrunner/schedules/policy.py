"""What may be said about the slots of a schedule, checked: the same rules for a person, code, the file and a row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, get_args

from jobrunner.durations import Duration, format_duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.model import DEFAULT_MISFIRE_MOST, FIRST_INSTANT, LAST_INSTANT, Misfire, Overlap, SlotPolicy
from jobrunner.schedules.recurrence import Recurrence

MOST_MISFIRES = 10_000
MOST_RUNS = 10**9
_BETWEEN_TICKS = timedelta(minutes=1)

_Choice = TypeVar("_Choice", bound=str)


def make_slot_policy(
    *,
    misfire: str = "latest",
    misfire_window: Duration | None = None,
    misfire_most: int = DEFAULT_MISFIRE_MOST,
    overlap: str = "skip",
    start_deadline: Duration | None = None,
    jitter: Duration | None = None,
    ends_at: datetime | str | None = None,
    max_runs: int | None = None,
) -> SlotPolicy:
    """A policy with every part checked. Durations are text such as "5m", a timedelta or seconds.

    ``ends_at`` is an aware datetime or ISO 8601 text with its offset. Raises UsageError naming the option and the
    remedy.
    """
    policy = SlotPolicy(
        misfire=_choice("misfire", misfire, get_args(Misfire)),
        misfire_window=_duration("misfire_window", misfire_window),
        misfire_most=_whole_number("misfire_most", misfire_most, MOST_MISFIRES),
        overlap=_choice("overlap", overlap, get_args(Overlap)),
        start_deadline=_duration("start_deadline", start_deadline),
        jitter=_duration("jitter", jitter),
        ends_at=_instant("ends_at", ends_at),
        max_runs=None if max_runs is None else _whole_number("max_runs", max_runs, MOST_RUNS),
    )
    if policy.misfire == "all" and policy.overlap == "replace":
        raise UsageError(
            "misfire 'all' and overlap 'replace' contradict each other: each late run would replace the one before it;"
            " take overlap 'queue' to make up for all of them, or misfire 'latest'"
        )
    return policy


def check_fits(policy: SlotPolicy, recurrence: Recurrence) -> None:
    """Raises UsageError where jitter or start deadline leave the slots of this schedule no chance."""
    jitter, patience = policy.jitter, policy.start_deadline
    if jitter is not None and jitter > (shortest := recurrence.shortest_interval()):
        raise UsageError(
            f"jitter: {format_duration(jitter)} is longer than the shortest time between two slots,"
            f" {format_duration(shortest)}, so that a run would be due after the next slot; take at most that"
        )
    is_between_ticks = jitter is not None or not recurrence.is_on_minutes
    if patience is not None and patience <= _BETWEEN_TICKS and is_between_ticks:
        raise UsageError(
            f"start_deadline: {format_duration(patience)} can be over before the next tick, since these runs are not"
            f" due on the minute; take more than {format_duration(_BETWEEN_TICKS)}"
        )


def _choice(name: str, value: object, choices: tuple[_Choice, ...]) -> _Choice:
    for each in choices:
        if value == each:
            return each
    from difflib import get_close_matches

    listed = ", ".join(repr(each) for each in choices)
    near = get_close_matches(str(value)[:60].lower(), choices, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{name} must be one of {listed}, not {str(value)[:60]!r}{hint}")


def _duration(name: str, value: Any) -> timedelta | None:
    if value is None:
        return None
    try:
        duration = parse_duration(value)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    if not duration:
        raise UsageError(f"{name} must be longer than 0; leave it out for none")
    return duration


def _whole_number(name: str, value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise UsageError(f"{name} must be a whole number from 1 to {most}, not {str(value)[:60]!r}")
    return value


def _instant(name: str, value: object) -> datetime | None:
    if value is None:
        return None
    instant = value
    if isinstance(value, str):
        try:
            instant = datetime.fromisoformat(value.strip())
        except ValueError:
            instant = None
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        raise UsageError(
            f"{name} must be an instant with its offset, such as 2027-01-01T00:00:00Z, not {str(value)[:60]!r}"
        )
    # Each with its own offset: an instant need not be one of Python's in UTC.
    if not FIRST_INSTANT <= instant <= LAST_INSTANT:
        raise UsageError(f"{name} is beyond the calendar; leave it out for no end")
    return instant.astimezone(UTC)
