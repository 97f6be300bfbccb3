"""What ends a wait for children: a message, also one that its channel cannot hold, and a child without more runs."""

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.waiting import stretched
from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.events import Event, Ready, Reported
from jobrunner.children.inside.to_parent import RING_SECONDS
from jobrunner.children.messages import Report, StartRun
from jobrunner.children.process_groups import GroupFile
from jobrunner.children.python_child import ChildPlan, ChildProcess
from jobrunner.children.supervisor import Supervisor
from jobrunner.model import Owner

HANDLERS = """
from jobrunner import Context, job

@job("large")
def large(ctx: Context, size: int):
    return "x" * size

@job("large_async")
async def large_async(ctx: Context, size: int):
    return "x" * size

@job("nothing")
async def nothing(ctx: Context): ...
"""
LIMIT_BYTES = 20_000_000
NEVER_SECONDS = 30.0


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    (tmp_path / "large.py").write_text(HANDLERS)
    plan = ChildPlan(("large",), str(tmp_path), "0a0b", BegunPage(None), result_limit=LIMIT_BYTES)
    made = Supervisor(plan, GroupFile([tmp_path], Owner("here", "here:1:0a0b"), "0a0b"), 30)
    yield made
    made.close()


def next_event(supervisor: Supervisor) -> Event:
    """The next one, which something must announce: nobody looks whether there is one."""
    never = stretched(NEVER_SECONDS)
    ends_at = time.monotonic() + never / 2
    while time.monotonic() < ends_at:
        for event in supervisor.poll(never):
            return event
    raise AssertionError("nothing announced an event")


def run_of(run_id: int, job_type: str, **payload: object) -> StartRun:
    return StartRun(*(run_id, job_type, payload, 1, 1, 0.0, 0.0, LIMIT_BYTES, clock.elapsed() + 60))


@pytest.mark.parametrize("size", [10, 200_000, 10_000_000])
@pytest.mark.parametrize("job_type", ["large", "large_async"])
def test_result_of_any_size_arrives_without_a_look_at_the_channel(
    supervisor: Supervisor, job_type: str, size: int
) -> None:
    """A megabyte took half a second: the child rang at its end only, and the parent looked five times a second."""
    supervisor.spawn()
    assert isinstance(next_event(supervisor), Ready)
    child = supervisor.acquire(for_event_loop=job_type == "large_async")
    run = run_of(1, job_type, size=size)
    (child.give if job_type == "large" else child.begin)([run])
    reported = next_event(supervisor)
    assert isinstance(reported, Reported)
    (report,) = reported.messages
    assert isinstance(report, Report)
    assert (report.outcome, report.result) == ("succeeded", "x" * size)


@pytest.fixture
def event_loop(supervisor: Supervisor) -> ChildProcess:
    """A child whose event loop has ended a run."""
    supervisor.spawn()
    assert isinstance(next_event(supervisor), Ready)
    child = supervisor.acquire(for_event_loop=True)
    child.begin([run_of(1, "nothing")])
    assert isinstance(next_event(supervisor), Reported)
    return child


def assert_one_wait_takes_three_reports(supervisor: Supervisor) -> None:
    reports: list[object] = []
    while len(reports) < 3:
        began_at = time.monotonic()
        for event in supervisor.poll(2 * stretched(NEVER_SECONDS), stretched(NEVER_SECONDS)):
            assert isinstance(event, Reported)
            reports += event.messages
        assert time.monotonic() - began_at < stretched(NEVER_SECONDS)


def test_wait_for_more_reports_ends_when_a_child_has_ended_all_of_its_runs(supervisor: Supervisor) -> None:
    """A tick slept for 40 ms beside a child that had nothing to do."""
    supervisor.spawn()
    assert isinstance(next_event(supervisor), Ready)
    supervisor.acquire().give([run_of(number, "large", size=1) for number in range(1, 4)])
    assert_one_wait_takes_three_reports(supervisor)


def test_wait_for_more_reports_ends_when_an_event_loop_has_ended_all_of_its_runs(
    supervisor: Supervisor, event_loop: ChildProcess
) -> None:
    event_loop.give([run_of(number, "nothing") for number in range(2, 5)], 1)
    assert_one_wait_takes_three_reports(supervisor)


def test_event_loop_with_runs_behind_those_at_work_wakes_its_parent_for_many_of_them_at_once(
    event_loop: ChildProcess,
) -> None:
    """It woke the parent for each run that had ended, which takes longer than a run that does nothing."""
    began_at = time.monotonic()
    event_loop.give([run_of(number, "nothing") for number in range(2, 402)], 10)
    times, reported, rung = 0, 0, b""
    while reported < 400:
        assert select.select([event_loop.bell], [], [], stretched(NEVER_SECONDS))[0]
        rung = os.read(event_loop.bell, 1 << 16)
        times += len(rung)
        reported += len(event_loop.receive())
    assert times <= 2 + (time.monotonic() - began_at) / RING_SECONDS
    assert rung.endswith(b"\1")
