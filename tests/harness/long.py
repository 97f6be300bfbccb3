"""What a run of the tests leaves out, chosen by the seed of the run. `make test-long` runs all of it.

A test that proves a promise runs on both databases in every run, and so does one that is marked `both_databases`: SQL
or locks are what it is about. Any other test runs on one of the two; of a table of cases half run on each.
`@pytest.mark.either_database` has that done with a table that proves a promise.

`@pytest.mark.long` keeps a test for `make test-long`. `@pytest.mark.long(sample=5)` on a parametrized test has five of
its cases run everywhere. A test that goes through many cases itself takes some of them, with `some`, and is marked
`long(sample=1)` unless it runs on either database. On a module, `pytest.mark.one_of("installation")` has its tests run
with one value of this parameter, and `pytest.mark.share(0.5)` has half of those run that prove no promise.

Whoever names a single test gets all of it; `--everything` leaves nothing out.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Any, TypeVar

import pytest

SEED = "LONG_SEED"
EVERYTHING = "LONG_EVERYTHING"
LONGEST_SECONDS = 3600
"""A limit is for a test that hangs, and not for a long one on a machine that is slow or busy."""
FUNCTION, MODULE = "[", "::"
Case = TypeVar("Case")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run only the tests that other runs sample, with all cases")
    parser.addoption("--everything", action="store_true", help="leave nothing out: all cases, each on both databases")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # In the environment, which the workers inherit: all must choose the same.
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10_000)))
    if config.getoption("--long") or config.getoption("--everything") or any("::" in name for name in config.args):
        os.environ[EVERYTHING] = "1"


def draw(name: str) -> random.Random:
    """What chooses the sample of this name: another one in each run, the same one for the same seed."""
    return random.Random(f"{os.environ[SEED]} {name}")


def leaves_nothing_out() -> bool:
    return EVERYTHING in os.environ


def some(name: str, cases: Sequence[Case], count: int) -> list[Case]:
    """So many of the cases, in their order; all of them in a run that leaves nothing out."""
    if leaves_nothing_out():
        return list(cases)
    kept = set(draw(name).sample(range(len(cases)), min(count, len(cases))))
    return [case for index, case in enumerate(cases) if index in kept]


def pytest_report_header(config: pytest.Config) -> str | None:
    if leaves_nothing_out():
        return None
    return f"{SEED}={os.environ[SEED]} chooses the cases, and the database of each; all on both: --everything"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    elsewhere = {*on_the_other_database(items), *with_another_value(items)}
    here = [item for item in items if item not in elsewhere]
    left_out = elsewhere.union(others_than_the_sample(here), beyond_the_share(here))
    if config.getoption("--long"):
        kept = [item for item in items if item.get_closest_marker("long") or is_drawn(item)]
    elif leaves_nothing_out():
        kept = items
    else:
        kept = [item for item in items if item not in left_out]
    if leaves_nothing_out():
        for item in kept:
            if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(LONGEST_SECONDS))
    removed = set(items) - set(kept)
    if removed:
        config.hook.pytest_deselected(items=sorted(removed, key=lambda item: item.nodeid))
        items[:] = kept


def is_drawn(item: pytest.Item) -> bool:
    return is_on_either_database(item) or value_of_module(item) is not None or share_of(item) < 1


def on_the_other_database(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """One of the two items of each case. A test of several cases runs on both databases, each with half of them."""
    for name, cases in grouped(FUNCTION, filter(is_on_either_database, items)).items():
        pairs: defaultdict[object, list[pytest.Item]] = defaultdict(list)
        for item in cases:
            # By identity: both items of a case have the same objects, which may not be hashable.
            others = {key: id(value) for key, value in parameters(item).items() if key != "database"}
            pairs[frozenset(others.items())].append(item)
        assert len(pairs) > 1 or cases[0].get_closest_marker("promise") is None, f"a promise on one database: {name}"
        chance = draw(name)
        order = list(pairs.values())
        chance.shuffle(order)
        for number, pair in enumerate(order, chance.randrange(2)):
            yield from (item for index, item in enumerate(pair) if index != number % len(pair))


def is_on_either_database(item: pytest.Item) -> bool:
    if "database" not in parameters(item):
        return False
    for marker in item.iter_markers():  # the closest first: a test may differ from its module
        if marker.name in ("both_databases", "either_database"):
            return marker.name == "either_database"
    return item.get_closest_marker("promise") is None


def others_than_the_sample(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    for name, cases in grouped(FUNCTION, (item for item in items if item.get_closest_marker("long"))).items():
        marker = cases[0].get_closest_marker("long")
        assert marker is not None
        count = min(marker.kwargs.get("sample", 0), len(cases))
        yield from set(cases) - set(draw(name).sample(cases, count))


def with_another_value(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    for module, found in grouped(MODULE, (item for item in items if value_of_module(item) is not None)).items():
        chosen = draw(module).choice(list(dict.fromkeys(map(value_of_module, found))))
        yield from (item for item in found if value_of_module(item) != chosen)


def value_of_module(item: pytest.Item) -> Any:
    """The value of the parameter that has one value in a run. None: the test has no such parameter."""
    marker = item.get_closest_marker("one_of")
    return None if marker is None else parameters(item).get(marker.args[0])


def beyond_the_share(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    # A table of cases has a sample of its own.
    shared = (item for item in items if share_of(item) < 1 and item.get_closest_marker("long") is None)
    for module, found in grouped(MODULE, shared).items():
        yield from draw(module).sample(found, len(found) - ceil(share_of(found[0]) * len(found)))


def share_of(item: pytest.Item) -> float:
    """How much of the tests of its module a run has, this one among them."""
    marker = item.get_closest_marker("share")
    return 1 if marker is None or item.get_closest_marker("promise") else marker.args[0]


def parameters(item: pytest.Item) -> dict[str, Any]:
    """What the test is parametrized with, by name."""
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else callspec.params


def grouped(end: str, items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """The items by what stands in their ids before this end: by function, or by module."""
    found: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        found[item.nodeid.partition(end)[0]].append(item)
    return found
