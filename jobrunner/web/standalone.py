"""The dashboard by itself, for ``jobrunner web``: closed to everybody who does not sign in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from jobrunner.web.addresses import Address, scheme_of
from jobrunner.web.core import Web, trouble
from jobrunner.web.guard import HEADERS, SAFE_METHODS
from jobrunner.web.messages import Request, Response
from jobrunner.web.sign_in import SignIn

_OWN_NAMES = ("localhost", "127.0.0.1", "::1")


class Place(NamedTuple):
    """Where the dashboard is: the names that it answers to beside those of this host, ``prefix``, the path that a proxy
    in front may leave before ours, and the ``proxies`` whose headers are believed. ``has_metrics``: /metrics is open.
    """

    names: Collection[str] = ()
    prefix: str = ""
    proxies: Collection[Address] = ()
    has_metrics: bool = False


class Standalone:
    """Answers to the names of its place only, and to who has signed in."""

    def __init__(self, web: Web, sign_in: SignIn, place: Place) -> None:
        self._web = web
        self._sign_in = sign_in
        self._names = {name.lower() for name in (*_OWN_NAMES, *place.names)}
        self._prefix = place.prefix.rstrip("/")
        self._proxies = place.proxies
        self._has_metrics = place.has_metrics

    def respond(self, request: Request) -> Response:
        """Answer one request."""
        path, mount = _below(request.path, self._prefix), self._prefix or request.mount
        request = replace(request, path=path, mount=mount, scheme=scheme_of(request, self._proxies))
        is_safe = request.method in SAFE_METHODS
        if is_safe and path == "/healthz":
            # For a monitor, which may know only the address. It tells nothing.
            headers = (("Content-Type", "text/plain; charset=utf-8"), *HEADERS)
            return Response(200, headers, b"ok\n" if request.method == "GET" else b"")
        if _name_in(request.headers.get("host", "")) not in self._names:
            # A page of another site can have its name lead here, and then it reads what we answer.
            return trouble(request, 403, "This page answers only to the names of its own host, and to --allow-host.")
        if is_safe and self._has_metrics and path == "/metrics":
            return self._web.metrics(request)
        found = self._sign_in.enter(request)
        return found if isinstance(found, Response) else self._web.respond(found)


def _name_in(host: str) -> str:
    """The name in a header Host, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _below(path: str, prefix: str) -> str:
    return path[len(prefix) :] if prefix and (path == prefix or path.startswith(f"{prefix}/")) else path
