"""OpenTelemetry, if the application uses it: the traceparent of an enqueue, and a span for each attempt of a handler.

Nothing here imports it: a process that has not imported it traces nothing. So a tick never does, and neither does a
process whose handlers do not use it.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any, Protocol

from jobrunner.jobs.outcomes import Snooze

_API = "opentelemetry.trace"


class Attempt(Protocol):
    """What a span says of an attempt."""

    @property
    def run_id(self) -> int: ...
    @property
    def job_type(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def traceparent(self) -> str | None: ...


def current() -> str | None:
    """The traceparent of the current span. None: there is none, or this process has not imported OpenTelemetry."""
    trace = sys.modules.get(_API)
    if trace is None:
        return None
    # An enqueue must not fail because of a module of that name that is another one, or is half imported.
    with suppress(AttributeError, TypeError, ValueError):
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return None


def traced(function: Callable[..., Any], attempt: Attempt) -> Callable[..., Any]:
    """The function in a span of its attempt, or the function itself if nothing is traced."""
    if _API not in sys.modules:
        return function

    def in_span(*arguments: Any, **keywords: Any) -> Any:
        with _span(attempt):
            return function(*arguments, **keywords)

    return in_span


def traced_async(function: Callable[..., Awaitable[Any]], attempt: Attempt) -> Callable[..., Awaitable[Any]]:
    """The same for a coroutine function."""
    if _API not in sys.modules:
        return function

    async def in_span(*arguments: Any, **keywords: Any) -> Any:
        with _span(attempt):
            return await function(*arguments, **keywords)

    return in_span


@contextmanager
def _span(attempt: Attempt) -> Iterator[None]:
    """The span of an attempt. The first is a child of the span that enqueued the run, a retry a root linked to it.

    So a trace ends with its first attempt, and is not open for the days that retries may take.
    """
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {} if attempt.traceparent is None else {"traceparent": attempt.traceparent}
    origin = TraceContextTextMapPropagator().extract(carrier, Context())
    cause = trace.get_current_span(origin).get_span_context()
    is_retry = attempt.attempt > 1
    with trace.get_tracer("jobrunner").start_as_current_span(
        attempt.job_type,
        context=Context() if is_retry else origin,
        kind=trace.SpanKind.CONSUMER,
        links=[trace.Link(cause)] if is_retry and cause.is_valid else [],
        attributes={
            "jobrunner.job_type": attempt.job_type,
            "jobrunner.run_id": attempt.run_id,
            "jobrunner.attempt": attempt.attempt,
        },
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except Snooze:
            # It asks for a later time, and is no error.
            raise
        except BaseException as error:
            # Both read its message, which a class of the user's own may fail to write.
            with suppress(Exception):
                span.set_status(trace.StatusCode.ERROR, type(error).__name__)
                span.record_exception(error)
                span.set_status(trace.StatusCode.ERROR, f"{type(error).__name__}: {error}")
            raise


def flush(seconds: float) -> None:
    """Export the spans that have ended, for so long at most: an exporter may hang, and some ignore their time limit."""
    trace = sys.modules.get(_API)
    export = None if trace is None else getattr(trace.get_tracer_provider(), "force_flush", None)
    if export is None:
        return

    def work() -> None:
        with suppress(Exception):
            export(int(seconds * 1000))

    # A daemon: this process ends without it.
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
