"""The page inside applications, behind real servers: each route, under any prefix, with the application's own login."""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urlencode, urljoin, urlsplit

import httpx
import pytest

from harness import Commands, Database, pages, sqlite_only
from harness.long import some
from harness.waiting import stretched
from harness.web import FORM, SAME, Tags, one_of_each
from jobrunner.web.routes import ROUTES

WEB_APPS = Path(__file__).parents[1] / "harness" / "web_apps.py"
SPAN = {"since": "2026-01-31", "until": "2026-01-31"}
GIVEN = {
    "zone": "Asia/Kolkata",
    "reason": "x",
    "applied": "yes",
    "payload": "{}",
    "id": "1",
    "run_at": "+2h",
    "priority": "5",
    "name": "append",
    "max_running": "2",
    "missed": "no",
    **SPAN,
}
MOUNTS = {
    # Where the application has the page, and the path that a proxy in front of it takes away.
    "asgi": ("", "/any/place"),
    "fastapi": ("/jobs", ""),
    "fastapi behind a proxy": ("/jobs", "/outer"),
    "wsgi": ("", ""),
    "wsgi below a path": ("/in/jobs", ""),
    "flask": ("/jobs", "/outer"),
    "django": ("/jobs", "/outer"),
}


@dataclass
class Browser:
    """Somebody who is signed in to one application, and sees it through a proxy that takes ``outer`` away."""

    port: int
    mount: str
    outer: str = ""
    user: str = "ada"
    cookies: dict[str, str] = field(default_factory=dict)

    def __call__(self, url: str, form: Mapping[str, str] | None = None) -> tuple[HTTPResponse, str]:
        """Get an address, or send a form to it."""
        path = url.removeprefix(self.outer)
        headers = {"X-User": self.user, **SAME, **(FORM if form else {})}
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = HTTPConnection("127.0.0.1", self.port, timeout=stretched(20))
        connection.request("GET" if form is None else "POST", path, None if form is None else urlencode(form), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        for cookie in answer.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer, text

    @property
    def home(self) -> str:
        return f"{self.outer}{self.mount}/"

    def shape(self, url: str) -> str:
        """The route of an address."""
        assert url.startswith(self.home), url
        path = urlsplit(url).path.removeprefix(self.home.removesuffix("/"))
        return re.sub(r"\d+", "{id}", path)

    def walk(self) -> tuple[dict[str, str], dict[str, tuple[str, dict[str, str]]]]:
        """Follow all links: an address of each route, and each form with its hidden fields."""
        # The runs, too: the first page may be up to two seconds old.
        begin = [self.home, *(f"{self.home}runs/{run_id}" for run_id in range(1, 7))]
        todo, seen, forms = begin, dict[str, str](), dict[str, tuple[str, dict[str, str]]]()
        visits, known = dict[str, int](), set[str]()
        while todo:
            url = todo.pop()
            if url in known:
                continue
            known.add(url)
            shape = self.shape(url)
            visits[shape] = visits.get(shape, 0) + 1
            # A run of each status; of other pages one is enough.
            if visits[shape] > (6 if shape == "/runs/{id}" else 1):
                continue
            answer, text = self(url)
            assert answer.status == 200, (url, text)
            seen[shape] = url
            if (answer.headers["Content-Type"] or "").startswith("text/html"):
                self._read(url, text, todo, forms)
        return seen, forms

    def _read(self, url: str, text: str, todo: list[str], forms: dict[str, tuple[str, dict[str, str]]]) -> None:
        action = ""
        for tag, attributes in Tags(text).found:
            if tag == "form":
                action = urljoin(url, attributes["action"] or "") if attributes["method"] == "post" else ""
                if action:
                    forms[self.shape(action)] = (action, {})
            elif tag == "button" and action and attributes.get("formaction"):
                other = urljoin(url, attributes["formaction"] or "")
                forms[self.shape(other)] = (other, forms[self.shape(action)][1])
            elif tag == "input" and action and attributes.get("type") == "hidden":
                forms[self.shape(action)][1][attributes["name"] or ""] = attributes["value"] or ""
            elif "href" in attributes:
                todo.append(urldefrag(urljoin(url, attributes["href"] or "")).url)


def test_every_route_works_in_every_application_under_any_prefix(jobrunner: Commands, database: Database) -> None:
    runs = one_of_each(database)
    database.execute("UPDATE job_definitions SET last_error = NULL")
    (urls,) = pages.checked_by(
        "tests/web/test_web_adapters.py::test_every_route_works_in_every_application_under_any_prefix"
    )
    apps = jobrunner.start_python(WEB_APPS.read_text(), urls.text)
    assert apps.stdout
    ports: dict[str, int] = json.loads(apps.stdout.readline())
    assert ports.keys() == MOUNTS.keys()
    for name in some("adapters", list(MOUNTS), 4):
        mount, outer = MOUNTS[name]
        browser = Browser(ports[name], mount, outer)
        seen, forms = browser.walk()
        routes = {re.sub(r"\{sequence\}", "{id}", route.path) for route in ROUTES if route.method == "GET"}
        assert {each.replace("output", "{text}").replace("traceback", "{text}") for each in seen} - {
            "/static/style.css",
            "/static/icon.svg",
        } == routes, name
        posts = {route.path for route in ROUTES if route.method == "POST"}
        assert forms.keys() | {"/schedule/resume", "/resume", "/unlimit"} == posts, name
        check_forms(browser, forms, name)
        check_people(browser, forms, name)
        check_slash(browser, name)
        actors = database.query("SELECT DISTINCT actor FROM job_events WHERE action <> 'b'")
        assert [row["actor"] for row in actors] == ["ada (page)"], name
        restore(database, runs)


def check_forms(browser: Browser, forms: dict[str, tuple[str, dict[str, str]]], name: str) -> None:
    """Each form is taken, and leads to a page that is there. Without the host's token it is refused, if it has one."""
    for shape, (action, hidden) in sorted(forms.items()):
        token = {"django": "csrfmiddlewaretoken", "flask": "csrf_token"}.get(name)
        assert (token in hidden) is (token is not None), (name, shape)
        without = {key: value for key, value in hidden.items() if key != token}
        if token:
            assert browser(action, {**GIVEN, **without})[0].status in (400, 403), (name, shape)
        answer, text = browser(action, {**GIVEN, **hidden})
        # 200: it asks whether to go on.
        assert answer.status in (
            (200,) if any(each in shape for each in ("/bulk/", "/schedules/", "backfill")) else (303, 409)
        ), (
            name,
            shape,
            text,
        )
        if answer.status == 303:
            target = urljoin(action, answer.headers["Location"])
            assert browser(target)[0].status == 200, (name, target)


def check_people(browser: Browser, forms: dict[str, tuple[str, dict[str, str]]], name: str) -> None:
    """Who may only look, and who is not signed in."""
    reader = Browser(browser.port, browser.mount, browser.outer, "reader")
    seen, none = reader.walk()
    # The choice of a time zone changes nothing but the own cookie.
    assert (none.keys(), len(seen) > 8) == ({"/keep-zone"}, True)
    reader.cookies = browser.cookies
    for action, hidden in (form for shape, form in forms.items() if shape != "/keep-zone"):
        assert reader(action, {**GIVEN, **hidden})[0].status == 403, (name, action)
    stranger = Browser(browser.port, browser.mount, browser.outer, "")
    answer, _ = stranger(browser.home)
    assert answer.status == (302 if name == "django" else 403)
    customer = Browser(browser.port, browser.mount, browser.outer, "customer")
    assert customer(browser.home)[0].status == (403 if name == "django" else 200)


def check_slash(browser: Browser, name: str) -> None:
    """Without the slash at the end the page is found, too."""
    if browser.mount and name != "fastapi behind a proxy":
        answer, _ = browser(f"{browser.outer}{browser.mount}")
        assert answer.status in (301, 307, 308), name
        assert urlsplit(answer.headers["Location"]).path.endswith("jobs/")


def restore(database: Database, runs: Mapping[str, int]) -> None:
    """The state in which each application finds the rows."""
    lock = "locked_by = NULL, locked_until = NULL, lease_token = NULL, host = NULL"
    for status in ("queued", "failed", "cancelled", "dead"):
        ended = "created_at" if status in ("cancelled", "dead") else "NULL"
        database.execute(
            f"UPDATE job_runs SET status = ?, finished_at = {ended}, {lock} WHERE id = ?", [status, runs[status]]
        )
    database.execute("UPDATE job_runs SET cancel_requested_at = NULL")
    database.execute("DELETE FROM job_runs WHERE id > ?", [max(runs.values())])
    database.execute("DELETE FROM job_events WHERE action <> 'b'")
    database.execute("UPDATE job_definitions SET paused_at = NULL")
    database.execute("DELETE FROM job_pauses")
    database.execute("DELETE FROM job_set_limits")
    database.execute("UPDATE job_effects SET state = 'uncertain', settled_at = NULL")


def test_mounts_of_the_page_in_the_documentation(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBRUNNER_DATABASE_URL", database.url)
    of_flask, of_fastapi = pages.checked_by(
        "tests/web/test_web_adapters.py::test_mounts_of_the_page_in_the_documentation"
    )
    names: dict[str, Any] = {"__name__": "app"}
    exec(of_flask.text, names)
    flask = names["app"]
    flask.secret_key = "x"
    client = flask.test_client()
    assert client.get("/jobs/").status_code == 403
    with client.session_transaction() as session:
        session["user"] = "ada"
    assert "<h1>Now <small>" in client.get("/jobs/").text

    exec(of_fastapi.text, names)
    fastapi = names["app"]

    async def signed_in(scope: Any, receive: Any, send: Any) -> None:
        await fastapi({**scope, "session": {"user": "ada"}}, receive, send)

    async def get(app: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://example") as client:
            return await client.get("/jobs/")

    assert asyncio.run(get(fastapi)).status_code == 403
    assert "<h1>Now <small>" in asyncio.run(get(signed_in)).text


LOGINS = """
import json, sys, types
import django
from django.conf import settings

has_admin, has_own = json.loads(sys.argv[1])
apps = ["contenttypes", "auth", "sessions", "messages", "admin"]
middleware = ["sessions.middleware.SessionMiddleware", "auth.middleware.AuthenticationMiddleware",
              "messages.middleware.MessageMiddleware"]
settings.configure(
    INSTALLED_APPS=[f"django.contrib.{name}" for name in apps],
    MIDDLEWARE=[f"django.contrib.{name}" for name in middleware],
    ROOT_URLCONF="project", SECRET_KEY="x", ALLOWED_HOSTS=["*"],
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
django.setup()
from django.contrib import admin
from django.test import Client
from django.urls import include, path
from jobrunner.web.django import urls

project = sys.modules["project"] = types.ModuleType("project")
project.urlpatterns = [path("jobs/", include(urls()))]
project.urlpatterns += [path("backstage/", admin.site.urls)] if has_admin else []
project.urlpatterns += [path("accounts/login/", lambda request: None)] if has_own else []
print(Client().get("/jobs/runs").headers["Location"])
"""


@sqlite_only
@pytest.mark.parametrize(
    ("has_admin", "has_own", "login"),
    [(True, False, "/backstage/login/"), (True, True, "/accounts/login/"), (False, False, "/accounts/login/")],
)
def test_visitor_is_sent_to_the_login_that_the_django_project_has(
    jobrunner: Commands, has_admin: bool, has_own: bool, login: str
) -> None:
    assert jobrunner.python(LOGINS, json.dumps([has_admin, has_own])) == f"{login}?next=/jobs/runs\n"
