"""The registry of handlers: the ``@job`` decorator and what it knows about a function.

Handler modules import this module, so it needs the standard library only.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, overload

from jobrunner import backoff
from jobrunner.application.job import OPTIONS, Exceptions, Job, P, R
from jobrunner.backoff import Backoff
from jobrunner.durations import Duration
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.jobs import signature
from jobrunner.jobs.context import Context
from jobrunner.jobs.policy import declare, make_policy
from jobrunner.model import (
    DEFAULT_KILL_AFTER,
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_TIMEOUT,
    Declaration,
    KeyScope,
    OnStop,
    WhenFull,
)

if TYPE_CHECKING:
    from jobrunner.schedules.declare import Schedules


_registered: dict[str, Job[Any, Any]] = {}


class Register(Protocol):
    """What ``@job(...)`` returns: it makes a handler of a function."""

    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> Job[P, R]:
        """Register the function."""


@overload
def job(name: Callable[Concatenate[Context, P], R], /) -> Job[P, R]: ...


@overload
def job(
    name: str | None = None,
    *,
    max_attempts: int = DEFAULT_MAX_ATTEMPTS,
    timeout: Duration = DEFAULT_TIMEOUT,
    backoff: Backoff = backoff.DEFAULT,
    retry_on: type[BaseException] | Exceptions | None = None,
    discard_on: type[BaseException] | Exceptions = (),
    kill_after: Duration = DEFAULT_KILL_AFTER,
    concurrency: int | None = None,
    max_waiting: int | None = None,
    when_full: WhenFull = "refuse",
    on_stop: OnStop = "release",
    key_scope: KeyScope | None = None,
    key_window: Duration | None = None,
    max_running: int | None = None,
    rate: str | None = None,
    burst: int | None = None,
    concurrency_key: str | Sequence[str] | None = None,
    max_running_per_key: int | None = None,
    rate_per_key: str | None = None,
    burst_per_key: int | None = None,
    schedule: Schedules | None = None,
    timezone: str | None = None,
) -> Register: ...


def job(
    name: str | Callable[..., Any] | None = None,
    *,
    max_attempts: int = DEFAULT_MAX_ATTEMPTS,
    timeout: Duration = DEFAULT_TIMEOUT,
    backoff: Backoff = backoff.DEFAULT,
    retry_on: type[BaseException] | Exceptions | None = None,
    discard_on: type[BaseException] | Exceptions = (),
    kill_after: Duration = DEFAULT_KILL_AFTER,
    concurrency: int | None = None,
    max_waiting: int | None = None,
    when_full: WhenFull = "refuse",
    on_stop: OnStop = "release",
    key_scope: KeyScope | None = None,
    key_window: Duration | None = None,
    max_running: int | None = None,
    rate: str | None = None,
    burst: int | None = None,
    concurrency_key: str | Sequence[str] | None = None,
    max_running_per_key: int | None = None,
    rate_per_key: str | None = None,
    burst_per_key: int | None = None,
    schedule: Schedules | None = None,
    timezone: str | None = None,
) -> Any:
    """Register a function as the handler of a job type (by default: the function's name; then write just ``@job``).

    The function gets a ``Context`` and the payload's keys as keyword arguments. ``timeout`` is a duration, or
    "none" for no limit. With ``retry_on`` only those exceptions are tried again, and all others are permanent.
    Exceptions in ``discard_on`` are always permanent. ``kill_after`` is the time from the request to stop to SIGKILL.
    ``concurrency`` is how many runs of the type may be at work on one host. Runs of an ``async def`` function share one
    child, and the default is ten. If ``max_waiting`` runs wait, an enqueue is refused (QueueFull), or dropped with
    ``when_full="drop"``. With ``on_stop="drop"`` a run that is still at work at the end of a stopped tick's grace is
    cancelled; otherwise it is released. A key is taken for ever; with ``key_scope="active"`` while its run is queued,
    running or failed; with ``key_window="1d"`` for that time. ``max_running`` and ``rate`` ("10/s", with its ``burst``)
    limit the runs of the type on all hosts together; with a ``concurrency_key``, the name of an argument or a list of
    names, ``max_running_per_key`` (default: one) and ``rate_per_key`` limit those of each customer, say.
    ``schedule`` is a text such as "0 2 * * *" with its ``timezone`` (default: UTC), a ``Schedule``, or a list of them.
    ``jobrunner apply`` writes them into the database.
    Raises ConfigurationError if the name is taken, the function cannot be a handler, or a schedule cannot be used.
    """

    job_type = None if callable(name) else name

    def register(function: Callable[Concatenate[Context, P], R]) -> Job[P, R]:
        policy = make_policy(
            job_type or function.__name__,
            max_attempts=max_attempts,
            timeout=timeout,
            backoff=backoff,
            kill_after=kill_after,
            concurrency=concurrency,
            is_async=inspect.iscoroutinefunction(function),
            max_waiting=max_waiting,
            when_full=when_full,
            on_stop=on_stop,
            key_scope=key_scope,
            key_window=key_window,
            max_running=max_running,
            rate=rate,
            burst=burst,
            concurrency_key=concurrency_key,
            max_running_per_key=max_running_per_key,
            rate_per_key=rate_per_key,
            burst_per_key=burst_per_key,
        )
        if policy.job_type in _registered:
            both = f"{_name_of(_registered[policy.job_type].function)} and {_name_of(function)}"
            raise ConfigurationError(f"two handlers are named {policy.job_type!r}, {both}; a job type has one")
        signature.check_handler(function, reserved=OPTIONS)
        signature.check_names(function, () if policy.limits is None else policy.limits.concurrency_key)
        schedules = _schedules(function, policy.job_type, schedule, timezone)
        registered = Job(function, policy, _tuple(retry_on), _tuple(discard_on) or (), schedules)
        _registered[policy.job_type] = registered
        declare(policy, functools.partial(signature.encoded, function))
        return registered

    return register(name) if callable(name) else register


def registered() -> Mapping[str, Job[Any, Any]]:
    """The handlers of all modules that have been imported, by job type."""
    return dict(sorted(_registered.items()))


def _schedules(
    function: Callable[..., Any], job_type: str, schedule: Schedules | None, timezone: str | None
) -> tuple[Declaration, ...]:
    if schedule is None and timezone is None:
        return ()
    if schedule is None:
        raise ConfigurationError(f"the handler {_name_of(function)} has a timezone= but no schedule=; give it one")
    from jobrunner.schedules.declare import declare_all

    try:
        declared = declare_all(schedule, timezone, job_type, functools.partial(signature.encoded_early, function))
    except UsageError as error:
        raise ConfigurationError(f"the schedule of the handler {_name_of(function)}: {error}") from None
    taken = {each.name: other for other in _registered.values() for each in other.schedules}
    for each in declared:
        if each.name in taken:
            both = f"{_name_of(taken[each.name].function)} and {_name_of(function)}"
            raise ConfigurationError(f"the schedules of {both} are both named {each.name!r}; give one another name=")
    return declared


def _name_of(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', '?')}"


def _tuple(exceptions: type[BaseException] | Exceptions | None) -> Exceptions | None:
    return (exceptions,) if isinstance(exceptions, type) else exceptions
