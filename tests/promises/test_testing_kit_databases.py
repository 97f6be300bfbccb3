"""Which databases a process of a test may open: that of the test under each of its addresses, and no real one."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, urlsplit

import pytest

from harness import PostgresDatabase, SQLiteDatabase, postgresql_only, sqlite_only
from harness.long import some
from jobrunner.errors import UsageError
from jobrunner.store.drivers import allowed_databases

OPENED = """
import asyncio, json, sqlite3, sys
import asyncpg, psycopg
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from jobrunner.errors import UsageError
from jobrunner.store.drivers import allowed_databases

# As a driver that is not watched.
files, servers = sqlite3.connect, psycopg.connect
told = json.load(sys.stdin)
allowed_databases.allow_only(told["allowed"], lambda sentence: None, real=told["real"])


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
    done = subprocess.run([sys.executable, "-P", "-c", OPENED], input=told, capture_output=True, text=True)
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


def test_file_that_is_refused_is_not_made_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "test.db").touch()
    tries = [(way, f"sqlite:///{tmp_path / 'real.db'}") for way in ("by_engine", "by_async_engine")]
    assert set(refused([f"sqlite:///{tmp_path / 'test.db'}"], tries)) == {f"{way} {url}" for way, url in tries}
    assert [each.name for each in tmp_path.iterdir()] == ["test.db"]


def test_database_in_memory_is_not_refused(tmp_path: Path) -> None:
    tries = [(way, "sqlite://") for way in ("by_engine", "by_async_engine")]
    assert refused([f"sqlite:///{tmp_path / 'test.db'}"], tries) == {}


def test_database_of_another_kind_is_not_the_one_of_the_same_name() -> None:
    refusals: list[str] = []
    guard = allowed_databases._Guard(
        ["postgresql://ada@db.internal/shop", "mysql://db.internal/stock"], refusals.append
    )
    mysql = SimpleNamespace(name="mysql")
    with pytest.raises(UsageError, match=r"would open mysql://db\.internal/shop"):
        guard.before_engine(mysql, None, [], {"host": "db.internal", "db": "shop"})
    guard.before_engine(mysql, None, [], {"host": "db.internal", "db": "stock"})
