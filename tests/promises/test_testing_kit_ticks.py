"""A tick of a test outside of Django: its children open the database of the test, and never the real one."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from textwrap import dedent

import pytest

import jobrunner
from harness import Database, SQLiteDatabase
from harness.connections import sqlalchemy_url
from harness.kit import opened
from harness.receivers import web_server
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
    monkeypatch.setenv("SHOP_URL", sqlalchemy_url(real))
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


def welcomed(database: Database) -> bool:
    return bool(database.value("SELECT welcomed FROM account"))


# A file that sqlite3 itself opens is not looked at: tools that measure a test keep such files.
APPLICATIONS = {
    "flask": (FLASK, {"JOBRUNNER_IMPORT": "jobrunner.contrib.flask.handlers", "FLASK_APP": "shop"}),
    "fastapi": (FASTAPI, {"JOBRUNNER_IMPORT": "shop"}),
    "driver": (DRIVER, {"JOBRUNNER_IMPORT": "shop"}),
}


@pytest.mark.parametrize(
    ("kind", "database"),
    [*product(("flask", "fastapi"), ("sqlite", "postgresql")), ("driver", "postgresql")],
    indirect=["database"],
)
def test_child_of_a_tick_in_a_test_does_not_open_the_real_database(
    shop: Callable[[str], None], database: Database, real: Database, kind: str
) -> None:
    source, variables = APPLICATIONS[kind]
    shop(source)
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
        jobs.tick(**variables, SHOP_URL=sqlalchemy_url(database))
        assert [welcomed(real), welcomed(database)] == [False, True]
    if isinstance(real, SQLiteDatabase):
        assert real.path.read_bytes() == before


def test_child_of_a_tick_in_a_test_opens_another_database_that_the_test_names(
    shop: Callable[[str], None], database: Database, real: Database
) -> None:
    shop(FASTAPI)
    with opened("engine", database) as connection:
        jobrunner.enqueue(connection, "welcome", {})
        connection.commit()
        Jobs(connection).tick(JOBRUNNER_IMPORT="shop", databases=[sqlalchemy_url(real)])
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
