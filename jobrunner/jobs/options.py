"""The options of a job type: one row for each, with its one check, for the decorator and for ``jobrunner.toml``.

A check returns the value as it is kept. It raises WrongOption, which says what the value must be, for any other value:
nothing is accepted that a child or a tick cannot work with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from jobrunner.backoff import Backoff, instead_of
from jobrunner.backoff import check as check_backoff
from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError, WrongOption
from jobrunner.model import MOST_WAITING, KeyScope, OnStop, WhenFull
from jobrunner.rates import parse_rate
from jobrunner.text import nearest, shown

MOST_NAMES = 3
_MOST_RUNNING = 1_000_000
_MOST_CHARACTERS = 100
_OTHER_NAMES = {
    **dict.fromkeys(("retries", "max_retries", "retry_limit", "attempts", "tries", "max_tries"), "max_attempts"),
    **dict.fromkeys(("time_limit", "soft_time_limit", "job_timeout", "expires"), "timeout"),
    **dict.fromkeys(("retry_delay", "retry_backoff", "default_retry_delay", "delay", "countdown", "wait"), "backoff"),
    **dict.fromkeys(("autoretry_for", "retry_for", "retry_when"), "retry_on"),
    **dict.fromkeys(("dont_autoretry_for", "throws", "abort_on"), "discard_on"),
    **dict.fromkeys(("rate_limit", "throttle", "limit"), "rate"),
    **dict.fromkeys(("cron", "crontab", "every"), "schedule"),
    **dict.fromkeys(("tz", "time_zone"), "timezone"),
    **dict.fromkeys(("workers", "max_workers", "threads"), "concurrency"),
}
"""What other libraries call an option that there is here, too."""

_Choice = TypeVar("_Choice", bound=str)
_Check: TypeAlias = Callable[[str, Any], Any]
Written: TypeAlias = Literal["number", "text", "duration", "backoff", "names"]


class Option(NamedTuple):
    """``check`` gets the name and the value. ``written`` is how jobrunner.toml has it. None: it is no key there."""

    name: str
    check: _Check
    written: Written | None = None


def whole_number(name: str, value: object, least: int, most: int) -> int:
    """``value`` if it is an int in the range. Raises WrongOption with ``name`` if not."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise WrongOption(name, f"must be a whole number from {least} to {most}, not {shown(value)}")
    return int(value)


def choice(name: str, value: object, choices: tuple[_Choice, ...]) -> _Choice:
    """``value`` if it is one of these words. Raises WrongOption with all words and the nearest one if not."""
    for each in choices:
        if isinstance(value, str) and value == each:
            return each
    listed = ", ".join(repr(each) for each in choices)
    hint = f"; the nearest is {nearest(value.lower(), choices, 0.0)!r}" if isinstance(value, str) else ""
    raise WrongOption(name, f"must be one of {listed}, not {shown(value)}{hint}")


def parse_timeout(timeout: Duration) -> timedelta | None:
    """The time limit of an attempt. None means no limit, which is written as "none". Raises UsageError."""
    if isinstance(timeout, str) and timeout == "none":
        return None
    limit = parse_duration(timeout)
    if not limit:
        raise UsageError('a timeout of 0 stops a run at once; write "none" for no limit')
    return limit


def exception_classes(name: str, value: object) -> tuple[type[BaseException], ...]:
    """The classes of an exception class, or of a list or tuple of such, which may hold further tuples."""
    members = value if isinstance(value, list | tuple) else (value,)
    found: list[type[BaseException]] = []
    for each in members:
        if isinstance(each, tuple):
            found += exception_classes(name, each)
        elif isinstance(each, type) and issubclass(each, BaseException):
            found.append(each)
        else:
            raise WrongOption(name, f"must be an exception class, or a list or tuple of such, not {shown(each)}")
    return tuple(found)


def _or_none(check: _Check) -> _Check:
    """The same, where None means what the option means if it is not given."""
    return lambda name, value: None if value is None else check(name, value)


def _whole(least: int, most: int) -> _Check:
    return partial(whole_number, least=least, most=most)


def _one_of(choices: Any) -> _Check:
    return lambda name, value: choice(name, value, get_args(choices))


def _by(parse: Callable[[Any], Any]) -> _Check:
    def check(name: str, value: Any) -> Any:
        try:
            return parse(value)
        except UsageError as error:
            raise WrongOption(name, str(error)) from None

    return check


def _key_window(window: Duration) -> timedelta:
    length = parse_duration(window)
    if not length:
        raise UsageError("a key_window of 0 holds no key; give the time for which a key stays taken")
    return length


def _max_waiting(name: str, value: object) -> int:
    try:
        return whole_number(name, value, 1, MOST_WAITING)
    except WrongOption as error:
        raise WrongOption(name, f"{error.reason}{_nearest_number(value)}") from None


def _nearest_number(value: object) -> str:
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return f"; the nearest is {min(max(round(float(value)), 1), MOST_WAITING)}"
    except (ValueError, OverflowError):
        pass
    return "; leave it out for no limit"


def _rate(name: str, value: object) -> str:
    return parse_rate(name, value, None).text


def _names(name: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not 1 <= len(names) <= MOST_NAMES:
        raise WrongOption(name, f"must be the name of a payload argument, or up to {MOST_NAMES} names")
    for each in names:
        if not isinstance(each, str) or not each.isidentifier() or len(each) > _MOST_CHARACTERS:
            raise WrongOption(name, f"must name an argument of the payload, such as customer_id, not {shown(each)}")
    return tuple(names)


def _backoff(name: str, value: object) -> Backoff:
    if type(value) is not Backoff:
        raise WrongOption(
            name, f"must be made by exponential, fixed, waits or polynomial, not {shown(value)}{instead_of(value)}"
        )
    return _by(check_backoff)(name, value)  # type: ignore[no-any-return]  # what the check returns


def _timezone(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise WrongOption(name, f"must be the name of a time zone, such as Europe/Berlin, not {shown(value)}")
    return value


_count = _or_none(_whole(1, _MOST_RUNNING))
_ALL = (
    Option("max_attempts", _whole(1, 1000), "number"),
    Option("timeout", _by(parse_timeout), "duration"),
    Option("backoff", _backoff, "backoff"),
    Option("retry_on", _or_none(exception_classes)),
    Option("discard_on", _or_none(exception_classes)),
    Option("kill_after", _by(parse_duration), "duration"),
    Option("concurrency", _or_none(_whole(1, 10_000)), "number"),
    Option("max_waiting", _or_none(_max_waiting), "number"),
    Option("when_full", _one_of(WhenFull), "text"),
    Option("on_stop", _one_of(OnStop), "text"),
    Option("key_scope", _or_none(_one_of(KeyScope)), "text"),
    Option("key_window", _or_none(_by(_key_window)), "duration"),
    Option("max_running", _count, "number"),
    Option("rate", _or_none(_rate), "text"),
    Option("burst", _count, "number"),
    Option("concurrency_key", _or_none(_names), "names"),
    Option("max_running_per_key", _count, "number"),
    Option("rate_per_key", _or_none(_rate), "text"),
    Option("burst_per_key", _count, "number"),
    # These two are those of a ``Schedule``, which is checked with the handler's arguments.
    Option("schedule", lambda _, value: value),
    Option("timezone", _or_none(_timezone)),
)
OPTIONS: Mapping[str, Option] = {option.name: option for option in _ALL}
"""By name, in the order in which they are documented."""


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of these options as they are kept. Raises WrongOption for the first one that cannot be used."""
    for name in given:
        if name not in OPTIONS:
            raise WrongOption(name, f"is not an option of a job type; {_meant(name, OPTIONS)}")
    return {name: OPTIONS[name].check(name, value) for name, value in given.items()}


def _meant(name: str, known: Iterable[str]) -> str:
    near = _OTHER_NAMES.get(name) or nearest(name, known)
    return f"there are: {', '.join(known)}" if near is None else f"did you mean {near}?"
