"""Long tests: all of them in `make test-long`, a sample in every other run.

`@pytest.mark.long` keeps a test for `make test-long`. `@pytest.mark.long(sample=5)` on a parametrized test has five of
its cases, chosen by the seed of the run, run everywhere. Where many cases cost no more than one, since they wait at the
same time, a test of every day draws them itself, with `draw`.
"""

import os
import random
from collections import defaultdict

import pytest

SEED = "LONG_SEED"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked `long`, all of them and no others")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # In the environment, which the workers inherit: all must choose the same.
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10_000)))


def draw(name: str) -> random.Random:
    """What chooses the sample of this name: another one in each run, the same one for the same seed."""
    return random.Random(f"{os.environ[SEED]} {name}")


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.getoption("--long"):
        return None
    return f"long tests: a sample, with {SEED}={os.environ[SEED]}; all of them: make test-long"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marked: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    counts: dict[str, int] = {}
    for item in items:
        if marker := item.get_closest_marker("long"):
            name = item.nodeid.partition("[")[0]
            marked[name].append(item)
            counts.setdefault(name, marker.kwargs.get("sample", 0))
    chosen: set[pytest.Item] = set()
    for name, cases in marked.items():
        chosen.update(draw(name).sample(cases, min(counts[name], len(cases))))
    every = {item for cases in marked.values() for item in cases}
    if config.getoption("--long"):
        kept = [item for item in items if item in every]
    elif len(items) == 1:
        kept = items  # named on the command line
    else:
        kept = [item for item in items if item in chosen or item not in every]
    removed = set(items) - set(kept)
    if removed:
        config.hook.pytest_deselected(items=sorted(removed, key=lambda item: item.nodeid))
        items[:] = kept
