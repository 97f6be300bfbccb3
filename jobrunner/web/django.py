"""The dashboard as urls of Django: ``path("jobs/", include(urls()))``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, URLPattern, is_valid_path, re_path, reverse

from jobrunner.contrib.django import conf
from jobrunner.web.core import Web
from jobrunner.web.database import database_of
from jobrunner.web.messages import Request, joined
from jobrunner.web.permissions import EVERYTHING, READ_ONLY, Visitor

Who = Callable[[HttpRequest], "Visitor | None"]


def staff(request: HttpRequest) -> Visitor | None:
    """Superusers may do everything, other members of the staff may look, and nobody else is let in."""
    user: Any = getattr(request, "user", None)
    if user is None or not (user.is_active and user.is_staff):
        return None
    return Visitor(user.get_username(), EVERYTHING if user.is_superuser else READ_ONLY)


def urls(who: Who = staff, *, redact: Collection[str] = ()) -> list[URLPattern]:
    """The dashboard, on the database of Django. Whoever is not signed in is sent to the login of the project.

    ``redact``: more names in payloads whose values are secrets. Django's own protection of forms stays on.
    """
    web = Web(database_of(conf.url_in_use), redact)

    # The dashboard has connections of its own. On SQLite a transaction around the view could keep it from writing.
    @transaction.non_atomic_requests  # type: ignore[untyped-decorator]
    def view(request: HttpRequest, path: str) -> HttpResponse:
        visitor = who(request)
        user: Any = getattr(request, "user", None)
        if visitor is None and request.method == "GET" and user is not None and not user.is_authenticated:
            # Its module needs the tables of users.
            from django.contrib.auth.views import redirect_to_login

            return redirect_to_login(request.get_full_path(), _login_url())
        answer = web.respond(_read(request, f"/{path}", visitor))
        return HttpResponse(answer.body, status=answer.status, headers=dict(answer.headers))

    return [re_path(r"^(?P<path>.*)$", view, name="jobrunner")]


def _login_url() -> str:
    """The project's ``LOGIN_URL``; the login of Django's admin, if the project has only that one."""
    url: str = resolve_url(settings.LOGIN_URL)
    if is_valid_path(urlsplit(url).path) or urlsplit(url).netloc:
        return url
    with suppress(NoReverseMatch):
        url = reverse("admin:login")
    return url


def _read(request: HttpRequest, path: str, visitor: Visitor | None) -> Request:
    return Request(
        method=request.method or "",
        path=path,
        query=request.META.get("QUERY_STRING", ""),
        headers=joined(request.headers.items()),
        body=request.body,
        scheme=request.scheme or "http",
        visitor=visitor,
        hidden={} if visitor is None else {"csrfmiddlewaretoken": get_token(request)},
    )
