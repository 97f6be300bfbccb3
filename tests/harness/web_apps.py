"""Applications of our users with the page in them, each behind a real server, for tests. Run as a script.

Prints the port of each as JSON. The header X-User says who is signed in.
"""

import json
import os
import signal
import socket
import sys
import threading
from types import ModuleType
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
import uvicorn
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from fastapi import FastAPI
from flask import Flask, request
from flask_sqlalchemy import SQLAlchemy
from flask_wtf import CSRFProtect
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from jobrunner.store.raw_driver import file_of, server_options
from jobrunner.web import EVERYTHING, READ_ONLY, Visitor, asgi, wsgi
from jobrunner.web.flask import blueprint

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
    return visitor(header(scope))


def with_fastapi(root_path: str) -> FastAPI:
    app = FastAPI(root_path=root_path)
    app.mount("/jobs", asgi.page(coroutine, database_url=URL))
    return app


def with_flask() -> Flask:
    app = Flask(__name__)
    app.config["SECRET_KEY"] = "x"
    app.config["SQLALCHEMY_DATABASE_URI"] = URL.replace("postgresql:", "postgresql+psycopg:")
    SQLAlchemy(app)
    CSRFProtect(app)
    app.register_blueprint(blueprint(lambda: visitor(request.headers.get("X-User"))), url_prefix="/jobs")
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
    middleware = ["security.SecurityMiddleware", "common.CommonMiddleware", "csrf.CsrfViewMiddleware"]
    settings.configure(
        SECRET_KEY="x",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF="web_urls",
        DATABASES={"default": {**database, "ATOMIC_REQUESTS": True}},
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "jobrunner.contrib.django"],
        MIDDLEWARE=[*(f"django.middleware.{name}" for name in middleware), "web_urls.signs_in"],
    )
    django.setup()
    from django.contrib.auth.models import AnonymousUser, User

    def signs_in(respond: Any) -> Any:
        def middleware(asked: Any) -> Any:
            name = asked.headers.get("X-User")
            user = User(username=name, is_staff=name != "customer", is_superuser=name == "ada")
            asked.user = user if name else AnonymousUser()
            return respond(asked)

        return middleware

    vars(urls)["signs_in"] = signs_in
    exec(sys.argv[1], vars(urls))
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
