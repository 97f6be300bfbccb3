"""A handler: what ``@job`` makes of a function.

Handler modules import this module, so it needs the standard library only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from jobrunner.application.with_options import JobWithOptions
from jobrunner.durations import Duration
from jobrunner.errors import UsageError
from jobrunner.jobs import signature
from jobrunner.jobs.context import Context
from jobrunner.jobs.parents import After
from jobrunner.model import Declaration, OnFailure, Policy, Taken

if TYPE_CHECKING:
    from jobrunner.application.enqueueing import Enqueued, Entry, Transaction
    from jobrunner.application.enqueueing_async import AsyncTransaction

P = ParamSpec("P")
R = TypeVar("R")
Exceptions = tuple[type[BaseException], ...]

OPTIONS = {"run_at", "priority", "idempotency_key", "max_attempts", "timeout", "after", "on_failure"}
"""What ``enqueue`` takes beside the arguments. A handler's arguments cannot have these names."""


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
        options: dict[str, Any] = {name: kwargs.pop(name) for name in OPTIONS & kwargs.keys()}
        return JobWithOptions(self.name, self.payload_of, **options).enqueue(transaction, *args, **kwargs)

    async def enqueue_async(
        self, transaction: AsyncTransaction | None, /, *args: P.args, **kwargs: P.kwargs
    ) -> Enqueued:
        """Enqueue a run with these arguments on a connection of an event loop; see ``jobrunner.enqueue_async``.

        None instead of a connection: one of jobrunner's own. All else is as in ``enqueue``.
        """
        options: dict[str, Any] = {name: kwargs.pop(name) for name in OPTIONS & kwargs.keys()}
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
