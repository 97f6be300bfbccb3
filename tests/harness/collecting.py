"""Collects the tests without the garbage collector, which would look at every object again and again for nothing.

Each worker collects all tests, which is a part of what a run costs.
"""

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        # What is there now stays until the end, and is not looked at any more.
        gc.freeze()
        gc.enable()
