"""What an application registers around its runs, and what jobrunner does itself with Django and SQLAlchemy."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jobrunner
from harness import App, Commands, Database, PostgresDatabase, pages, postgresql_only, sqlite_only
from harness.handlers_rows import attempt_of, queue, run_of, status_of
from jobrunner import Context
from jobrunner.errors import ConfigurationError

HOOKS = """
import jobrunner
from jobrunner import Context, Discard, Retry, Snooze, job

class Wrong(Exception):
    pass

def at(ctx, place):
    if PLACES.get(ctx.run_id) == place:
        raise Wrong(f"at {place}")

PLACES = {2: "enter", 3: "before", 4: "handler", 5: "after", 6: "leave", 12: "before", 14: "handler", 16: "leave"}
@jobrunner.around_run
def outer(ctx):
    print("outer in")
    try:
        yield
    finally:
        print("outer out")

@jobrunner.around_run
def inner(ctx):
    at(ctx, "enter")
    if ctx.run_id == 7:
        return
    print("inner in")
    try:
        yield
    except Wrong as error:
        print("inner sees", error)
        if ctx.run_id != 14:
            raise
    print("inner out")
    at(ctx, "leave")

@jobrunner.around_run
async def only_async(ctx):
    print("async in")
    yield
    print("async out")

@jobrunner.before_run
def first(ctx):
    print("first")

@jobrunner.before_run
def second(ctx):
    at(ctx, "before")
    if ctx.run_id == 8:
        raise Discard("no tenant")
    print("second")

@jobrunner.before_run
async def third(ctx):
    print("third")

@jobrunner.after_run
def last(ctx, error):
    print("last", error)

@jobrunner.after_run
def before_last(ctx, error):
    print("before last")
    at(ctx, "after")

@job("plain", max_attempts=1)
def plain(ctx: Context, function: str = "its payload may use any name"):
    print("work")
    at(ctx, "handler")
    if ctx.run_id == 9:
        return Snooze("1h")
    return "done"

@job("coroutine", max_attempts=1)
async def coroutine(ctx: Context):
    print("work")
    at(ctx, "handler")
    return "done"
"""

INSIDE = "outer in, inner in, first"
WORK = f"{INSIDE}, second, work, before last"
WHOLE = f"{WORK}, last None, inner out, outer out"
ASYNC_INSIDE = "outer in, inner in, async in, first"
ASYNC_WORK = f"{ASYNC_INSIDE}, second, third, work, before last"
ASYNC = f"{ASYNC_WORK}, last None, async out, inner out, outer out"
NOT_CALLED = "the around_run function handlers.inner ended before its yield, so the handler was not called"


def seen(error: str) -> str:
    return f"last {error}, inner sees {error}"


ENDS = {
    1: ("plain", "succeeded", None, WHOLE),
    2: ("plain", "dead", "at enter", "outer in, outer out"),
    3: ("plain", "dead", "at before", f"{INSIDE}, before last, {seen('at before')}, outer out"),
    4: ("plain", "dead", "at handler", f"{WORK}, {seen('at handler')}, outer out"),
    5: ("plain", "succeeded", None, WHOLE),
    6: ("plain", "dead", "at leave", WHOLE),
    7: ("plain", "dead", NOT_CALLED, "outer in, outer out"),
    8: ("plain", "dead", "no tenant", f"{INSIDE}, before last, last no tenant, outer out"),
    9: ("plain", "queued", None, WHOLE.replace("last None", "last snoozed for 1:00:00")),
    10: ("coroutine", "succeeded", None, ASYNC),
    12: ("coroutine", "dead", "at before", f"{ASYNC_INSIDE}, before last, {seen('at before')}, outer out"),
    14: ("coroutine", "succeeded", None, f"{ASYNC_WORK}, {seen('at handler')}, inner out, outer out"),
    16: ("coroutine", "dead", "at leave", ASYNC),
}


@sqlite_only
def test_hooks_run_in_the_documented_order_and_their_exceptions_end_the_attempt(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", HOOKS)
    for run_id, (kind, *_) in ENDS.items():
        queue(database, kind, id=run_id)
    done = jobrunner.tick()
    assert (done.stdout, done.stderr) == ("", "")
    for run_id, (_, status, error, printed) in ENDS.items():
        row, attempt = run_of(database, run_id), attempt_of(database, run_id)
        assert (run_id, row["status"], row["last_error"]) == (run_id, status, error)
        lines = (attempt["output"] or "").splitlines()
        shown = [line for line in lines if re.match("outer|inner|async|first|second|third|work|before|last", line)]
        assert (run_id, ", ".join(shown)) == (run_id, printed)
    assert "Wrong: at after" in attempt_of(database, 5)["output"]
    assert run_of(database, 1)["result"] == "done"


def no_yield(ctx: Context) -> None: ...


def with_yield(ctx: Context) -> Iterator[None]:
    yield


def test_function_that_cannot_be_a_hook_is_refused_where_it_is_registered() -> None:
    refused: list[tuple[Callable[[Any], object], Callable[..., object], str]] = [
        (jobrunner.around_run, no_yield, "the around_run function .*test_middleware.no_yield has no yield; add one"),
        (jobrunner.before_run, with_yield, "function .*test_middleware.with_yield has a yield; register it with"),
        (jobrunner.before_run, lambda: None, "must take the Context"),
        (jobrunner.after_run, no_yield, "test_middleware.no_yield must take the Context and the error or None"),
    ]
    for register, function, problem in refused:
        with pytest.raises(ConfigurationError, match=problem):
            register(function)


@sqlite_only
def test_example_of_the_page_runs_around_a_run(jobrunner: Commands, app: App, database: Database) -> None:
    (block,) = pages.checked_by("tests/application/test_middleware.py::test_example_of_the_page_runs_around_a_run")
    names = "from types import SimpleNamespace\nfrom flask import Flask, current_app\n"
    names += "app = Flask('shop')\nlogging_context = SimpleNamespace(tenant=None)\n"
    app.write("hooks", names + block.text)
    app.add("""
        from hooks import current_app, logging_context

        @job("acme.tell")
        def tell(ctx: Context):
            return [current_app.name, logging_context.tenant]
        """)
    run_id = queue(database, "acme.tell")
    jobrunner.tick()
    assert run_of(database, run_id)["result"] == ["shop", "acme"]


SQLALCHEMY = """
import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session, scoped_session, sessionmaker

plain_url = os.environ["JOBRUNNER_DATABASE_URL"] + "?application_name=app"
engine = create_engine(plain_url.replace("postgresql:", "postgresql+psycopg:"))
session, scoped, kept = Session(engine), scoped_session(sessionmaker(engine)), []


def cut():
    with psycopg.connect(plain_url, autocommit=True, application_name="") as other:
        sessions = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'app'"
        other.execute(f"SELECT pg_terminate_backend(pid) {sessions}")


@job("ask", max_attempts=1)
def ask(ctx: Context, way: str, act: str = "ask"):
    if way == "connection" and not kept:
        kept.append(engine.connect())
    transaction = {"session": session, "scoped": scoped, "connection": kept and kept[0]}[way]
    if act == "cut":
        cut()
    transaction.execute(text("INSERT INTO written VALUES (:run)"), {"run": ctx.run_id})
    if act == "raise":
        raise RuntimeError("after it has written")
    if act == "flush":
        transaction.execute(text("SELECT 1 / 0"))
    transaction.commit()
"""


@postgresql_only
@pytest.mark.promise("P7", on="postgresql")
def test_failed_run_leaves_no_broken_nor_open_transaction_of_sqlalchemy_to_the_next(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    """A session that handlers keep: one lost connection failed all later runs, and half a run was committed."""
    app.add(SQLALCHEMY)
    database.execute("CREATE TABLE written (run BIGINT)")
    acts = ["ask", "cut", "ask", "raise", "ask", "flush", "ask"]
    runs = {
        (way, n): queue(database, "ask", {"way": way, "act": act})
        for way in ("session", "scoped", "connection")
        for n, act in enumerate(acts)
    }
    jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "1"})
    ends = {place: status_of(database, run_id) for place, run_id in runs.items()}
    assert ends == {place: "succeeded" if acts[place[1]] == "ask" else "dead" for place in runs}
    written = {row["run"] for row in database.query("SELECT run FROM written")}
    assert written == {run_id for (_, n), run_id in runs.items() if acts[n] == "ask"}


DJANGO = """
import django
from django.conf import settings

url = os.environ["JOBRUNNER_DATABASE_URL"]
from urllib.parse import urlsplit
parts = urlsplit(url)
settings.configure(DEBUG=True, DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": parts.path[1:], "USER": parts.username,
    "PASSWORD": parts.password, "HOST": parts.hostname, "PORT": parts.port, "CONN_MAX_AGE": None}})
django.setup()
from django.db import connection


def run(ctx, cut):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    assert len(connection.queries) == 1, connection.queries
    if cut:
        import psycopg
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")


@job("plain", max_attempts=1)
def plain(ctx: Context, cut: bool = False):
    run(ctx, cut)


@job("coroutine", max_attempts=1, concurrency=1)
async def coroutine(ctx: Context, cut: bool = False):
    from asgiref.sync import sync_to_async
    await sync_to_async(run)(ctx, cut)
"""


@postgresql_only
def test_connection_of_django_that_was_lost_fails_one_run_and_its_queries_are_forgotten(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    app.add(DJANGO)
    runs = [queue(database, kind, {"cut": n == 1}) for kind in ("plain", "coroutine") for n in range(4)]
    jobrunner.tick(env={"JOBRUNNER_CONCURRENCY": "1"})
    expected = ["succeeded", "dead", "succeeded", "succeeded"] * 2
    assert [status_of(database, run_id) for run_id in runs] == expected
