"""A tick of a test outside of Django: its children open the database of the test, and never the real one."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from urllib.parse import quote, urlsplit

import pytest

import jobrunner
from harness import Database, PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from harness.kit import opened
from harness.long import some
from harness.receivers import web_server
from jobrunner.errors import UsageError
from jobrunner.store.drivers import only_these
from jobrunner.testing import Jobs

FLASK = """
import os
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from jobrunner import job

db = SQLAlchemy()


class Account(db.Model):
    name = db.Column(db.String(20), primary_key=True)
    welcomed = db.Column(db.Boolean)


def create_app(config=None):
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["SHOP_URL"]
    app.config.update(config or {})
    db.init_app(app)
    return app


@job("welcome", max_attempts=1)
def welcome(ctx):
    db.session.get(Account, "ada").welcomed = True
    db.session.commit()
"""

FASTAPI = """
import os
from fastapi import FastAPI
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from jobrunner import job

engine = create_async_engine(os.environ["SHOP_URL"].replace("sqlite:", "sqlite+aiosqlite:"))
app = FastAPI()


@job("welcome", max_attempts=1)
async def welcome(ctx):
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE account SET welcomed = true"))
"""

DRIVER = """
import os
import psycopg
from jobrunner import job


@job("welcome", max_attempts=1)
def welcome(ctx):
    with psycopg.connect(os.environ["SHOP_URL"].replace("+psycopg", "")) as connection:
        connection.execute("UPDATE account SET welcomed = true")
"""


@pytest.fixture
def real(empty: Database) -> Database:
    prepare(empty)
    return empty


@pytest.fixture
def shop(database: Database, real: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes the module ``shop``, which opens the database of the variable SHOP_URL: the real one."""
    prepare(database)
    monkeypatch.setenv("SHOP_URL", url_of(real))
    for name, folder in (("STATE_DIR", tmp_path / "state"), ("APP_DIR", tmp_path / "app")):
        folder.mkdir(mode=0o700)
        monkeypatch.setenv(f"JOBRUNNER_{name}", str(folder))
    monkeypatch.setenv("JOBRUNNER_DATABASE_URL", real.url)

    def make(source: str) -> None:
        (tmp_path / "app" / "shop.py").write_text(dedent(source))

    return make


def prepare(database: Database) -> None:
    database.execute("CREATE TABLE account (name VARCHAR(20) PRIMARY KEY, welcomed BOOLEAN)")
    database.execute("INSERT INTO account VALUES ('ada', ?)", [False])


def url_of(database: Database) -> str:
    return database.url.replace("postgresql:", "postgresql+psycopg:")


def welcomed(database: Database) -> bool:
    return bool(database.value("SELECT welcomed FROM account"))


def works_only_on_the_database_of_the_test(database: Database, real: Database, **variables: str) -> None:
    before = real.path.read_bytes() if isinstance(real, SQLiteDatabase) else b""
    with opened("engine", database) as connection:
        jobs = Jobs(connection)
        jobrunner.enqueue(connection, "welcome", {})
        connection.commit()
        with pytest.raises(
            AssertionError, match=r"would open .*not the database of the test.*jobs\.tick\(DATABASE_URL"
        ):
            jobs.tick(**variables)
        ((status, error),) = [(run.status, run.last_error) for run in jobs.all()]
        assert status == "dead"
        assert error is not None
        assert "would open" in error
        assert [welcomed(real), welcomed(database)] == [False, False]

        jobrunner.enqueue(connection, "welcome", {})
        connection.commit()
        jobs.tick(**variables, SHOP_URL=url_of(database))
        assert [welcomed(real), welcomed(database)] == [False, True]
    if isinstance(real, SQLiteDatabase):
        assert real.path.read_bytes() == before


def test_child_of_a_tick_in_a_test_of_flask_does_not_open_the_real_database(
    shop: Callable[[str], None], database: Database, real: Database
) -> None:
    shop(FLASK)
    variables = {"JOBRUNNER_IMPORT": "jobrunner.contrib.flask.handlers", "FLASK_APP": "shop"}
    works_only_on_the_database_of_the_test(database, real, **variables)


def test_child_of_a_tick_in_a_test_of_fastapi_does_not_open_the_real_database(
    shop: Callable[[str], None], database: Database, real: Database
) -> None:
    shop(FASTAPI)
    works_only_on_the_database_of_the_test(database, real, JOBRUNNER_IMPORT="shop")


@postgresql_only
def test_child_of_a_tick_in_a_test_does_not_open_the_real_database_by_its_driver(
    shop: Callable[[str], None], database: Database, real: Database
) -> None:
    """A file that sqlite3 itself opens is not looked at: tools that measure a test keep such files."""
    shop(DRIVER)
    works_only_on_the_database_of_the_test(database, real, JOBRUNNER_IMPORT="shop")


def test_child_of_a_tick_in_a_test_opens_another_database_that_the_test_names(
    shop: Callable[[str], None], database: Database, real: Database
) -> None:
    shop(FASTAPI)
    with opened("engine", database) as connection:
        jobrunner.enqueue(connection, "welcome", {})
        connection.commit()
        Jobs(connection).tick(JOBRUNNER_IMPORT="shop", databases=[url_of(real)])
    assert welcomed(real)


def test_tick_of_a_test_whose_application_opens_the_real_database_at_import_begins_no_run(
    shop: Callable[[str], None], database: Database, real: Database
) -> None:
    shop("""
        import os, jobrunner
        from sqlalchemy import create_engine, text

        with create_engine(os.environ["SHOP_URL"]).begin() as connection:
            connection.execute(text("UPDATE account SET welcomed = true"))

        @jobrunner.job("welcome")
        def welcome(ctx):
            pass
    """)
    with opened("engine", database) as connection:
        jobrunner.enqueue(connection, "welcome", {})
        connection.commit()
        with pytest.raises(AssertionError, match="would open"):
            Jobs(connection).tick(JOBRUNNER_IMPORT="shop")
        assert [run.status for run in Jobs(connection).all()] == ["queued"]
    assert not welcomed(real)


def test_tick_of_a_test_tells_no_receiver_and_no_monitor(
    shop: Callable[[str], None], database: Database, tmp_path: Path
) -> None:
    """They are those of the real database: a tick of a test would tell them that all is well."""
    told = '[notify]\non_dead = ["chat"]\ntick_ping_env = "WEB"\n[notify.receivers.chat]\nurl_env = "WEB"\n'
    (tmp_path / "app" / "jobrunner.toml").write_text(told)
    shop('from jobrunner import job\n\n\n@job("welcome", max_attempts=1)\ndef welcome(ctx):\n    raise ValueError\n')
    with web_server() as web, opened("engine", database) as connection:
        jobrunner.enqueue(connection, "welcome", {})
        connection.commit()
        Jobs(connection).tick(JOBRUNNER_IMPORT="shop", WEB=web.url)
        assert [run.status for run in Jobs(connection).all()] == ["dead"]
        assert web.requests == []


OPENED = """
import asyncio, json, sqlite3, sys
import asyncpg, psycopg
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from jobrunner.errors import UsageError
from jobrunner.store.drivers import only_these

# As a driver that is not watched.
files, servers = sqlite3.connect, psycopg.connect
told = json.load(sys.stdin)
only_these.allow_only(told["allowed"], lambda sentence: None, real=told["real"])


def by_engine(url):
    create_engine(url.replace("postgresql:", "postgresql+psycopg:")).connect().close()


def by_creator(url):
    is_file = url.startswith("sqlite:")
    opened = files if is_file else servers
    kind = "sqlite://" if is_file else "postgresql+psycopg://"
    create_engine(kind, creator=lambda: opened(url.removeprefix("sqlite:///"))).connect().close()


def by_async_engine(url):
    async def connect():
        words = url.replace("postgresql:", "postgresql+asyncpg:").replace("sqlite:", "sqlite+aiosqlite:")
        engine = create_async_engine(words)
        async with engine.connect():
            pass
        await engine.dispose()
    asyncio.run(connect())


def by_driver(url):
    (psycopg if url.startswith("postgresql:") else sqlite3).connect(url.removeprefix("sqlite:///")).close()


def by_asyncpg(url):
    async def connect():
        if url.startswith("postgresql:"):
            await (await asyncpg.connect(url)).close()
    asyncio.run(connect())


found = {}
for way, url in told["tried"]:
    try:
        globals()[way](url)
    except UsageError as error:
        found[f"{way} {url}"] = str(error)
print(json.dumps(found))
"""


def refused(allowed: list[str], tried: list[tuple[str, str]], real: Sequence[str] = ()) -> dict[str, str]:
    """What a process refuses that may open these databases only."""
    told = json.dumps({"allowed": allowed, "real": list(real), "tried": tried})
    done = subprocess.run([sys.executable, "-c", OPENED], input=told, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


WAYS = ("by_engine", "by_creator", "by_async_engine", "by_driver", "by_asyncpg")


@postgresql_only
def test_database_of_the_test_is_known_under_each_of_its_addresses_and_another_one_under_none(
    database: PostgresDatabase, empty: PostgresDatabase
) -> None:
    def addresses(of: PostgresDatabase) -> list[str]:
        parts = urlsplit(of.url)
        user, port, name = parts.netloc.rpartition("@")[0], parts.port, parts.path[1:]
        with of.access.admin() as connection:
            ((folders,),) = connection.execute("SHOW unix_socket_directories").fetchall()
        folder = quote(folders.partition(",")[0], safe="")
        return [
            of.url,
            f"postgresql://{user}@127.0.0.1:{port}/{name}?options=-c%20TimeZone%3DAsia/Tokyo",
            f"postgresql://{user}@localhost:{port}/{name}",
            f"postgresql://{user}@/{name}?host={folder}&port={port}",
            f"postgresql://{user}@elsewhere:{port}/{name}?hostaddr=127.0.0.1",
            f"postgresql://{user}@127.0.0.1:1,127.0.0.1:{port}/{name}",
        ]

    def tries(of: PostgresDatabase) -> list[tuple[str, str]]:
        first, zoned, local, *others = addresses(of)
        # The other ways speak to libpq, or do not know all of its words.
        return [(way, url) for way in WAYS for url in (first, local)] + [("by_driver", url) for url in (zoned, *others)]

    # Allowed under any one of them.
    for allowed in some("addresses", addresses(database), 2):
        found = refused([allowed], [*tries(database), *tries(empty)])
        assert set(found) == {f"{way} {url}" for way, url in tries(empty)}, allowed
    assert all("would open postgresql://" in sentence for sentence in found.values())


@sqlite_only
def test_file_that_is_known_to_be_real_is_refused_also_without_an_engine(
    database: SQLiteDatabase, empty: SQLiteDatabase, tmp_path: Path
) -> None:
    ways = [way for way in WAYS if way != "by_asyncpg"]
    (tmp_path / "link.db").symlink_to(empty.path)
    tries = [(way, url) for way in ways for url in (empty.url, f"sqlite:///{tmp_path / 'link.db'}")]
    found = refused([database.url], tries, real=[empty.url, database.url])
    assert set(found) == {f"{way} {url}" for way, url in tries}
    other = f"sqlite:///{tmp_path / 'coverage.db'}"
    kept = [*((way, database.url) for way in ways), ("by_driver", other), ("by_driver", ":memory:")]
    assert refused([database.url], kept, real=[empty.url, database.url]) == {}


def test_database_of_another_kind_is_not_the_one_of_the_same_name() -> None:
    refusals: list[str] = []
    guard = only_these._Guard(["postgresql://ada@db.internal/shop", "mysql://db.internal/stock"], refusals.append)
    mysql = SimpleNamespace(name="mysql")
    with pytest.raises(UsageError, match=r"would open mysql://db\.internal/shop"):
        guard.before_engine(mysql, None, [], {"host": "db.internal", "db": "shop"})
    guard.before_engine(mysql, None, [], {"host": "db.internal", "db": "stock"})
