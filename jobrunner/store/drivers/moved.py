"""The mark of a database that was moved to another one, or into which another one is moved: no program uses it."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from jobrunner.errors import DatabaseMoved
from jobrunner.store.sql.namespace import MARK
from jobrunner.store.sql.statement import Row
from jobrunner.store.sql.versions import MOVED_CODE

MARKED = f"SELECT moved, oldest_code FROM {MARK}.job_state"  # noqa: S608 - our own words


class Mark(NamedTuple):
    """What ``job_state.moved`` holds. ``other`` is the other database, by its name for people, without a password.

    Both databases of a move have its ``token``. ``table`` and ``after``, in that which is filled: the last row that is
    there.
    """

    role: Literal["from", "to"]
    token: str
    other: str
    is_done: bool = False
    table: str = ""
    after: tuple[Any, ...] = ()

    def written(self) -> str:
        """The text that is stored."""
        return json.dumps(self._asdict())


def read_mark(text: str | None) -> Mark | None:
    """The mark of this text. None: there is no move."""
    if text is None:
        return None
    found = Mark(**json.loads(text))
    return found._replace(after=tuple(found.after))


def refusal(row: Row, label: str) -> DatabaseMoved | None:
    """The error for the user of a database with this row of ``MARKED``, unless programs may use it.

    ``label`` is its name, or "" if it is not known here.
    """
    mark = read_mark(row.moved) if row.oldest_code == MOVED_CODE else None
    if mark is None:
        return None
    named = f"the database {label}".strip()
    if mark.role == "to":
        return DatabaseMoved(f"{named} is not complete yet: jobrunner move fills it from {mark.other}")
    if mark.is_done:
        return DatabaseMoved(f"{named} was moved to {mark.other}; set JOBRUNNER_DATABASE_URL to that")
    return DatabaseMoved(
        f"{named} is being moved to {mark.other}; wait for its end, call jobrunner move again if it was stopped, or"
        " give it up: jobrunner move --undo"
    )
