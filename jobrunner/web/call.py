"""One request on its way to its page: what the page may read, write and answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from jobrunner.admin.new_payload import Check
from jobrunner.errors import UsageError
from jobrunner.model import Actor
from jobrunner.store.drivers.connection import Connection
from jobrunner.text import one_line
from jobrunner.web.access import Access
from jobrunner.web.masking import Known, Masks
from jobrunner.web.messages import Request
from jobrunner.web.permissions import READ_ONLY, Verb, Visitor
from jobrunner.web.zones import zone_of

T = TypeVar("T")
_MOST_FIELDS = 150


@dataclass(frozen=True)
class Page:
    """HTML from a template, or with ``?format=json`` the ``data``. ``at`` is the database's clock."""

    template: str
    values: Mapping[str, Any]
    data: object = None
    status: int = 200


@dataclass(frozen=True)
class Redirect:
    """To another page, after a change. ``path`` is below the mount, without a slash in front.

    ``cookie`` is what the browser is to keep.
    """

    path: str
    data: object = None
    cookie: str | None = None


@dataclass(frozen=True)
class Download:
    """A text as it is, for a file of this name."""

    text: str
    name: str


Answer = Page | Redirect | Download


@dataclass(frozen=True)
class Typed:
    """What was typed into the form of a verb that was refused; empty if nothing was. The page shows it again."""

    verb: Verb | None = None
    fields: Mapping[str, list[str]] = field(default_factory=dict)

    def all(self, name: str, *verbs: Verb) -> list[str]:
        """The texts of a field of the form of these verbs. Without verbs the page has one form for all."""
        return self.fields.get(name, []) if not verbs or self.verb in verbs else []

    def first(self, name: str, *verbs: Verb) -> str:
        """The text of a field that comes once, as ``all``."""
        return next(iter(self.all(name, *verbs)), "")


class NotFound(Exception):
    """There is no such page, or no such row. The text says which."""


@dataclass(frozen=True)
class Call:
    """A request whose visitor may make it. ``names`` are the parts of the path that its route names.

    ``check`` raises if a handler cannot take a payload, as far as the application knows.
    """

    request: Request
    visitor: Visitor
    names: Mapping[str, str]
    access: Access
    masks: Masks
    recent: Recent = field(repr=False)
    check: Check | None = None

    @cached_property
    def query(self) -> dict[str, str]:
        """The parameters of the address. Raises UsageError."""
        return dict(_parsed(self.request.query))

    @cached_property
    def lists(self) -> dict[str, list[str]]:
        """The same, with each value of a parameter that comes several times."""
        found: dict[str, list[str]] = {}
        for name, value in _parsed(self.request.query):
            found.setdefault(name, []).append(value)
        return found

    @cached_property
    def form(self) -> dict[str, str]:
        """The fields of the form. Raises UsageError."""
        return dict(_parsed(self.request.body.decode("utf-8", "replace")))

    @cached_property
    def form_lists(self) -> dict[str, list[str]]:
        """The same, with each value of a field that comes several times."""
        found: dict[str, list[str]] = {}
        for name, value in _parsed(self.request.body.decode("utf-8", "replace")):
            found.setdefault(name, []).append(value)
        return found

    @cached_property
    def zone(self) -> tzinfo:
        """The zone in which the visitor sees instants."""
        return zone_of(self.request)

    def number(self, name: str) -> int:
        """A part of the path that is a number. Raises NotFound."""
        text = self.names[name]
        if not (text.isascii() and text.isdecimal() and len(text) <= 18):
            raise NotFound(f"{text[:40]!r} is not a number")
        return int(text)

    @property
    def wants_json(self) -> bool:
        """Whether the answer is for a program. What is only shown need not be read."""
        return ("format", "json") in _parsed(self.request.query)

    @property
    def verbs(self) -> frozenset[Verb]:
        """What the visitor may do now: nothing but look while the database, as far as is known, is read-only."""
        return self.visitor.verbs if self.access.is_writable else self.visitor.verbs & READ_ONLY

    def read(self, work: Callable[[Connection], T]) -> tuple[datetime, T]:
        """The database's now, and what ``work`` reads in one transaction of at most two seconds, without secrets."""

        def both(connection: Connection) -> tuple[T, Known]:
            found = work(connection)
            return found, self.masks.known(connection, found)

        at, (found, known) = self.access.read_now(both)
        return at, self.masks.leaving(found, known)

    def write(self, work: Callable[[Connection], T]) -> T:
        """What ``work`` does in one transaction."""
        self.recent.forget()
        return self.access.write(work)

    @property
    def is_agreed(self) -> bool:
        """Whether the user has seen what would be changed, and wants it."""
        return self.form.get("agreed") == "yes"

    @property
    def actor(self) -> Actor:
        """Who does this, and the reason that the form gives, for the audit trail."""
        return Actor(f"{self.visitor.name} (page)", one_line(self.form.get("reason", "")) or None)


def _parsed(text: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise UsageError(f"a form or an address of the dashboard has at most {_MOST_FIELDS} fields") from None


class Recent:
    """What all viewers of a page share for some seconds, so that many of them cost no more than one."""

    def __init__(self, elapsed: Callable[[], float], seconds: float) -> None:
        self._elapsed = elapsed
        self._seconds = seconds
        self._found: dict[str, tuple[float, Any]] = {}

    def get(self, name: str, find: Callable[[], T]) -> T:
        """What was found less than some seconds ago, or else now."""
        at, value = self._found.get(name, (0.0, None))
        if value is None or self._elapsed() - at > self._seconds:
            at = self._elapsed()
            value = find()
            self._found[name] = (at, value)
        found: T = value
        return found

    def forget(self) -> None:
        """Let the next viewer see what was changed just now."""
        self._found.clear()
