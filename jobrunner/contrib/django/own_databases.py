"""The databases of a test, in the processes that it starts: Django's settings name the real ones there.

A test runner renames the databases in its own process only. What it has made of each is told to the child, which puts
it into its settings before a connection is made. Any other database is closed for the child.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from jobrunner.store.sql.traits import databases

_PLACE = ("NAME", "USER", "PASSWORD", "HOST", "PORT")


def is_testing() -> bool:
    """Whether a test runner of Django is at work in this process."""
    # Not imported here: the runner has done so.
    state = getattr(sys.modules.get("django.test.utils"), "_TestState", None)
    return hasattr(state, "saved_data")


def to_tell() -> dict[str, Any]:
    """What a child must know of the databases of this process: where each is, or a text that says why it is closed."""
    places = {alias: _place_of(connections[alias]) for alias in connections}
    return {"databases": places, "is_testing": is_testing(), "debug": bool(settings.DEBUG)}


def in_memory() -> str | None:
    """Why a child could not do what this process does: a database that it may use is in memory. None: nothing is."""
    for alias in connections:
        each = connections[alias]
        if not _is_forbidden(each) and _is_in_memory(each):
            return _memory(alias)
    return None


def _place_of(connection: Any) -> dict[str, str] | str:
    alias = connection.alias
    if _is_forbidden(connection):
        return f"DATABASES[{alias!r}] is closed, because the class of the test does not name it in its databases"
    if _is_in_memory(connection):
        return _memory(alias)
    place = {name: str(connection.settings_dict.get(name) or "") for name in _PLACE}
    if connection.vendor in databases(has_server=False) and not place["NAME"].startswith("file:"):
        place["NAME"] = str(Path(place["NAME"]).absolute())
    return place


def _is_forbidden(connection: Any) -> bool:
    # What Django's test cases put in the place of the method, if the test may not use the database.
    return hasattr(connection.connect, "wrapped")


def _is_in_memory(connection: Any) -> bool:
    return connection.vendor in databases(has_server=False) and bool(connection.is_in_memory_db())


def _memory(alias: str) -> str:
    return (
        f"DATABASES[{alias!r}] is in memory, where no other process can see it; use drain(), or give it a file:"
        ' "TEST": {"NAME": ...}'
    )


def take_over(told: dict[str, Any], alias_of_runs: str) -> list[str]:
    """Let Django open the databases of the test that has started this process, and no others. Returns their aliases.

    Raises ImproperlyConfigured if the database with the runs is not one of a test: then no run may be begun.
    """
    closed: dict[str, str] = {}
    for alias in connections:
        own = connections[alias].settings_dict
        given = told["databases"].get(alias, f"DATABASES[{alias!r}] is closed, because the test does not know it")
        if isinstance(given, dict) and told["is_testing"] and _is_real(connections[alias], given):
            given = (
                f"DATABASES[{alias!r}] is not a database of tests: no test runner has made it, and its TEST does not"
                " name it"
            )
        if isinstance(given, str):
            closed[alias] = given
        else:
            own.update(given)
    if alias_of_runs in closed:
        _refuse(closed[alias_of_runs])
    if closed:
        _close(closed)
    return [alias for alias in connections if alias not in closed]


def _is_real(connection: Any, given: dict[str, str]) -> bool:
    own = _place_of(connection)
    return own == given and str(connection.settings_dict["TEST"].get("NAME") or "") != connection.settings_dict["NAME"]


def _close(closed: dict[str, str]) -> None:
    open_it = BaseDatabaseWrapper.connect

    def connect(self: Any) -> None:
        if self.alias in closed:
            _refuse(closed[self.alias])
        open_it(self)

    BaseDatabaseWrapper.connect = connect


def _refuse(sentence: str) -> NoReturn:
    from jobrunner.testing.own_databases import note_refusal

    note_refusal(sentence)
    raise ImproperlyConfigured(sentence)


def be_in_a_test(told: dict[str, Any]) -> None:
    """Do in this process what a test runner does before tests: mails are not sent."""
    if told["is_testing"] and not is_testing():
        from django.test.utils import setup_test_environment

        setup_test_environment(debug=told["debug"])
