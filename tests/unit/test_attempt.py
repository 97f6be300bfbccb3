"""One attempt: what a handler does ends it alike in a child, in an event loop, and in a test or a debugger."""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from jobrunner import Discard, Retry, Snooze
from jobrunner.application.job import Job
from jobrunner.backoff import fixed
from jobrunner.children.inside.attempt import Attempt
from jobrunner.children.messages import FromChild, Progress, Report, StartRun
from jobrunner.jobs.context import Context
from jobrunner.jobs.outcomes import HandlerStopped
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Policy
from jobrunner.worker.attempt import result_of, with_wait

ENDS: dict[str, Callable[[], object]] = {
    "returns nothing": lambda: None,
    "returns a value": lambda: {"rows": 3},
    "returns what no database holds": object,
    "returns a generator": lambda: (n for n in ()),
    **{
        f"{verb} {asked.__name__}": lambda verb=verb, asked=asked: _end(verb, asked("1h"))
        for verb in ("returns", "raises")
        for asked in (Retry, Discard, Snooze)
    },
    "raises": lambda: _end("raises", ValueError("bad")),
    "exits": lambda: _end("raises", SystemExit(3)),
    "is stopped": lambda: _end("raises", HandlerStopped("too slow")),
}
START = {"attempt": 1, "max_attempts": 5, "started_at": "2026-01-01T00:00:00+00:00", "lateness_seconds": 0.0}


def _end(verb: str, what: Any) -> object:
    if verb == "raises":
        raise what
    return what


def plain(ctx: Context, how: str) -> object:
    ctx.progress(1, 2, how)
    return ENDS[how]()


async def in_loop(ctx: Context, how: str) -> object:
    await asyncio.sleep(0)
    return plain(ctx, how)


PLAIN = Job(plain, Policy("test"), None, ())
ASYNC = Job(in_loop, Policy("test", is_async=True), None, ())
CALLS: dict[str, Callable[[Attempt], Report]] = {
    "in a child": lambda attempt: attempt.run(PLAIN),
    "in an event loop": lambda attempt: asyncio.run(attempt.run_async(ASYNC, nullcontext())),
    "plain in a test": lambda attempt: attempt.run(PLAIN, nullcontext(), asyncio.run),
    "async in a test": lambda attempt: attempt.run(ASYNC, nullcontext(), asyncio.run),
}


def ended(call: str, payload: dict[str, object]) -> tuple[Report, list[FromChild]]:
    """The report without its traceback, and what was sent before it."""
    sent: list[FromChild] = []
    attempt = Attempt(StartRun(7, "test", payload, result_limit=1000, begin_before=0.0, **START), sent.append, None)
    report = CALLS[call](attempt)
    attempt.progress.flush()
    assert not attempt.is_at_work
    return report._replace(traceback=None), sent


@pytest.mark.parametrize("how", ENDS)
def test_an_attempt_ends_alike_whoever_calls_its_handler(how: str) -> None:
    expected, sent = ended("in a child", {"how": how})
    assert sent == [Progress(7, {"done": 1, "total": 2, "message": how})]
    assert [ended(call, {"how": how}) for call in CALLS] == [(expected, sent)] * len(CALLS)


def test_handler_that_does_not_fit_is_not_called() -> None:
    for call in CALLS:
        report, sent = ended(call, {"other": 1})
        assert (report.outcome, report.error_type, sent) == ("incompatible", "bad_payload", [])
    attempt = Attempt(StartRun(7, "test", {"how": "raises"}, result_limit=1000, begin_before=0.0, **START), print, None)
    kinds = [attempt.run(ASYNC), asyncio.run(attempt.run_async(PLAIN, nullcontext())), attempt.run(None)]
    assert [report.error_type for report in kinds] == ["unknown_type"] * 3


@pytest.mark.parametrize(("was_asked", "error_type"), [(True, "stopped"), (False, "CancelledError")])
def test_cancelled_coroutine_was_stopped_only_if_it_was_asked_to(was_asked: bool, error_type: str) -> None:
    async def cancelled(ctx: Context) -> None:
        raise asyncio.CancelledError

    attempt = Attempt(StartRun(7, "test", {}, result_limit=1000, begin_before=0.0, **START), print, None)
    attempt.was_asked_to_stop = was_asked
    job = Job(cancelled, Policy("test", is_async=True), None, ())
    assert asyncio.run(attempt.run_async(job, nullcontext())).error_type == error_type


@pytest.mark.parametrize("outcome", Outcome)
def test_a_run_waits_as_its_type_says_unless_its_handler_or_a_deploy_decides(outcome: Outcome) -> None:
    policy = Policy("test", backoff=fixed("7s", jitter=0))
    has_its_own_rule = outcome in (Outcome.SUCCEEDED, Outcome.INCOMPATIBLE)
    expected = None if has_its_own_rule else timedelta(seconds=7)
    assert with_wait(AttemptResult(outcome), policy, 3).wait == expected
    assert with_wait(AttemptResult(outcome, wait=timedelta(0)), policy, 3).wait == timedelta(0)


def test_report_without_a_wait_leaves_it_to_the_policy() -> None:
    for how in ("returns a generator", "raises", "exits", "is stopped"):
        report, _ = ended("in a child", {"how": how})
        assert result_of(report).wait is None
