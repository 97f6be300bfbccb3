"""Which promises the tests prove on which database: collected into the file named in PROMISES_FILE, as JSON."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

DATABASES = ("sqlite", "postgresql")


def databases_of(item: pytest.Item) -> set[str]:
    """The databases that a test works on, as its fixtures tell."""
    found = set()
    callspec = getattr(item, "callspec", None)
    if callspec is not None and callspec.params.get("database") in DATABASES:
        found.add(callspec.params["database"])
    if "private_postgres" in getattr(item, "fixturenames", ()):
        found.add("postgresql")
    return found


def proofs(item: pytest.Item) -> Iterator[tuple[str, str]]:
    """Pairs of promise and database. A test that is skipped or expected to fail proves nothing."""
    if item.get_closest_marker("skip") or item.get_closest_marker("xfail"):
        return
    for marker in item.iter_markers("promise"):
        named = marker.kwargs.get("on")
        on = databases_of(item) if named is None else {named} if isinstance(named, str) else set(named)
        for promise in marker.args:
            for name in sorted(on) or [""]:
                yield promise, name


def pytest_collection_finish(session: pytest.Session) -> None:
    if "PROMISES_FILE" not in os.environ:
        return
    found = [[promise, name, item.nodeid] for item in session.items for promise, name in proofs(item)]
    Path(os.environ["PROMISES_FILE"]).write_text(json.dumps(found))
