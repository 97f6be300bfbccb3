"""A message that its channel cannot hold: the parent takes it as fast as the child sends it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.waiting import stretched
from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.events import Event, Ready, Reported
from jobrunner.children.messages import Report, StartRun
from jobrunner.children.process_groups import GroupFile
from jobrunner.children.python_child import ChildPlan
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


@pytest.mark.parametrize("size", [10, 200_000, 10_000_000])
@pytest.mark.parametrize("job_type", ["large", "large_async"])
def test_result_of_any_size_arrives_without_a_look_at_the_channel(
    supervisor: Supervisor, job_type: str, size: int
) -> None:
    """A megabyte took half a second: the child rang at its end only, and the parent looked five times a second."""
    supervisor.spawn()
    assert isinstance(next_event(supervisor), Ready)
    child = supervisor.acquire(for_event_loop=job_type == "large_async")
    run = StartRun(*(1, job_type, {"size": size}, 1, 1, 0.0, 0.0, LIMIT_BYTES, clock.elapsed() + 60))
    if job_type == "large":
        child.give([run])
    else:
        child.send(run)
    reported = next_event(supervisor)
    assert isinstance(reported, Reported)
    (report,) = reported.messages
    assert isinstance(report, Report)
    assert (report.outcome, report.result) == ("succeeded", "x" * size)
