"""What is asked from Python, each question as a call and as the command that prints the same."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

from sqlalchemy import create_engine

from harness.commands import Commands
from harness.connections import opened as opened_by_driver
from harness.connections import sqlalchemy_url
from harness.database import Database
from harness.django_connection import django_connection
from harness.kit import opened
from jobrunner import ask

Opening = Callable[[Database], AbstractContextManager[Any]]
_AGE = re.compile(r"\b(?:\d+[dhms])+\b")
_OF_THE_INSTANT = {"at", "oldest_due_seconds"}


class Asked:
    """A question: the function of ``ask`` with its arguments, and the words of the command."""

    def __init__(self, name: str, words: str, *arguments: Any, **options: Any) -> None:
        self.name, self.words, self.arguments, self.options = name, words, arguments, options

    def of(self, connection: Any) -> Any:
        return getattr(ask, self.name)(connection, *self.arguments, **self.options)

    async def of_async(self, connection: Any) -> Any:
        return await getattr(ask, f"{self.name}_async")(connection, *self.arguments, **self.options)

    def printed(self, jobrunner: Commands) -> Any:
        found = json.loads(jobrunner(*self.words.split(), "--json", check=False).stdout)
        if self.name == "status":
            # Which types its host has no handler for: a process that asks need have none.
            found["unknown_types"] = []
        return found["runs"] if self.name == "counts" else found


def questions(run: int, schedule: str) -> list[Asked]:
    """Each function of ``ask``, and all that its options change."""
    return [
        Asked("counts", "status"),
        Asked("status", "status"),
        Asked("run", f"show {run}", run),
        Asked("runs", "runs"),
        Asked("runs", "runs --limit 2 --before 2000010", limit=2, before=2000010),
        Asked(
            "runs",
            "runs --status queued --status failed --type known --type free --waiting-for tick",
            status=["queued", "failed"],
            job_type=("known", "free"),
            waiting_for="tick",
        ),
        Asked("runs", f"runs --schedule {schedule} --concurrency-key k", schedule=schedule, concurrency_key="k"),
        Asked("runs", "runs --error-like no_such --key k", error_like="no_such", key="k"),
        Asked("explain", f"explain {run}", run),
        Asked("explain", f"explain {schedule}", schedule),
        Asked("explain", "explain known", "known"),
        Asked("health", "health"),
    ]


def timeless(value: Any) -> Any:
    """An answer without what another instant changes in it."""
    if isinstance(value, dict):
        return {name: timeless(each) for name, each in value.items() if name not in _OF_THE_INSTANT}
    if isinstance(value, list):
        return [timeless(each) for each in value]
    return _AGE.sub("AGE", value) if isinstance(value, str) else value


def _of_kit(kind: str) -> Opening:
    return lambda database: opened(kind, database)


@contextmanager
def _autocommit_of_driver(database: Database) -> Iterator[Any]:
    with closing(opened_by_driver(database)) as connection:
        if database.name == "sqlite":
            connection.isolation_level = None
        else:
            connection.autocommit = True
        yield connection


@contextmanager
def _autocommit_of_engine(database: Database) -> Iterator[Any]:
    engine = create_engine(sqlalchemy_url(database), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


KINDS: dict[str, Opening] = {
    **{kind: _of_kit(kind) for kind in ("driver", "engine", "session")},
    "driver in autocommit": _autocommit_of_driver,
    "engine in autocommit": _autocommit_of_engine,
    "django": django_connection,
}
"""The ways in which an application opens a connection without await."""
