"""Which promises the tests prove on which database: collected into the file named in PROMISES_FILE, as JSON."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.long import parameters, sample_of

DATABASES = ("sqlite", "postgresql")


def databases_of(item: pytest.Item) -> set[str]:
    """The databases that a test works on, as its fixtures tell."""
    found = set()
    if (database := parameters(item).get("database")) in DATABASES:
        found.add(database)
    if {"private_postgres", "pair"}.intersection(getattr(item, "fixturenames", ())):
        found.add("postgresql")
    return found


def proofs(item: pytest.Item) -> Iterator[tuple[str, str]]:
    """Pairs of promise and database. What is skipped, expected to fail, or left out of some runs proves nothing."""
    sample = sample_of(item)
    if any(map(item.get_closest_marker, ("skip", "xfail"))) or sample in (0, 1):
        return
    for marker in item.iter_markers("promise"):
        named = marker.kwargs.get("on")
        on = databases_of(item) if named is None else {named} if isinstance(named, str) else set(named)
        for promise in marker.args:
            for name in sorted(on) or [""]:
                yield promise, name


FOUND = pytest.StashKey[list[tuple[str, str, str]]]()
"""What a session that has collected all tests says of itself, those included that it does not run."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before anything is deselected."""
    found = [(promise, name, item.nodeid) for item in items for promise, name in proofs(item)]
    everything = [config.rootpath / path for path in config.getini("testpaths")]
    if [config.invocation_params.dir / path for path in config.args] == everything:
        config.stash[FOUND] = found
    if "PROMISES_FILE" in os.environ:
        Path(os.environ["PROMISES_FILE"]).write_text(json.dumps(found))
