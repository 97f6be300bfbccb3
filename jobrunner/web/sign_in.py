"""The three ways to sign in to ``jobrunner web``: a link, a name with a password, and the word of a proxy."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Generic, Protocol, TypeVar
from urllib.parse import parse_qs

from jobrunner import clock
from jobrunner.errors import ConfigurationError
from jobrunner.log import Log
from jobrunner.web.addresses import Address, WrongTries, address, origin_of
from jobrunner.web.call import Page
from jobrunner.web.core import for_nobody, root_of, trouble
from jobrunner.web.guard import HEADERS, SAFE_METHODS, foreign
from jobrunner.web.messages import Request, Response, cookies_of
from jobrunner.web.permissions import READ_ONLY, Verb, Visitor
from jobrunner.web.users import LONGEST_PASSWORD, People, Person, UserFile

T = TypeVar("T")
LONGEST_SESSION_SECONDS = 12 * 3600
_MOST_SESSIONS = 100
_MOST_HASHED_AT_ONCE = 2
_LONGEST_FORM = 8 * 1024
_LONGEST_NAME = 100
_NOT_STORED = ("Cache-Control", "no-store")


class SignIn(Protocol):
    """Lets people in."""

    def enter(self, request: Request) -> Request | Response:
        """The request with its visitor, or what is answered instead."""


class Sessions(Generic[T]):
    """Knows by a cookie who has signed in."""

    def __init__(self, port: int) -> None:
        # Cookies are those of a host, whatever its port.
        self._name = f"jobrunner_{port}"
        self._found: dict[bytes, tuple[float, T]] = {}

    def begin(self, request: Request, visitor: T) -> Response:
        """Give this browser a cookie, and lead it to the first page."""
        secret = secrets.token_urlsafe(32)
        while len(self._found) >= _MOST_SESSIONS:
            del self._found[next(iter(self._found))]
        self._found[_digest(secret)] = clock.elapsed(), visitor
        return self._sent(request, secret, LONGEST_SESSION_SECONDS)

    def end(self, request: Request) -> Response:
        """Forget this browser."""
        self.forget(request)
        return self._sent(request, "", 0)

    def visitor_of(self, request: Request) -> T | None:
        """Who sends this request."""
        began_at, visitor = self._found.get(_digest(self._secret_of(request)), (0.0, None))
        return visitor if clock.elapsed() - began_at < LONGEST_SESSION_SECONDS else None

    def forget(self, request: Request) -> None:
        """End the session of this request."""
        self._found.pop(_digest(self._secret_of(request)), None)

    def _secret_of(self, request: Request) -> str:
        return cookies_of(request).get(self._name, "")

    def _sent(self, request: Request, secret: str, seconds: int) -> Response:
        # Without a path: the browser takes the folder of the address as it sees it, also behind a proxy.
        cookie = f"{self._name}={secret}; HttpOnly; SameSite=Strict; Max-Age={seconds}"
        if request.scheme == "https":
            cookie += "; Secure"
        return Response(303, (*HEADERS, ("Location", "./"), ("Set-Cookie", cookie), _NOT_STORED), b"")


class LinkSignIn:
    """Opens for a token that is good for one time. ``announce`` is told each new token."""

    def __init__(self, visitor: Visitor, announce: Callable[[str], None], port: int) -> None:
        self._visitor = visitor
        self._announce = announce
        self._sessions = Sessions[Visitor](port)
        self._token = ""
        self._renew()

    def enter(self, request: Request) -> Request | Response:
        """See SignIn."""
        if request.method == "GET" and request.path == "/":
            given = parse_qs(request.query).get("token", [""])[0]
            if given and hmac.compare_digest(given.encode(), self._token.encode()):
                self._renew()
                return self._sessions.begin(request, self._visitor)
        visitor = self._sessions.visitor_of(request)
        if visitor is None and not request.path.startswith("/static/"):
            return trouble(request, 403, "You are not signed in. Open the link that `jobrunner web` has printed last.")
        return replace(request, visitor=visitor)

    def _renew(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._announce(self._token)


class PasswordSignIn:
    """Opens for the people who are in a user file now. With ``is_read_only`` all of them may only look.

    ``elapsed`` is the clock by which those wait who have given wrong passwords.
    """

    def __init__(
        self,
        file: UserFile,
        port: int,
        proxies: Collection[Address],
        log: Log,
        *,
        is_read_only: bool,
        elapsed: Callable[[], float] = clock.elapsed,
    ) -> None:
        self._file = file
        self._sessions = Sessions[Person](port)
        self._proxies = proxies
        self._log = log
        self._problem = ""
        self._is_read_only = is_read_only
        self._tries = WrongTries(elapsed)
        # A try takes some tenths of a second of a processor. Those who ask for more at once are refused at once.
        self._places = threading.BoundedSemaphore(_MOST_HASHED_AT_ONCE)

    def enter(self, request: Request) -> Request | Response:
        """See SignIn."""
        if not request.path or request.path.startswith("/static/"):
            return request
        try:
            people = self._file.people()
        except ConfigurationError as error:
            return self._closed(request, str(error))
        self._problem = ""
        if request.path == "/login":
            return self._sign_in(request, people)
        person = self._sessions.visitor_of(request)
        if person is not None and not people.has(person):
            # Taken out of the file, or with another password or role.
            self._sessions.forget(request)
            person = None
        if person is not None:
            if request.path == "/logout" and request.method == "POST" and foreign(request) is None:
                return self._sessions.end(request)
            verbs = person.visitor.verbs & READ_ONLY if self._is_read_only else person.visitor.verbs
            return replace(request, visitor=Visitor(person.visitor.name, verbs), can_sign_out=True)
        if request.method in SAFE_METHODS and "format=json" not in request.query.split("&"):
            return Response(303, (*HEADERS, ("Location", f"{root_of(request.path)}login"), _NOT_STORED))
        return trouble(request, 403, "You are not signed in.")

    def _closed(self, request: Request, problem: str) -> Response:
        if problem != self._problem:
            # Once, and not for each request.
            self._log.error("the user file cannot be used", error=problem)
            self._problem = problem
        return trouble(
            request, 503, "The user file cannot be used, so nobody is let in. The log of the server says why."
        )

    def _sign_in(self, request: Request, people: People) -> Response:
        if request.method in SAFE_METHODS:
            return _form(request, 200)
        if (reason := foreign(request)) is not None:
            return trouble(request, 403, f"This was not done: {reason}.")
        if len(request.body) > _LONGEST_FORM:
            return trouble(request, 413, f"The form may have at most {_LONGEST_FORM} bytes.")
        name, password = (_field(request, each) for each in ("name", "password"))
        origin = origin_of(request, self._proxies)
        if (left := self._tries.begin(origin)) > 0:
            seconds = int(left) + 1
            found = _form(request, 429, f"Too many wrong tries from your address. Try again in {seconds} s.")
            return Response(429, (*found.headers, ("Retry-After", str(seconds))), found.body)
        if not self._places.acquire(blocking=False):
            self._tries.take_back(origin)
            return _form(request, 503, "Others sign in at this moment. Try again.")
        try:
            person = people.find(name, password[:LONGEST_PASSWORD])
        finally:
            self._places.release()
        if person is None:
            # What is no name of ours may be a password, typed into the wrong field.
            told = name if people.knows(name) else "(unknown)"
            self._log.warning("wrong password", name=told, address=origin)
            return _form(request, 403, "The name or the password is wrong.")
        self._tries.take_back(origin)
        return self._sessions.begin(request, person)


class ProxySignIn:
    """Opens for whom a proxy names in a header, and for nobody who comes past the proxy."""

    def __init__(self, header: str, proxies: Collection[Address], verbs: frozenset[Verb]) -> None:
        self._header = header
        self._proxies = proxies
        self._verbs = verbs

    def enter(self, request: Request) -> Request | Response:
        """See SignIn."""
        if address(request.peer) not in self._proxies:
            return trouble(request, 403, "This page answers only to its proxy, the one that --proxy names.")
        name = request.headers.get(self._header.lower(), "").strip()
        # A header that comes twice has a comma: one of both is the visitor's own.
        if not name or "," in name or len(name) > _LONGEST_NAME or not name.isprintable():
            return trouble(request, 403, f"The proxy has not said who you are: {self._header} has no name.")
        return replace(request, visitor=Visitor(name, self._verbs))


def _form(request: Request, status: int, text: str = "") -> Response:
    return for_nobody(request, Page("login.html", {"text": text}, {"error": text or "sign in"}, status))


def _field(request: Request, name: str) -> str:
    return parse_qs(request.body.decode("utf-8", "replace")).get(name, [""])[0]


def _digest(secret: str) -> bytes:
    # Looked up by its hash: the time of the search says nothing about a secret.
    return hashlib.sha256(secret.encode()).digest()
