"""Collects the tests in less time: five workers that each collect all of them are a part of what a run costs.

Without the garbage collector, which would look at every object again and again, and finds nothing. And the workers
compile the files of a new checkout in turn: each begins at another one. Side by side each of them would compile all.
"""

import contextlib
import gc
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.pathlib import import_path


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    gc.disable()
    try:
        for path in in_turn(session.config):
            # What cannot be imported is told when it is collected.
            with contextlib.suppress(Exception):
                import_path(path, mode="importlib", root=session.config.rootpath, consider_namespace_packages=False)
        return (yield)
    finally:
        # What is there now stays until the end, and is not looked at any more.
        gc.freeze()
        gc.enable()


def in_turn(config: pytest.Config) -> list[Path]:
    """All test files, for the third of five workers from two fifths on; none in a run of some files."""
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return []
    files = sorted(path for folder in config.args for path in (config.rootpath / folder).rglob("test_*.py"))
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // int(worker["workercount"])
    return files[first:] + files[:first]
