"""The dashboard without a framework: ``Web.respond`` answers each request. Only it decides who may do what."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from jobrunner import clock
from jobrunner.admin.new_payload import Check
from jobrunner.errors import ConfigurationError, DatabaseUnavailable, JobrunnerError, NotFoundError, UsageError
from jobrunner.masking.shapes import without_secrets
from jobrunner.store.drivers.location import Location
from jobrunner.store.drivers.waits import Waits
from jobrunner.text import first_line_of, one_line
from jobrunner.web import parts, rendering
from jobrunner.web.access import READING, Access
from jobrunner.web.call import Answer, Call, Download, NotFound, Page, Recent, Redirect, Typed
from jobrunner.web.guard import HEADERS, SAFE_METHODS, foreign
from jobrunner.web.masking import Masks
from jobrunner.web.messages import LONGEST_BODY, Request, Response
from jobrunner.web.pages.payload import check_here
from jobrunner.web.permissions import Verb, Visitor
from jobrunner.web.routes import PAGES, Found, Route, find
from jobrunner.web.zones import zone_of
from jobrunner.worker import metrics

_SHARED_SECONDS = 2.0
_REFRESHED_SECONDS = 5
"""So often a browser asks for a page again, unless the page says another time."""
_FORM = "application/x-www-form-urlencoded"
_NOT_STORED = ("Cache-Control", "no-store")
_KEPT = ("Cache-Control", "private, max-age=31536000, immutable")
_SHOWN_AT = re.compile(rb'<time datetime="([^"]*)"[^>]*>([^<]*)</time>')
_log = logging.getLogger("jobrunner.web")


class Web:
    """The dashboard of one database. ``find`` gives the database's place at the first request. Any thread may call it.

    ``reading``: how long a page may read. ``check`` raises if a handler cannot take a payload.
    """

    def __init__(
        self,
        find: Callable[[], Location],
        redact: Collection[str] = (),
        *,
        reading: Waits = READING,
        check: Check = check_here,
    ) -> None:
        self._access = Access(find, reading)
        self._masks = Masks(redact)
        self._check = check
        self._recent = Recent(clock.elapsed, _SHARED_SECONDS)

    def respond(self, request: Request) -> Response:
        """Answer one request. It raises nothing: an unexpected error is logged, and is a page of its own."""
        return self._safely(request, self._respond)

    def metrics(self, request: Request) -> Response:
        """The numbers for Prometheus, whoever asks. They are read once in two seconds."""
        return self._safely(request, self._metrics)

    def _safely(self, request: Request, respond: Callable[[Request], Response]) -> Response:
        try:
            answer = respond(request)
        except Exception as error:  # noqa: BLE001 - the server and the application go on
            # Without the text of the error beyond its first line: a driver may quote a row in it.
            stack = "".join(traceback.format_tb(error.__traceback__))
            _log.error("the page failed: %s\n%s", without_secrets(first_line_of(error)), stack)
            answer = trouble(request, 500, "An internal error of the dashboard. The log of the server says where.")
        return answer if request.method != "HEAD" else Response(answer.status, answer.headers)

    def _respond(self, request: Request) -> Response:
        if (static := _static(request)) is not None:
            return static
        if not request.path:
            # Relative links need the slash at the end.
            here = request.mount.rstrip("/").rpartition("/")[2]
            return Response(308, (*HEADERS, ("Location", f"{quote(here)}/" if here else "./")))
        found = find(request.method, request.path)
        if isinstance(found, tuple):
            return _refused_method(request, found)
        if request.visitor is None:
            return trouble(request, 403, "You are not signed in, or may not see this page.")
        if found is None:
            return trouble(request, 404, "There is no such page.")
        if found.route.verb not in request.visitor.verbs:
            return trouble(request, 403, f"You may look at this page, but not {found.route.verb}.")
        if (reason := foreign(request)) is not None:
            return trouble(request, 403, f"This was not done: {reason}.")
        if (refused := _refused_body(request)) is not None:
            return refused
        return self._answered(request, request.visitor, found)

    def _metrics(self, request: Request) -> Response:
        try:
            found = self._recent.get("metrics", lambda: self._access.read(metrics.of_everything))
        except (DatabaseUnavailable, ConfigurationError) as error:
            return trouble(request, 503, f"{error}.")
        return _made(200, "text/plain; version=0.0.4; charset=utf-8", found.encode(), _NOT_STORED)

    def _answered(self, request: Request, visitor: Visitor, found: Found) -> Response:
        call = Call(request, visitor, found.names, self._access, self._masks, self._recent, self._check)
        try:
            return _sent(request, _viewed(call, found.route), visitor, call.verbs)
        except (NotFound, NotFoundError) as error:
            return trouble(request, 404, f"Not found: {error}.")
        except UsageError as error:
            return trouble(request, 400, f"{error}.")
        except (DatabaseUnavailable, ConfigurationError) as error:
            return trouble(request, 503, f"{error}.")
        except JobrunnerError as error:
            return trouble(request, 409, f"{error}.")


def _viewed(call: Call, route: Route) -> Answer:
    try:
        return route.view(call)
    except UsageError as error:
        if route.form is None or call.wants_json:
            raise
        return _form_again(call, route, route.form, f"Not done: {error}.")


def _form_again(call: Call, route: Route, show: Callable[[Call], Page], problem: str) -> Page:
    """The page that has the form, with what was typed and why nothing was done. Its address is made of the fields."""
    query = urlencode({name: given for name, given in call.form_lists.items() if name != "format"}, doseq=True)
    page = show(replace(call, request=replace(call.request, query=query)))
    values = {**page.values, "problem": problem, "typed": Typed(route.verb, call.form_lists)}
    return replace(page, values=values, status=400)


def trouble(request: Request, status: int, text: str) -> Response:
    """A page that says why there is no other."""
    page = Page("trouble.html", {"text": one_line(text), "status": status}, {"error": one_line(text)}, status)
    return for_nobody(request, page)


def for_nobody(request: Request, page: Page) -> Response:
    """A page that offers nothing to do."""
    return _sent(request, page, request.visitor, frozenset())


def _sent(request: Request, answer: Answer, visitor: Visitor | None, verbs: Collection[Verb]) -> Response:
    if isinstance(answer, Download):
        name = ("Content-Disposition", f'attachment; filename="{answer.name}"')
        shown = without_secrets(answer.text).encode("utf-8", "replace")
        return _made(200, "text/plain; charset=utf-8", shown, name, _NOT_STORED)
    is_json = ("format", "json") in _fields(request)
    if isinstance(answer, Redirect) and not is_json:
        kept = () if answer.cookie is None else (("Set-Cookie", answer.cookie),)
        return Response(303, (*HEADERS, ("Location", root_of(request.path) + answer.path), _NOT_STORED, *kept))
    if is_json:
        status = answer.status if isinstance(answer, Page) else 200
        return _made(status, "application/json", rendering.as_json(answer.data), _NOT_STORED)
    assert isinstance(answer, Page)
    body = rendering.html(answer.template, {**_common(request, visitor), "may": verbs, **answer.values})
    found = _made(answer.status, "text/html; charset=utf-8", body, _NOT_STORED)
    return _unless_known(request, found) if (answer.status, request.method) == (200, "GET") else found


def _unless_known(request: Request, page: Response) -> Response:
    """The page with its tag, or only "not modified" if the browser has it already.

    The time in the footer and ages such as "9s ago" are no change: ``live.js`` makes them anew from the instant.
    """
    content, _, footer = page.body.rpartition(b"<footer")
    digest = parts.digest(content)
    tag = f'"{digest[:32]}"'
    shown_at = _SHOWN_AT.search(footer)
    at, text = (each.decode() for each in shown_at.groups()) if shown_at else ("", "")
    more = (("ETag", tag), ("X-At", at), ("X-As-Of", text))
    # A proxy that compresses makes a weak tag of it.
    if request.headers.get("if-none-match", "").removeprefix("W/") == tag:
        return Response(304, (*HEADERS, _NOT_STORED, *more))
    have = request.headers.get("x-have")
    return Response(200, (*page.headers, *more), page.body if have is None else parts.changed(page.body, have))


def _fields(request: Request) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (each.partition("=") for each in request.query.split("&"))]


def _common(request: Request, visitor: Visitor | None) -> Mapping[str, Any]:
    return {
        "root": root_of(request.path),
        "pages": PAGES,
        "path": request.path,
        "visitor": visitor,
        "hidden": request.hidden,
        "zone": zone_of(request),
        "here": quote(_here(request), safe=""),
        "can_sign_out": request.can_sign_out,
        "at": None,
        "live": request.method == "GET",
        "refreshed_seconds": _REFRESHED_SECONDS,
        "problem": None,
        "typed": Typed(),
    }


def _here(request: Request) -> str:
    """The page below the mount, to come back to. A page that a form has made cannot be asked for again, and the one
    for the zone would name itself ever longer.
    """
    if request.method not in SAFE_METHODS or request.path == "/zone":
        return ""
    return request.path[1:] + (f"?{request.query}" if request.query else "")


def root_of(path: str) -> str:
    """The way from a page to where the dashboard is mounted. All links are relative: no proxy can break them."""
    return "../" * (path.count("/") - 1) or "./"


def _made(status: int, kind: str, body: bytes, *more: tuple[str, str]) -> Response:
    return Response(status, (("Content-Type", kind), *HEADERS, *more), body)


def _static(request: Request) -> Response | None:
    folder, _, name = request.path.rpartition("/")
    if folder != "/static" or name not in rendering.STATIC or request.method not in SAFE_METHODS:
        return None
    return _made(200, rendering.STATIC[name], rendering.static(name), _KEPT)


def _refused_method(request: Request, methods: Collection[str]) -> Response:
    refused = trouble(request, 405, f"{request.method[:20]} is not possible here.")
    return Response(405, (*refused.headers, ("Allow", ", ".join(sorted(methods)))), refused.body)


def _refused_body(request: Request) -> Response | None:
    if len(request.body) > LONGEST_BODY:
        return trouble(request, 413, f"A form may have at most {LONGEST_BODY} bytes.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.body and kind != _FORM:
        return trouble(request, 415, f"A form must be {_FORM}.")
    return None
