"""Reports what a run of the tests cost: the slowest tests and the processor time. A test that takes too long fails."""

import os
from collections import defaultdict
from collections.abc import Generator
from operator import itemgetter
from typing import Any

import pytest
import pytest_timeout  # type: ignore[import-untyped]

from harness import warm
from harness.waiting import stretched

LONGEST_SECONDS = 60.0
"""What one test may take. What is rightly longer is marked `long` and runs in `make test-long`."""
_USUAL_LOAD = 2.5
"""That of each processor while the tests run and nothing else does: there are two and a half times as many workers."""
_SLOWEST = 20
_SPENT = "processor_seconds"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(), "costs")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that took longer than any may."""
    report = yield
    # Not its fixtures: whoever comes first makes those of the whole session.
    if report.when == "call" and report.passed and item.get_closest_marker("long") is None:
        # Nobody is at fault for what else the machine is busy with.
        most = stretched(LONGEST_SECONDS, _USUAL_LOAD)
        if call.duration > most:
            report.outcome = "failed"
            report.longrepr = f"took {call.duration:.0f} s: a test takes {most:.0f} s at most, or is marked long"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> object:
    """End a test that hangs: on a busy machine as much later as the waits in it give up."""
    return pytest_timeout.pytest_timeout_set_timer(item, settings._replace(timeout=stretched(settings.timeout)))


class Costs:
    """Collects in the controller what each worker reports."""

    def __init__(self) -> None:
        self._durations: defaultdict[str, float] = defaultdict(float)
        self._processor_seconds = 0.0
        self._has_workers = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._durations[report.nodeid] += report.duration

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # Only what has ended is in a process's account: the starter, with all its commands.
        of_commands = warm.close()
        # Workers that are children of the controller, and not of the starter, have told theirs.
        self._processor_seconds += sum(os.times()[:2]) + of_commands if self._has_workers else sum(os.times()[:4])
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_SPENT] = self._processor_seconds

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._has_workers = True
        if not warm.forks_workers():
            self._processor_seconds += getattr(node, "workeroutput", {}).get(_SPENT, 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self._durations) > _SLOWEST:
            terminalreporter.section(f"slowest {_SLOWEST} tests")
            for name, seconds in sorted(self._durations.items(), key=itemgetter(1), reverse=True)[:_SLOWEST]:
                terminalreporter.write_line(f"{seconds:6.2f} s  {name}")
            spent = f"{self._processor_seconds:.0f} s of processor time, without the database server's"
            terminalreporter.write_line(spent)
