"""The name of the database that a caller's connection leads to, for people, as far as its driver tells it."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

from jobrunner.store.callers.asking import Question


class _Place(NamedTuple):
    user: str
    host: str
    port: object
    name: str


def name_of_database(question: Question) -> str:
    """The name in the form of ``Location.label``, without the password."""
    if not question.traits.has_server:
        files = (str(row.file) for row in question.execute("PRAGMA database_list") if row.name == "main")
        return f"sqlite:///{next(files, '')}"
    place = _place(question.driver)
    if place is None:
        found = question.execute("SELECT CAST(current_database() AS text) AS name").scalar_one()
        label = f"postgresql:///{found}"
    else:
        # A folder of sockets stands in no such name.
        host = "" if place.host.startswith("/") else place.host
        at = f"{quote(place.user, safe=' +')}@{host}{f':{place.port}' if host and place.port else ''}"
        label = f"postgresql://{at}/{place.name}"
    return label if question.schema is None else f"{label} (schema {question.schema})"


def _place(driver: Any) -> _Place | None:
    """Where a driver is connected to. None: it does not tell."""
    info, given = getattr(driver, "info", None), getattr(driver, "_params", None)
    if info is not None:
        return _Place(info.user, info.host or "", info.port, info.dbname)
    address = getattr(driver, "_addr", None)
    if given is None or address is None:
        return None
    host, port = address if isinstance(address, tuple) else ("", None)
    return _Place(given.user, host, port, given.database)
