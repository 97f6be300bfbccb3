"""The page by itself, for ``jobrunner web``: closed to everyone who has not the link that the command prints."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection
from dataclasses import replace
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import parse_qs

from jobrunner import clock
from jobrunner.web.core import Web, trouble
from jobrunner.web.guard import HEADERS
from jobrunner.web.messages import Request, Response
from jobrunner.web.visitors import Visitor

LONGEST_SESSION_SECONDS = 12 * 3600
_MOST_SESSIONS = 100
_OWN_NAMES = ("localhost", "127.0.0.1", "::1")


class Place(NamedTuple):
    """Where the page is: its port, the names that it answers to beside those of this host, and ``prefix``, the path
    that a proxy in front may leave before ours.
    """

    port: int
    names: Collection[str] = ()
    prefix: str = ""


class Standalone:
    """Answers to the names of its place only, and knows its visitor by a cookie.

    The cookie is given for a token that is good for one time. ``announce`` is told each new token: the first one, and
    the next one when a browser has used it.
    """

    def __init__(self, web: Web, visitor: Visitor, announce: Callable[[str], None], place: Place) -> None:
        self._web = web
        self._visitor = visitor
        self._announce = announce
        self._names = {name.lower() for name in (*_OWN_NAMES, *place.names)}
        self._prefix = place.prefix.rstrip("/")
        # Cookies are those of a host, whatever its port.
        self._cookie = f"jobrunner_{place.port}"
        self._token = ""
        self._sessions: dict[bytes, float] = {}
        self._renew()

    def respond(self, request: Request) -> Response:
        """Answer one request."""
        request = replace(request, path=_below(request.path, self._prefix), mount=self._prefix or request.mount)
        if _name_in(request.headers.get("host", "")) not in self._names:
            # A page of another site can have its name lead here, and then it reads what we answer.
            return trouble(request, 403, "This page answers only to the names of its own host, and to --allow-host.")
        if request.method == "GET" and request.path == "/":
            given = parse_qs(request.query).get("token", [""])[0]
            if given and hmac.compare_digest(given.encode(), self._token.encode()):
                return self._sign_in(request)
        if self._is_signed_in(request):
            request = replace(request, visitor=self._visitor)
        elif not request.path.startswith("/static/"):
            return trouble(request, 403, "You are not signed in. Open the link that `jobrunner web` has printed last.")
        return self._web.respond(request)

    def _sign_in(self, request: Request) -> Response:
        secret = secrets.token_urlsafe(32)
        while len(self._sessions) >= _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[_digest(secret)] = clock.elapsed()
        self._renew()
        # Without a path: the browser takes the folder of the address as it sees it, also behind a proxy.
        cookie = f"{self._cookie}={secret}; HttpOnly; SameSite=Strict; Max-Age={LONGEST_SESSION_SECONDS}"
        if request.scheme == "https":
            cookie += "; Secure"
        return Response(303, (*HEADERS, ("Location", "./"), ("Set-Cookie", cookie), ("Cache-Control", "no-store")), b"")

    def _is_signed_in(self, request: Request) -> bool:
        try:
            found = SimpleCookie(request.headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        began_at = None if found is None else self._sessions.get(_digest(found.value))
        return began_at is not None and clock.elapsed() - began_at < LONGEST_SESSION_SECONDS

    def _renew(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._announce(self._token)


def _digest(secret: str) -> bytes:
    # Looked up by its hash: the time of the search says nothing about a secret.
    return hashlib.sha256(secret.encode()).digest()


def _name_in(host: str) -> str:
    """The name in a header Host, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _below(path: str, prefix: str) -> str:
    return path[len(prefix) :] if prefix and (path == prefix or path.startswith(f"{prefix}/")) else path
