"""What an application runs around each run of a handler: ``before_run``, ``after_run`` and ``around_run``.

Handler modules import this module, so it needs the standard library only.
"""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

from jobrunner.errors import ConfigurationError, HandlerNotCalled
from jobrunner.jobs.context import Context
from jobrunner.jobs.outcomes import Discard, Retry, Snooze

Before: TypeAlias = Callable[[Context], Awaitable[None] | None]
After: TypeAlias = Callable[[Context, BaseException | None], Awaitable[None] | None]
Around: TypeAlias = Callable[[Context], Iterator[None] | AsyncIterator[None]]

_B = TypeVar("_B", bound=Before)
_A = TypeVar("_A", bound=After)
_C = TypeVar("_C", bound=Around)

_before: list[Callable[..., Any]] = []
_after: list[Callable[..., Any]] = []
_around: list[Callable[..., Any]] = []


def before_run(function: _B) -> _B:
    """Call the function with the ``Context`` before each run. If it raises, the attempt ends as if the handler had.

    Functions are called in the order in which they were registered. One that is ``async def`` is called for ``async
    def`` handlers only.
    """
    _check("before_run", function, 1)
    _before.append(function)
    return function


def after_run(function: _A) -> _A:
    """Call the function with the ``Context`` and the error, or None, after each run, also if a ``before_run`` raised.

    The function that was registered last is called first. What it raises is printed to the run's output, and changes
    nothing: use ``around_run`` for what may fail the attempt. One that is ``async def`` is called for ``async def``
    handlers only.
    """
    _check("after_run", function, 2)
    _after.append(function)
    return function


def around_run(function: _C) -> _C:
    """Run each run at the ``yield`` of this generator function, which is called with the ``Context``.

    The function that was registered first is the outermost; all of them are outside ``before_run`` and ``after_run``.
    The handler's exception is raised at the ``yield``. What the function raises, before or after its ``yield``, ends
    the attempt as if the handler had raised it; an exception that it catches does not. One that is an ``async def`` is
    used for ``async def`` handlers only.
    """
    if not (inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)):
        raise ConfigurationError(
            f"the around_run function {_name_of(function)} has no yield; add one where the handler is to run"
        )
    _check("around_run", function, 1)
    _around.append(function)
    return function


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """The plain handler with all that runs around it: the function itself if there is nothing."""
    return partial(_call, function) if _around or _before or _after else function


def wrapped_async(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """As ``wrapped``, for an ``async def`` handler."""
    return partial(_call_async, function) if _around or _before or _after else function


def _call(function: Callable[..., Any], context: Context, /, **arguments: Any) -> Any:
    value = None
    with ExitStack() as stack:
        for around in filter(inspect.isgeneratorfunction, _around):
            with _named(around):
                stack.enter_context(contextmanager(around)(context))
        pid, ended = os.getpid(), None
        try:
            for before in filter(_is_plain, _before):
                before(context)
            value = function(context, **arguments)
            ended = _asked_by(value)
        except BaseException as error:
            ended = error
            raise
        finally:
            _leave_copy(pid)
            for after in filter(_is_plain, reversed(_after)):
                try:
                    after(context, ended)
                except BaseException as error:  # noqa: BLE001 - whatever it is, the run has ended already
                    _print(error)
    # None if one of ``_around`` has caught the handler's exception.
    return value


async def _call_async(function: Callable[..., Awaitable[Any]], context: Context, /, **arguments: Any) -> Any:
    value = None
    async with AsyncExitStack() as stack:
        for around in _around:
            with _named(around):
                if inspect.isasyncgenfunction(around):
                    await stack.enter_async_context(asynccontextmanager(around)(context))
                else:
                    stack.enter_context(contextmanager(around)(context))
        pid, ended = os.getpid(), None
        try:
            for before in _before:
                await _done(before(context))
            value = await function(context, **arguments)
            ended = _asked_by(value)
        except BaseException as error:
            ended = error
            raise
        finally:
            _leave_copy(pid)
            for after in reversed(_after):
                try:
                    await _done(after(context, ended))
                except BaseException as error:  # noqa: BLE001 - whatever it is, the run has ended already
                    _print(error)
    return value


def _print(error: BaseException) -> None:
    """Print the traceback to the run's output, from the function on that has raised the error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace or error.__traceback__)


async def _done(value: object) -> None:
    if inspect.isawaitable(value):
        await value


def _asked_by(value: object) -> BaseException | None:
    """What a handler may return as well as raise."""
    return value if isinstance(value, Retry | Discard | Snooze) else None


def _leave_copy(pid: int) -> None:
    if os.getpid() != pid:
        # This is a copy that the handler has forked. It must not close what its parent uses.
        os._exit(0)


@contextmanager
def _named(around: Callable[..., Any]) -> Generator[None, None, None]:
    try:
        yield
    except RuntimeError as error:
        # The words of contextlib.
        if str(error) != "generator didn't yield":
            raise
        raise HandlerNotCalled(
            f"the around_run function {_name_of(around)} ended before its yield, so the handler was not called"
        ) from None


def _is_plain(function: Callable[..., Any]) -> bool:
    return not inspect.iscoroutinefunction(function)


def _check(kind: str, function: Callable[..., Any], arguments: int) -> None:
    name = _name_of(function)
    if kind != "around_run" and (inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)):
        raise ConfigurationError(f"the {kind} function {name} has a yield; register it with around_run")
    try:
        inspect.signature(function).bind(*range(arguments))
    except (TypeError, ValueError):
        takes = "the Context" if arguments == 1 else "the Context and the error or None"
        raise ConfigurationError(f"the {kind} function {name} must take {takes}") from None


def _name_of(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', '?')}"
