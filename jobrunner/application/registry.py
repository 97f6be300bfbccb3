"""The registry of handlers: the ``@job`` decorator and what it knows about a function.

Handler modules import this module, so it needs the standard library only.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from jobrunner import backoff
from jobrunner.application.with_options import JobWithOptions
from jobrunner.backoff import Backoff
from jobrunner.durations import Duration
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.jobs import signature
from jobrunner.jobs.context import Context
from jobrunner.jobs.parents import After
from jobrunner.jobs.policy import declare, make_policy
from jobrunner.model import (
    DEFAULT_KILL_AFTER,
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_TIMEOUT,
    Declaration,
    KeyScope,
    OnFailure,
    OnStop,
    Policy,
    Taken,
    WhenFull,
)

if TYPE_CHECKING:
    from jobrunner.application.enqueueing import Enqueued, Entry, Transaction
    from jobrunner.application.enqueueing_async import AsyncTransaction
    from jobrunner.schedules.declare import Schedules

P = ParamSpec("P")
R = TypeVar("R")
Exceptions = tuple[type[BaseException], ...]

_OPTIONS = {"run_at", "priority", "idempotency_key", "max_attempts", "timeout", "after", "on_failure"}
"""What ``enqueue`` takes beside the arguments. A handler's arguments cannot have these names."""
_registered: dict[str, Job[Any, Any]] = {}


class Job(Generic[P, R]):
    """A handler. It can be called like the function itself, and it can enqueue runs.

    ``P`` are the function's parameters without its first one, the context.
    """

    def __init__(
        self,
        function: Callable[Concatenate[Context, P], R],
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

    def __call__(self, context: Context, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(context, *args, **kwargs)

    @property
    def name(self) -> str:
        """The job type."""
        return self.policy.job_type

    def is_permanent(self, error: BaseException) -> bool:
        """Whether no attempt follows: the error is listed in ``discard_on``, or not listed in a given ``retry_on``."""
        if isinstance(error, self._discard_on):
            return True
        return self._retry_on is not None and not isinstance(error, self._retry_on)

    def check(self, payload: Mapping[str, Any]) -> None:
        """Raise BadPayload with the name of the argument unless the payload fits the handler's signature."""
        signature.check(self.function, payload)

    def arguments(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """The keyword arguments for the function, made from the payload by its annotations. Raises like ``check``."""
        return signature.decoded(self.function, payload)

    def resolve(self) -> None:
        """Raise ConfigurationError if an annotation names what no module has defined. Call it after all imports."""
        signature.resolve(self.function)

    def payload_of(self, /, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        """The payload that holds these arguments. Raises PayloadMismatch for a positional one too many."""
        return {**signature.named(self.function, args, kwargs), **kwargs}

    def using(
        self,
        *,
        run_at: datetime | timedelta | None = None,
        priority: int | None = None,
        key: str | None = None,
        taken: Taken | None = None,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
        after: After | None = None,
        on_failure: OnFailure = "cancel",
        idempotency_key: str | None = None,
    ) -> JobWithOptions[P]:
        """This handler with options for a run: ``handler.using(run_at=...).enqueue(connection, user_id=1)``.

        ``idempotency_key`` is the older name of ``key``.
        """
        if key is not None and idempotency_key is not None:
            raise UsageError("idempotency_key is the older name of key; give one of them")
        key = idempotency_key if key is None else key
        more = (max_attempts, timeout, taken, after, on_failure)
        return JobWithOptions(self.name, self.payload_of, run_at, priority, key, *more)

    def enqueue(self, transaction: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue a run with these arguments in the caller's own transaction; see ``jobrunner.enqueue``.

        The arguments are first checked against the handler's signature. Raises BadPayload, or QueueFull if
        ``max_waiting`` is reached. Options (``run_at``, ``priority`` ...) are also taken from the keywords, but a type
        checker knows them only in ``using``.
        """
        options: dict[str, Any] = {name: kwargs.pop(name) for name in _OPTIONS & kwargs.keys()}
        return JobWithOptions(self.name, self.payload_of, **options).enqueue(transaction, *args, **kwargs)

    async def enqueue_async(
        self, transaction: AsyncTransaction | None, /, *args: P.args, **kwargs: P.kwargs
    ) -> Enqueued:
        """Enqueue a run with these arguments on a connection of an event loop; see ``jobrunner.enqueue_async``.

        None instead of a connection: one of jobrunner's own. All else is as in ``enqueue``.
        """
        options: dict[str, Any] = {name: kwargs.pop(name) for name in _OPTIONS & kwargs.keys()}
        with_options = JobWithOptions(self.name, self.payload_of, **options)
        return await with_options.enqueue_async(transaction, *args, **kwargs)

    def enqueue_many(
        self,
        transaction: Transaction,
        payloads: Iterable[Mapping[str, Any] | Entry],
        *,
        run_at: datetime | timedelta | None = None,
        priority: int = 0,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
        taken: Taken = "existing",
    ) -> list[Enqueued]:
        """Enqueue a run of this handler for each payload, in a few statements; see ``jobrunner.enqueue_many``.

        Each payload is checked against the handler's signature before anything is sent. Raises BadPayload with the
        index of the bad one, or QueueFull if ``max_waiting`` does not allow all of them.
        """
        from jobrunner.application.enqueueing import enqueue_many

        return enqueue_many(
            transaction,
            self.name,
            payloads,
            run_at=run_at,
            priority=priority,
            max_attempts=max_attempts,
            timeout=timeout,
            taken=taken,
        )

    async def enqueue_many_async(
        self,
        transaction: AsyncTransaction | None,
        payloads: Iterable[Mapping[str, Any] | Entry],
        *,
        run_at: datetime | timedelta | None = None,
        priority: int = 0,
        max_attempts: int | None = None,
        timeout: Duration | None = None,
        taken: Taken = "existing",
    ) -> list[Enqueued]:
        """Enqueue a run of this handler for each payload, on a connection of an event loop; see ``enqueue_many``."""
        from jobrunner.application.enqueueing_async import enqueue_many_async

        return await enqueue_many_async(
            transaction,
            self.name,
            payloads,
            run_at=run_at,
            priority=priority,
            max_attempts=max_attempts,
            timeout=timeout,
            taken=taken,
        )


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
        signature.check_handler(function, reserved=_OPTIONS)
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
