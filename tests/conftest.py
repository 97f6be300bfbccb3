"""Brings in the fixtures of tests/harness and tells more about a test that failed."""

import os
import signal
import sys
from collections.abc import Generator

import pytest

from jobrunner.application import registry
from jobrunner.jobs import policy

# Where PYTHONDONTWRITEBYTECODE is set, each worker would rewrite the assertions of all files in each run: 10 s each.
sys.dont_write_bytecode = False
pytest.register_assert_rewrite("harness")
pytest_plugins = [
    "harness.collecting",
    "harness.postgres",
    "harness.warm",
    "harness.databases",
    "harness.connections",
    "harness.elsewhere",
    "harness.pgbouncer",
    "harness.stores",
    "harness.app",
    "harness.commands",
    "harness.cron",
    "harness.installation",
    "harness.releases",
    "harness.promises",
    "harness.costs",
    "harness.long",
    "harness.browser",
    "harness.bench",
    "harness.notices",
    "harness.log_file",
    "harness.standby",
]

# Whoever starts the tests in the background of a script, or by nohup, has them ignore these, and with them all that
# they start. A process that is started has the default in the place of a handler.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, lambda *_: None)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _own_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test begins without handlers, and what it declares is gone after it: other payloads would be checked."""
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(policy, "_declared", {})


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many workers `-n auto` means: a test waits for more than half of its time, so five of them fill two cores."""
    return max(5, os.cpu_count() or 1)


def pytest_configure(config: pytest.Config) -> None:
    """Hand the tests out in small portions: a worker keeps a portion, while the others may have nothing left to do."""
    if getattr(config.option, "maxschedchunk", 0) is None:
        config.option.maxschedchunk = 8


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with those that may take long: at the end one of them would keep one core busy, and the other idle."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the output of the commands and the rows of the tables, while both still exist."""
    report = yield
    if report.when == "call" and report.failed and isinstance(item, pytest.Function):
        for name in ("jobrunner", "private_jobrunner"):
            if name in item.funcargs:
                commands = item.funcargs[name]
                report.sections.append(("last commands", commands.describe_history()))
                report.sections.append(("tables", commands.database.describe()))
                report.sections.append(("processes", commands.describe_leftovers()))
    return report
