"""What may be said about a job type, checked: the same rules for the decorator and for the configuration file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar, get_args

from jobrunner import backoff as backoffs
from jobrunner.backoff import Backoff
from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import ConfigurationError
from jobrunner.jobs.payload import check_match
from jobrunner.model import (
    DEFAULT_KILL_AFTER,
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_TIMEOUT,
    MOST_WAITING,
    OnStop,
    Policy,
    WhenFull,
)
from jobrunner.names import check_job_type

DEFAULT_ASYNC_CONCURRENCY = 10

_Choice = TypeVar("_Choice", bound=str)


def make_policy(
    job_type: str,
    *,
    max_attempts: int = DEFAULT_MAX_ATTEMPTS,
    timeout: Duration = DEFAULT_TIMEOUT,
    backoff: Backoff = backoffs.DEFAULT,
    kill_after: Duration = DEFAULT_KILL_AFTER,
    concurrency: int | None = None,
    is_async: bool = False,
    max_waiting: int | None = None,
    when_full: WhenFull = "refuse",
    on_stop: OnStop = "release",
) -> Policy:
    """A policy with every part checked. ``concurrency`` None: as many as the host has places, ten if async.

    Raises ConfigurationError or UsageError naming the part that is wrong.
    """
    if concurrency is None and is_async:
        concurrency = DEFAULT_ASYNC_CONCURRENCY
    return Policy(
        check_job_type(job_type),
        whole_number("max_attempts", max_attempts, 1, 1000),
        _timeout(timeout),
        backoff,
        parse_duration(kill_after),
        concurrency=None if concurrency is None else whole_number("concurrency", concurrency, 1, 10_000),
        is_async=is_async,
        max_waiting=None if max_waiting is None else _max_waiting(max_waiting),
        when_full=_choice("when_full", when_full, get_args(WhenFull)),
        on_stop=_choice("on_stop", on_stop, get_args(OnStop)),
    )


def whole_number(name: str, value: object, least: int, most: int) -> int:
    """``value`` if it is an int in the range; else raises ConfigurationError naming it."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigurationError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
    return value


def _max_waiting(value: object) -> int:
    try:
        return whole_number("max_waiting", value, 1, MOST_WAITING)
    except ConfigurationError as error:
        try:
            nearest = f"; the nearest is {min(max(round(float(str(value))), 1), MOST_WAITING)}"
        except (ValueError, OverflowError):
            nearest = "; leave it out for no limit"
        raise ConfigurationError(f"{error}{nearest}") from None


def _choice(name: str, value: object, choices: tuple[_Choice, ...]) -> _Choice:
    for each in choices:
        if value == each:
            return each
    from difflib import get_close_matches

    (nearest,) = get_close_matches(str(value).lower(), choices, n=1, cutoff=0.0)
    raise ConfigurationError(
        f"{name} must be {' or '.join(repr(each) for each in choices)}, not {value!r}; the nearest is {nearest!r}"
    )


def _timeout(timeout: Duration) -> timedelta | None:
    if timeout == "none":
        return None
    limit = parse_duration(timeout)
    if not limit:
        raise ConfigurationError('a timeout of 0 stops every run at once; say timeout="none" for no limit')
    return limit


_declared: dict[str, tuple[Policy, Callable[[Mapping[str, Any]], None]]] = {}


def declare(policy: Policy, check: Callable[[Mapping[str, Any]], None]) -> None:
    """Remember what this process itself says of a job type, and of its payloads: its own enqueues go by it."""
    _declared[policy.job_type] = policy, check


def declared(job_type: str) -> Policy | None:
    """What this process says of a job type; None: it has no handler of that name."""
    return _declared[job_type][0] if job_type in _declared else None


def check_declared(job_type: str, payload: Mapping[str, Any]) -> None:
    """Raise PayloadMismatch where this process has a handler of that name, and it cannot take the payload."""
    if job_type in _declared:
        check_match(job_type, _declared[job_type][1], payload)
