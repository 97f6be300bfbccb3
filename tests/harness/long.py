"""Long tests: all of them in `make test-long`, a sample in every other run.

`@pytest.mark.long` keeps a test for `make test-long`. `@pytest.mark.long(sample=5)` on a parametrized test has five of
its cases, chosen by the seed of the run, run everywhere. `@pytest.mark.either_database` has each case run on one of the
two databases, half of the cases on each, and all on both in `make test-long`: for long tables of cases, and for whole
modules, in which the database has little to do with the harm. Where many cases cost no more than one, since they wait
at the same time, a test of every day draws them itself, with `draw`.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

SEED = "LONG_SEED"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run only the tests that other runs sample, with all cases")


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
    elsewhere = set(on_the_other_database(items))
    left_out = elsewhere.union(others_than_the_sample([item for item in items if item not in elsewhere]))
    if config.getoption("--long"):
        kept = [item for item in items if item.get_closest_marker("long") or is_on_either_database(item)]
    elif len(items) == 1:
        kept = items  # named on the command line
    else:
        kept = [item for item in items if item not in left_out]
    removed = set(items) - set(kept)
    if removed:
        config.hook.pytest_deselected(items=sorted(removed, key=lambda item: item.nodeid))
        items[:] = kept


def others_than_the_sample(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    for name, cases in by_function(item for item in items if item.get_closest_marker("long")).items():
        marker = cases[0].get_closest_marker("long")
        assert marker is not None
        count = min(marker.kwargs.get("sample", 0), len(cases))
        yield from set(cases) - set(draw(name).sample(cases, count))


def on_the_other_database(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """One of the two items of each case. A test of several cases runs on both databases, each with half of them."""
    for name, cases in by_function(filter(is_on_either_database, items)).items():
        pairs: defaultdict[object, list[pytest.Item]] = defaultdict(list)
        for item in cases:
            # By identity: both items of a case have the same objects, which may not be hashable.
            others = {key: id(value) for key, value in parameters(item).items() if key != "database"}
            pairs[frozenset(others.items())].append(item)
        # A promise is proved on both databases in every run.
        assert len(pairs) > 1 or cases[0].get_closest_marker("promise") is None, name
        chance = draw(name)
        order = list(pairs.values())
        chance.shuffle(order)
        for number, pair in enumerate(order, chance.randrange(2)):
            yield from (item for index, item in enumerate(pair) if index != number % len(pair))


def is_on_either_database(item: pytest.Item) -> bool:
    # A whole module may have the marker, and not all of its tests have a database.
    return item.get_closest_marker("either_database") is not None and "database" in parameters(item)


def parameters(item: pytest.Item) -> dict[str, Any]:
    """What the test is parametrized with, by name."""
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else callspec.params


def by_function(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    found: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        found[item.nodeid.partition("[")[0]].append(item)
    return found
