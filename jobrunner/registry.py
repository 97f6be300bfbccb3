"""Which handlers there are: the ``@job`` decorator and what it knows about a function.

Imported by handler modules, so it needs the standard library only.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from jobrunner import backoff
from jobrunner.backoff import Backoff
from jobrunner.durations import Duration
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.jobs import signature
from jobrunner.jobs.policy import declare, make_policy
from jobrunner.model import (
    DEFAULT_KILL_AFTER,
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_TIMEOUT,
    Declaration,
    OnStop,
    Policy,
    WhenFull,
)

if TYPE_CHECKING:
    from jobrunner.enqueueing import Enqueued, Entry, Transaction
    from jobrunner.schedules.declare import Schedules

P = ParamSpec("P")
R = TypeVar("R")
Exceptions = tuple[type[BaseException], ...]

_OPTIONS = {"run_at", "priority", "idempotency_key", "max_attempts", "timeout"}
_registered: dict[str, Job[Any, Any]] = {}


class Job(Generic[P, R]):
    """A handler: still callable as the function that it is, and enqueueable."""

    def __init__(
        self,
        function: Callable[P, R],
        policy: Policy,
        retry_on: Exceptions | None,
        discard_on: Exceptions,
        schedules: tuple[Declaration, ...] = (),
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.policy = policy
        self.schedules = schedules
        self._retry_on = retry_on
        self._discard_on = discard_on

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        """The job type."""
        return self.policy.job_type

    def is_permanent(self, error: BaseException) -> bool:
        """Whether another attempt is pointless: listed in ``discard_on``, or not in a ``retry_on`` that was given."""
        if isinstance(error, self._discard_on):
            return True
        return self._retry_on is not None and not isinstance(error, self._retry_on)

    def check(self, payload: Mapping[str, Any]) -> None:
        """Raise BadPayload, naming the argument, unless the payload fits the handler's signature."""
        signature.check(self.function, payload)

    def enqueue(
        self,
        transaction: Transaction,
        *,
        run_at: datetime | timedelta | None = None,
        priority: int = 0,
        idempotency_key: str | None = None,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
        **payload: Any,
    ) -> Enqueued:
        """Enqueue a run of this handler in the caller's own transaction; see ``jobrunner.enqueue``.

        The payload is checked against the handler's signature first. Raises BadPayload, or QueueFull where
        ``max_waiting`` is reached.
        """
        from jobrunner.enqueueing import enqueue

        return enqueue(
            transaction,
            self.name,
            payload,
            run_at=run_at,
            priority=priority,
            idempotency_key=idempotency_key,
            max_attempts=max_attempts,
            timeout=timeout,
        )

    def enqueue_many(
        self,
        transaction: Transaction,
        payloads: Iterable[Mapping[str, Any] | Entry],
        *,
        run_at: datetime | timedelta | None = None,
        priority: int = 0,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
    ) -> list[Enqueued]:
        """Enqueue a run of this handler for each payload, in a few statements; see ``jobrunner.enqueue_many``.

        Each payload is checked against the handler's signature before anything is sent. Raises BadPayload with the
        place of the bad one, or QueueFull where ``max_waiting`` leaves no room for all.
        """
        from jobrunner.enqueueing import enqueue_many

        return enqueue_many(
            transaction,
            self.name,
            payloads,
            run_at=run_at,
            priority=priority,
            max_attempts=max_attempts,
            timeout=timeout,
        )


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
    schedule: Schedules | None = None,
    timezone: str | None = None,
) -> Callable[[Callable[P, R]], Job[P, R]]:
    """Register a function as the handler of a job type (by default: the function's name).

    The function gets a ``Context`` and the payload's keys as keyword arguments. ``timeout`` is a duration, or
    "none" for no limit. With ``retry_on`` only those exceptions are tried again and all others are permanent;
    ``discard_on`` are permanent in any case. ``kill_after`` lies between the request to stop and SIGKILL.
    ``concurrency`` is how many runs of the type may be at work on one host; those of an ``async def`` function are at
    work at once in one child, ten by default. With ``max_waiting`` runs in the queue, an enqueue is refused (QueueFull)
    or, with ``when_full="drop"``, dropped. ``on_stop="drop"`` ends a run that a stopped tick's grace was too short for
    as cancelled, instead of handing it back. ``schedule`` is a text such as "0 2 * * *", with its ``timezone`` (UTC
    unless it is given), a ``Schedule``, or a list of them: ``jobrunner apply`` writes them into the database.
    Raises ConfigurationError when a name is taken, the function cannot be a handler or a schedule cannot be used.
    """

    def register(function: Callable[P, R]) -> Job[P, R]:
        policy = make_policy(
            name or function.__name__,
            max_attempts=max_attempts,
            timeout=timeout,
            backoff=backoff,
            kill_after=kill_after,
            concurrency=concurrency,
            is_async=inspect.iscoroutinefunction(function),
            max_waiting=max_waiting,
            when_full=when_full,
            on_stop=on_stop,
        )
        if policy.job_type in _registered:
            places = f"{_place(_registered[policy.job_type].function)} and {_place(function)}"
            raise ConfigurationError(f"two handlers are named {policy.job_type!r}, {places}; a job type has one")
        signature.check_handler(function, reserved=_OPTIONS)
        schedules = _schedules(function, policy.job_type, schedule, timezone)
        registered = Job(function, policy, _tuple(retry_on), _tuple(discard_on) or (), schedules)
        _registered[policy.job_type] = registered
        declare(policy, registered.check)
        return registered

    return register


def registered() -> Mapping[str, Job[Any, Any]]:
    """The handlers of all modules imported so far, by job type."""
    return dict(sorted(_registered.items()))


def _schedules(
    function: Callable[..., Any], job_type: str, schedule: Schedules | None, timezone: str | None
) -> tuple[Declaration, ...]:
    if schedule is None and timezone is None:
        return ()
    if schedule is None:
        raise ConfigurationError(f"the handler {_place(function)} has a timezone= but no schedule=; give it one")
    from jobrunner.schedules.declare import declare_all

    try:
        declared = declare_all(schedule, timezone, job_type, functools.partial(signature.check_early, function))
    except UsageError as error:
        raise ConfigurationError(f"the schedule of the handler {_place(function)}: {error}") from None
    taken = {each.name: other for other in _registered.values() for each in other.schedules}
    for each in declared:
        if each.name in taken:
            places = f"{_place(taken[each.name].function)} and {_place(function)}"
            raise ConfigurationError(f"the schedules of {places} are both named {each.name!r}; give one another name=")
    return declared


def _place(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', '?')}"


def _tuple(exceptions: type[BaseException] | Exceptions | None) -> Exceptions | None:
    return (exceptions,) if isinstance(exceptions, type) else exceptions
