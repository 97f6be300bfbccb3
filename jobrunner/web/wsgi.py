"""The dashboard as a WSGI application, for every framework and server that speaks WSGI."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from http import HTTPStatus
from typing import Any

from jobrunner.web.core import Web
from jobrunner.web.database import database_of
from jobrunner.web.messages import LONGEST_BODY, Request, joined
from jobrunner.web.permissions import Visitor

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


def page(
    who: Callable[[Environ], Visitor | None], *, database_url: str | None = None, redact: Collection[str] = ()
) -> Application:
    """The dashboard as an application. ``who`` says who is signed in; None: the request is refused.

    ``database_url`` None: the database that the environment names. ``redact``: more names in payloads whose values are
    secrets.
    """
    web = Web(database_of(database_url), redact)

    def application(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        response = web.respond(_read(environ, who(environ)))
        headers = [*response.headers, ("Content-Length", str(len(response.body)))]
        start_response(f"{response.status} {HTTPStatus(response.status).phrase}", headers)
        return [response.body]

    return application


def _read(environ: Environ, visitor: Visitor | None) -> Request:
    names = ((name, str(value)) for name, value in environ.items() if name.startswith("HTTP_"))
    headers = joined((name.removeprefix("HTTP_").replace("_", "-"), value) for name, value in names)
    if environ.get("CONTENT_TYPE"):
        headers["content-type"] = environ["CONTENT_TYPE"]
    length = environ.get("CONTENT_LENGTH") or "0"
    size = min(int(length), LONGEST_BODY + 1) if length.isdecimal() else 0
    return Request(
        method=environ["REQUEST_METHOD"],
        path=_text(environ.get("PATH_INFO", "")),
        query=environ.get("QUERY_STRING", ""),
        headers=headers,
        body=environ["wsgi.input"].read(size) if size else b"",
        scheme=environ.get("wsgi.url_scheme", "http"),
        visitor=visitor,
        mount=_text(environ.get("SCRIPT_NAME", "")),
    )


def _text(value: str) -> str:
    """A path: WSGI has its bytes as Latin-1."""
    return value.encode("latin-1").decode("utf-8", "replace")
