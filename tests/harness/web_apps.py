"""Applications of our users with the page in them, each behind a real server, for tests. Run as a script.

Prints the port of each as JSON. The header X-User says who is signed in, or the application's own login: /login/.
"""

import json
import os
import signal
import socket
import sys
import threading
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
import uvicorn
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from flask import Flask, redirect, request, session
from flask_sqlalchemy import SQLAlchemy
from flask_wtf import CSRFProtect
from flask_wtf.csrf import generate_csrf
from starlette.middleware.sessions import SessionMiddleware
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from jobrunner.store.drivers.raw.raw_driver import file_of, server_options
from jobrunner.web import EVERYTHING, READ_ONLY, Visitor, asgi, wsgi
from jobrunner.web.flask import blueprint

LOGIN = """<!doctype html><html lang="en"><title>Sign in</title><link rel="icon" href="data:,">
<form method="post">{}<input name="name" aria-label="name"><button>sign in</button></form></html>"""
TOKEN = '<input type="hidden" name="{}" value="{}">'
URL = os.environ.pop("JOBRUNNER_DATABASE_URL")


def visitor(name: str | None) -> Visitor | None:
    return Visitor(name, EVERYTHING if name == "ada" else READ_ONLY) if name else None


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def serve_wsgi(application: Any) -> int:
    server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def serve_asgi(application: Any) -> int:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, log_level="error", lifespan="off")
    threading.Thread(target=uvicorn.Server(config).run, args=([listening],), daemon=True).start()
    port: int = listening.getsockname()[1]
    return port


def header(scope: Any) -> str | None:
    return dict(scope["headers"]).get(b"x-user", b"").decode() or None


async def coroutine(scope: Any) -> Visitor | None:
    return visitor(header(scope) or scope["session"].get("user"))


def with_fastapi(root_path: str) -> FastAPI:
    app = FastAPI(root_path=root_path)
    app.add_middleware(SessionMiddleware, secret_key="x")
    app.mount("/jobs", asgi.page(coroutine, database_url=URL))

    @app.get("/login/")
    def show_login() -> HTMLResponse:
        return HTMLResponse(LOGIN.format(""))

    @app.post("/login/")
    async def login(asked: Request) -> RedirectResponse:
        asked.session["user"] = parse_qs((await asked.body()).decode())["name"][0]
        return RedirectResponse("/jobs/", 303)

    return app


def with_flask() -> Flask:
    app = Flask(__name__)
    app.config["SECRET_KEY"] = "x"
    app.config["SQLALCHEMY_DATABASE_URI"] = URL.replace("postgresql:", "postgresql+psycopg:")
    SQLAlchemy(app)
    CSRFProtect(app)

    def who() -> Any:
        return visitor(request.headers.get("X-User") or session.get("user"))

    app.register_blueprint(blueprint(who), url_prefix="/jobs")

    @app.route("/login/", methods=["GET", "POST"])
    def login() -> Any:
        if request.method == "GET":
            return LOGIN.format(TOKEN.format("csrf_token", generate_csrf()))
        session["user"] = request.form["name"]
        return redirect("/jobs/", 303)

    return app


def with_django() -> Any:
    file = file_of(URL)
    options = {} if file else server_options(URL)
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(file)}
    if not file:
        given = {name: options.get(key, "") for name, key in names.items()}
        database = {"ENGINE": "django.db.backends.postgresql", **given}
    sys.modules["web_urls"] = urls = ModuleType("web_urls")
    own = ["middleware.security.SecurityMiddleware", "middleware.common.CommonMiddleware"]
    own += ["middleware.csrf.CsrfViewMiddleware", "contrib.sessions.middleware.SessionMiddleware"]
    own += ["contrib.auth.middleware.AuthenticationMiddleware"]
    settings.configure(
        SECRET_KEY="x",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF="web_urls",
        DATABASES={"default": {**database, "ATOMIC_REQUESTS": True}},
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "jobrunner.contrib.django"],
        MIDDLEWARE=[*(f"django.{name}" for name in own), "web_urls.signs_in"],
        # A login without tables of its own.
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
        AUTHENTICATION_BACKENDS=["web_urls.Known"],
        LOGIN_URL="/login/",
    )
    django.setup()
    from django.contrib.auth import authenticate, login, user_logged_in
    from django.contrib.auth.models import User
    from django.http import HttpResponse, HttpResponseRedirect
    from django.middleware.csrf import get_token
    from django.urls import path

    user_logged_in.disconnect(dispatch_uid="update_last_login")
    people = {"ada": 1, "reader": 2, "customer": 3}

    def known(name: str) -> User:
        return User(pk=people[name], username=name, is_staff=name != "customer", is_superuser=name == "ada")

    class Known:
        def authenticate(self, asked: Any, name: str) -> User:
            return known(name)

        def get_user(self, key: int) -> User:
            return known({number: name for name, number in people.items()}[key])

    def signs_in(respond: Any) -> Any:
        def middleware(asked: Any) -> Any:
            if name := asked.headers.get("X-User"):
                asked.user = known(name)
            return respond(asked)

        return middleware

    def shown(asked: Any) -> Any:
        if asked.method == "GET":
            return HttpResponse(LOGIN.format(TOKEN.format("csrfmiddlewaretoken", get_token(asked))))
        login(asked, authenticate(asked, name=asked.POST["name"]))
        return HttpResponseRedirect("/jobs/")

    vars(urls).update(signs_in=signs_in, Known=Known)
    exec(sys.argv[1], vars(urls))
    urls.urlpatterns.append(path("login/", shown))
    return get_wsgi_application()


def dispatched() -> Any:
    page = wsgi.page(lambda environ: visitor(environ.get("HTTP_X_USER")), database_url=URL)
    return DispatcherMiddleware(page, {"/in/jobs": page})


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    of_wsgi = serve_wsgi(dispatched())
    ports = {
        "asgi": serve_asgi(asgi.page(lambda scope: visitor(header(scope)), database_url=URL)),
        "fastapi": serve_asgi(with_fastapi("")),
        "fastapi behind a proxy": serve_asgi(with_fastapi("/outer")),
        "wsgi": of_wsgi,
        "wsgi below a path": of_wsgi,
        "flask": serve_wsgi(with_flask()),
        "django": serve_wsgi(with_django()),
    }
    print(json.dumps(ports), flush=True)
    signal.pause()
