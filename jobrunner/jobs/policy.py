"""Checks the policy of a job type, by the same rules for the decorator and for the configuration file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias, TypeVar, get_args

from jobrunner import backoff as backoffs
from jobrunner.backoff import Backoff
from jobrunner.durations import Duration, parse_duration
from jobrunner.errors import UsageError
from jobrunner.jobs.limits import make_limits, whole_number
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
from jobrunner.text import nearest

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
    **limits: Any,
) -> Policy:
    """A policy whose parts are all checked. ``concurrency`` None means the host's concurrency, or ten if async.

    ``limits`` are the options of ``make_limits``.
    Raises UsageError, which names the wrong part.
    """
    if concurrency is None and is_async:
        concurrency = DEFAULT_ASYNC_CONCURRENCY
    return Policy(
        check_job_type(job_type),
        whole_number("max_attempts", max_attempts, 1, 1000),
        parse_timeout(timeout),
        backoff,
        parse_duration(kill_after),
        concurrency=None if concurrency is None else whole_number("concurrency", concurrency, 1, 10_000),
        is_async=is_async,
        max_waiting=None if max_waiting is None else _max_waiting(max_waiting),
        when_full=choice("when_full", when_full, get_args(WhenFull)),
        on_stop=choice("on_stop", on_stop, get_args(OnStop)),
        limits=make_limits(**limits),
    )


def _max_waiting(value: object) -> int:
    try:
        return whole_number("max_waiting", value, 1, MOST_WAITING)
    except UsageError as error:
        try:
            hint = f"; the nearest is {min(max(round(float(str(value))), 1), MOST_WAITING)}"
        except (ValueError, OverflowError):
            hint = "; leave it out for no limit"
        raise UsageError(f"{error}{hint}") from None


def choice(name: str, value: object, choices: tuple[_Choice, ...]) -> _Choice:
    """``value`` if it is one of these words. Raises UsageError with all words and the nearest one if not."""
    for each in choices:
        if value == each:
            return each
    listed = ", ".join(repr(each) for each in choices)
    hint = f"the nearest is {nearest(str(value).lower(), choices, 0.0)!r}"
    raise UsageError(f"{name} must be one of {listed}, not {value!r:.60}; {hint}")


def parse_timeout(timeout: Duration) -> timedelta | None:
    """The time limit of an attempt. None means no limit, which is written as "none". Raises UsageError."""
    if timeout == "none":
        return None
    limit = parse_duration(timeout)
    if not limit:
        raise UsageError('a timeout of 0 stops a run at once; write "none" for no limit')
    return limit


Encode: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Makes a payload from the arguments of a handler. It raises PayloadMismatch if the handler cannot take them."""
_declared: dict[str, tuple[Policy, Encode]] = {}


def declare(policy: Policy, encode: Encode) -> None:
    """Store the policy of a job type and how its payloads are made, for the enqueues of this process."""
    _declared[policy.job_type] = policy, encode


def declared(job_type: str) -> Policy | None:
    """The policy of a job type. None means that this process has no handler for it."""
    return _declared[job_type][0] if job_type in _declared else None


def encoded(job_type: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The payload for these arguments. If this process has no handler for the type, they are the payload.

    Raises PayloadMismatch if there is a handler that cannot take them.
    """
    if not isinstance(job_type, str) or job_type not in _declared:
        return arguments
    return check_match(job_type, _declared[job_type][1], arguments)
