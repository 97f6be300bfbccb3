"""Which tests a run has, and on which databases: the same in each run. tests/README.md explains the three markers.

A test runs on both databases. Tests of a room in `ON_ONE` are about what stands above the
store, so each of them runs on one: on which, its name decides, and of a table of cases half run on each. What proves a
promise runs on both there, too.

`@pytest.mark.long` keeps a test for `make test-long`. `@pytest.mark.long(sample=5)` on a parametrized test has five of
its cases run everywhere, `sample=0.5` half of them, on the databases in turn; the seed of the run draws them. A test
that goes through many cases itself takes some of them, with `some`.

Whoever names a single test gets all of it; `--everything` leaves nothing out.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import pytest

SEED = "LONG_SEED"
EVERYTHING = "LONG_EVERYTHING"
LONGEST_SECONDS = 3600
"""A limit is for a test that hangs, and not for a long one on a machine that is slow or busy."""
ON_ONE = ("application", "cli", "project", "web")
"""The rooms of the tests that run on one database."""
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
    return f"{SEED}={os.environ[SEED]} draws the cases of the longest tables; all of them: --everything"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        kept = [item for item in items if sample_of(item) is not None or is_on_one_database(item)]
    elif leaves_nothing_out():
        kept = items
    else:
        left_out = {*on_the_other_database(items), *beyond_the_sample(items)}
        kept = [item for item in items if item not in left_out]
    if leaves_nothing_out():
        for item in kept:
            if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(LONGEST_SECONDS))
    removed = set(items) - set(kept)
    if removed:
        config.hook.pytest_deselected(items=sorted(removed, key=lambda item: item.nodeid))
        items[:] = kept


def is_on_one_database(item: pytest.Item) -> bool:
    if "database" not in parameters(item) or sample_of(item) is not None or item.get_closest_marker("promise"):
        return False
    return room_of(item) in ON_ONE


def room_of(item: pytest.Item) -> str:
    return item.path.relative_to(item.config.rootpath / item.config.getini("testpaths")[0]).parts[0]


def on_the_other_database(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """One of the two items of each case."""
    for name, cases in by_function(filter(is_on_one_database, items)).items():
        for number, case in enumerate(cases, crc32(name.encode())):
            yield from (item for index, item in enumerate(case) if index != number % len(case))


def beyond_the_sample(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """The items of long tests that are not drawn. Of those that are, half run on each database."""
    for name, cases in by_function(item for item in items if sample_of(item) is not None).items():
        of_all = [item for case in cases for item in case]
        size = sample_of(of_all[0]) or 0
        count = ceil(size * len(of_all)) if isinstance(size, float) else size
        chance = draw(name)
        chance.shuffle(cases)
        first = chance.randrange(2)
        in_turn = [case[(number + first) % len(case)] for number, case in enumerate(cases)]
        others = [item for item in of_all if item not in set(in_turn)]
        yield from [*in_turn, *others][count:]


def sample_of(item: pytest.Item) -> float | None:
    """How many cases of a long test each run has, or as a float how much of them. None: it is not a long one."""
    marker = item.get_closest_marker("long")
    return None if marker is None else marker.kwargs.get("sample", 0)


def parameters(item: pytest.Item) -> dict[str, Any]:
    """What the test is parametrized with, by name."""
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else callspec.params


def by_function(items: Iterable[pytest.Item]) -> dict[str, list[list[pytest.Item]]]:
    """The cases of each function, by its name: for each case one item, or one for each database."""
    found: defaultdict[str, defaultdict[object, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        # By identity: both items of a case have the same objects, which may not be hashable.
        others = {key: id(value) for key, value in parameters(item).items() if key != "database"}
        function = f"{Path(item.location[0]).stem}::{item.nodeid.partition('::')[2].partition('[')[0]}"
        found[function][frozenset(others.items())].append(item)
    return {name: list(cases.values()) for name, cases in found.items()}
