"""A request and a response, as all adapters translate them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobrunner.web.permissions import Visitor

LONGEST_BODY = 64 * 1024
"""Bytes. A form of the dashboard has a few words."""


@dataclass(frozen=True)
class Request:
    """A request. ``path`` is below where the dashboard is mounted, and the names of ``headers`` are lower-case.

    ``visitor`` None: nobody is signed in. ``hidden`` are the fields that the host's own protection against forged
    requests needs in each form. ``mount`` is the place where the dashboard is mounted, as far as the adapter knows it.
    ``peer`` is the address at the other end of the connection. ``can_sign_out``: there is a button for it.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    scheme: str = "http"
    visitor: Visitor | None = None
    hidden: Mapping[str, str] = field(default_factory=dict)
    mount: str = ""
    peer: str = ""
    can_sign_out: bool = False


@dataclass(frozen=True)
class Response:
    """A response. The adapter adds the length of the body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""


def joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers by their lower-case names. A header that comes twice has both values, so that neither is trusted."""
    found: dict[str, str] = {}
    for written, value in headers:
        name = written.lower()
        between = "; " if name == "cookie" else ", "
        found[name] = f"{found[name]}{between}{value}" if name in found else value
    return found


def cookies_of(request: Request) -> dict[str, str]:
    """The cookies by their names, split at ";" as frameworks do.

    All applications of a host share its cookies, whatever the port. One that no standard allows must not hide the
    others, as it does with ``http.cookies``. Of two with the same name the first one is that of the longer path.
    """
    found: dict[str, str] = {}
    for each in request.headers.get("cookie", "").split(";"):
        name, _, value = each.partition("=")
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] == '"':
            value = value[1:-1]
        found.setdefault(name.strip(), value)
    return found
