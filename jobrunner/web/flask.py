"""The dashboard as a blueprint of Flask: ``app.register_blueprint(blueprint(who), url_prefix="/jobs")``."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from importlib import import_module
from urllib.parse import urlencode

from flask import Blueprint, Response, current_app, request

from jobrunner.contrib.flask import database_url as url_of_application
from jobrunner.web.core import Web
from jobrunner.web.database import database_of
from jobrunner.web.messages import LONGEST_BODY, Request, joined
from jobrunner.web.permissions import Visitor


def blueprint(
    who: Callable[[], Visitor | None],
    *,
    name: str = "jobrunner_page",
    database_url: str | None = None,
    redact: Collection[str] = (),
) -> Blueprint:
    """The dashboard. ``who`` is called in each request, and says who is signed in; None: the request is refused.

    ``database_url`` None: the database that the environment names, or else the one of Flask-SQLAlchemy. ``redact``:
    more names in payloads whose values are secrets. If the application has Flask-WTF's protection of forms, it stays
    on, and the forms of the dashboard have its token.
    """
    web = Web(database_of(lambda: database_url or _url()), redact)
    made = Blueprint(name, __name__)

    def view(path: str = "") -> Response:
        visitor = who()
        answer = web.respond(_read(f"/{path}", visitor))
        return Response(answer.body, answer.status, list(answer.headers))

    methods = ["GET", "HEAD", "POST"]
    made.add_url_rule("/", "root", view, methods=methods, provide_automatic_options=False)
    made.add_url_rule("/<path:path>", "page", view, methods=methods, provide_automatic_options=False)
    return made


def _read(path: str, visitor: Visitor | None) -> Request:
    return Request(
        method=request.method,
        path=path,
        query=request.query_string.decode("latin-1"),
        headers=joined(request.headers.items()),
        body=_body(),
        scheme=request.scheme,
        visitor=visitor,
        hidden={} if visitor is None else _hidden(),
    )


def _body() -> bytes:
    if (request.content_length or 0) > LONGEST_BODY:
        return b" " * (LONGEST_BODY + 1)
    # A protection of forms may have read it already. Then only its fields are left.
    fields = list(request.form.items(multi=True))
    return urlencode(fields).encode() if fields else request.get_data()


def _hidden() -> dict[str, str]:
    if "csrf" not in current_app.extensions:
        return {}
    name = current_app.config.get("WTF_CSRF_FIELD_NAME", "csrf_token")
    return {name: import_module("flask_wtf.csrf").generate_csrf()}


def _url() -> str | None:
    return os.environ.get("JOBRUNNER_DATABASE_URL") or url_of_application(current_app)
