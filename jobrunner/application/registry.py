"""The registry of handlers: the ``@job`` decorator and what it knows about a function.

Handler modules import this module, so it needs the standard library only.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, Unpack, overload

from jobrunner.application.handler_options import OF_HANDLER, OF_JOB, JobOptions
from jobrunner.application.job import Job, P, R
from jobrunner.errors import ConfigurationError, UsageError, WrongOption
from jobrunner.jobs import signature
from jobrunner.jobs.context import Context
from jobrunner.jobs.job_options import checked
from jobrunner.jobs.policy import check_former_names, combined, declare
from jobrunner.model import Declaration, Policy
from jobrunner.names import check_job_type
from jobrunner.text import shown

if TYPE_CHECKING:
    from jobrunner.schedules.declare import Schedules


_registered: dict[str, Job[Any, Any]] = {}
"""The handlers by each name that a run of theirs can have: the job type, and those that it had before."""


class Register(Protocol):
    """What ``@job(...)`` returns: it makes a handler of a function."""

    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> Job[P, R]:
        """Register the function."""


@overload
def job(name: Callable[Concatenate[Context, P], R], /) -> Job[P, R]: ...


@overload
def job(name: str | None = None, **options: Unpack[JobOptions]) -> Register: ...


def job(name: Any = None, **options: Any) -> Any:
    """Register a function as the handler of a job type (by default: the function's name; then write just ``@job``).

    The function gets a ``Context`` and the payload's keys as keyword arguments. docs/reference/handlers.md has a table
    of the options, with their defaults. Of an ``async def`` function many runs share one child. ``jobrunner apply``
    writes the schedules into the database. Raises ConfigurationError, which names the handler and the line, if the
    name is taken, the function cannot be a handler, or an option has a value that it cannot have.
    """

    def register(function: Any) -> Job[Any, Any]:
        try:
            return _registered_as(None if is_bare else name, function, options)
        except (UsageError, ConfigurationError) as error:
            raise ConfigurationError(f"the handler {_name_and_place(function)}: {error}") from None

    is_bare = callable(name)
    return register(name) if is_bare else register


def _registered_as(name: object, function: Any, options: Mapping[str, Any]) -> Job[Any, Any]:
    if isinstance(function, Job):
        raise UsageError(f"it is the handler of {function.name!r} already; a function has one @job")
    signature.check_handler(function)
    job_type = _job_type(name, function)
    values = checked(options, OF_JOB)
    handlers = {option: values.get(option) for option in OF_HANDLER}
    policy = combined(job_type, values, is_async=inspect.iscoroutinefunction(function))
    taken = {each: _registered[each] for each in policy.names if each in _registered}
    if job_type in taken and taken[job_type].name == job_type:
        both = f"{_name_of(taken[job_type].function)} and {_name_of(function)}"
        raise ConfigurationError(f"two handlers are named {job_type!r}, {both}; a job type has one")
    check_former_names(policy, {each: other.policy for each, other in taken.items()})
    key = () if policy.limits is None else policy.limits.key
    option = "concurrency_key" if values.get("concurrency_key") else "fair_by"
    signature.check_names(function, [(option, each) for each in key])
    schedules = _schedules(function, policy, handlers["schedule"], handlers["timezone"])
    found = Job(function, policy, handlers["retry_on"], handlers["discard_on"] or (), schedules)
    _registered.update(dict.fromkeys(policy.names, found))
    declare(policy, functools.partial(signature.encoded, function))
    return found


def _job_type(name: object, function: Any) -> str:
    if name is None:
        name = getattr(function, "__name__", None)
        if name is None:
            raise UsageError('the function has no name; give the job type one, as in @job("send")')
    try:
        return check_job_type(name)  # type: ignore[arg-type]  # it checks this, too
    except UsageError as error:
        hint = "" if name else "; leave it out to take the function's name"
        raise UsageError(f"{error}{hint}") from None


def registered() -> Mapping[str, Job[Any, Any]]:
    """The handlers of all modules that have been imported, by job type."""
    return {name: job for name, job in sorted(_registered.items()) if name == job.name}


def serving() -> Mapping[str, Job[Any, Any]]:
    """The same handlers by each name that a run of theirs can have: the job type, and those that it had before."""
    return _registered


def _schedules(
    function: Callable[..., Any], policy: Policy, schedule: Schedules | None, timezone: str | None
) -> tuple[Declaration, ...]:
    if schedule is None and timezone is None:
        return ()
    if schedule is None:
        raise WrongOption("timezone", "needs a schedule, and there is no schedule=; give it one")
    from jobrunner.schedules.declare import declare_all

    try:
        encode = functools.partial(signature.encoded_early, function)
        declared = declare_all(schedule, timezone, policy.job_type, encode, policy.formerly)
    except UsageError as error:
        raise WrongOption("schedule", str(error)) from None
    taken = {each.name: other for other in _registered.values() for each in other.schedules}
    for each in declared:
        if each.name in taken:
            both = f"{_name_of(taken[each.name].function)} and {_name_of(function)}"
            raise ConfigurationError(f"the schedules of {both} are both named {each.name!r}; give one another name=")
    return declared


def _name_of(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return f"{getattr(function, '__module__', '?')}.{name}" if isinstance(name, str) else shown(function)


def _name_and_place(function: Any) -> str:
    """For a message: which handler, and where its ``@job`` is written."""
    from jobrunner.jobs import user_code

    place = user_code.place_of_caller()
    return _name_of(function) if place is None else f"{_name_of(function)} ({place})"
