"""A handler: what ``@job`` makes of a function.

Handler modules import this module, so it needs the standard library only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack

from jobrunner.application.with_options import JobWithOptions
from jobrunner.errors import PayloadMismatch
from jobrunner.jobs import signature
from jobrunner.jobs.context import Context
from jobrunner.jobs.run_options import OF_RUN, ManyOptions, RunOptions, check_names
from jobrunner.model import Declaration, Policy
from jobrunner.renamed import RENAMED

if TYPE_CHECKING:
    from jobrunner.application.enqueueing import Enqueued, Payload, Transaction
    from jobrunner.application.enqueueing_async import AsyncTransaction

P = ParamSpec("P")
R = TypeVar("R")
Exceptions = tuple[type[BaseException], ...]


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
        for name in (*OF_RUN, *RENAMED["parameter"]):
            if name in kwargs and not signature.takes(self.function, name):
                new = RENAMED["parameter"].get(name, name)
                raise PayloadMismatch(f"{name!r} is no argument of the handler; the option is using({new}=...)")
        return {**signature.named(self.function, args, kwargs), **kwargs}

    def using(self, **options: Unpack[RunOptions]) -> JobWithOptions[P]:
        """This handler with options for a run: ``handler.using(run_at=...).enqueue(connection, user_id=1)``.

        The options are those of ``jobrunner.enqueue``. Raises UsageError for one that there is not.
        """
        check_names(options, OF_RUN)
        return JobWithOptions(self.name, self.payload_of, options)

    def enqueue(self, transaction: Transaction | None, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue a run with these arguments in the caller's own transaction; see ``jobrunner.enqueue``.

        The arguments are first checked against the handler's signature. Raises BadPayload, or QueueFull if
        ``max_waiting`` is reached. Options (``run_at``, ``priority`` ...) are given before, with ``using``.
        """
        return self.using().enqueue(transaction, *args, **kwargs)

    async def enqueue_async(
        self, transaction: AsyncTransaction | None, /, *args: P.args, **kwargs: P.kwargs
    ) -> Enqueued:
        """Enqueue a run with these arguments on a connection of an event loop; see ``jobrunner.enqueue_async``.

        None instead of a connection: one of jobrunner's own. All else is as in ``enqueue``.
        """
        return await self.using().enqueue_async(transaction, *args, **kwargs)

    def enqueue_many(
        self, transaction: Transaction | None, payloads: Iterable[Payload[P]], **options: Unpack[ManyOptions]
    ) -> list[Enqueued]:
        """Enqueue a run of this handler for each payload, in a few statements; see ``jobrunner.enqueue_many``.

        Each payload is checked against the handler's signature before anything is sent. Raises BadPayload with the
        index of the bad one, or QueueFull if ``max_waiting`` does not allow all of them.
        """
        from jobrunner.application.enqueueing import enqueue_many

        return enqueue_many(transaction, self.name, payloads, **options)

    async def enqueue_many_async(
        self, transaction: AsyncTransaction | None, payloads: Iterable[Payload[P]], **options: Unpack[ManyOptions]
    ) -> list[Enqueued]:
        """Enqueue a run of this handler for each payload, on a connection of an event loop; see ``enqueue_many``."""
        from jobrunner.application.enqueueing_async import enqueue_many_async

        return await enqueue_many_async(transaction, self.name, payloads, **options)
