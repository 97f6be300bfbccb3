"""The fixtures `database` and `private_postgres`: a migrated, empty database for each test.

Each worker migrates one template with the installed command; every test gets a copy of it, so that ids begin at 1,
whatever an earlier test left behind, changed in the schema or set. To copy and
to drop costs some 15 ms on PostgreSQL, less than a TRUNCATE of all tables, and 1 ms on SQLite.
"""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from secrets import token_hex

import pytest
from psycopg import sql

from harness.commands import COMMAND, clean_environment
from harness.database import Database, PostgresDatabase, SQLiteDatabase
from harness.postgres import Access, Server, data_place, or_fail

sqlite_only = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
postgresql_only = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


class Copies:
    """Makes databases on one server from one migrated template."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.prefix = f"jr_{token_hex(4)}"
        self.template = f"{self.prefix}_template"
        self._count = 0
        self._create(self.template, "template0")
        try:
            migrate(access.url(self.template))
        except BaseException:
            self.drop(self.template)
            raise

    def make(self, *, keeps_session: bool = False) -> PostgresDatabase:
        self._count += 1
        name = f"{self.prefix}_{self._count}"
        self._create(name, self.template)
        return PostgresDatabase(self.access, name, keeps_session=keeps_session)

    def _create(self, name: str, template: str) -> None:
        # Through the log, the default, a copy took two to ten times as long.
        statement = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY file_copy")
        self.access.execute(
            statement.format(sql.Identifier(name), sql.Identifier(self.access.role), sql.Identifier(template))
        )

    def drop(self, name: str) -> None:
        # FORCE ends the sessions of processes that a test killed and the server has not missed yet.
        self.access.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


class PrivatePostgres:
    """A server that only this test uses: stop it, restart it, freeze its processes."""

    def __init__(self, server: Server, database: PostgresDatabase) -> None:
        self.server = server
        self.database = database
        self.url = database.url

    @property
    def postmaster_pid(self) -> int | None:
        """None while the server is stopped."""
        return self.server.postmaster_pid

    def stop(self) -> None:
        """Like a crash: all connections are cut at once. Committed work survives."""
        self.server.stop()

    def start(self) -> None:
        """On the same port with the same data."""
        self.server.start()

    def restart(self) -> None:
        self.stop()
        self.start()


def migrate(url: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        environment = clean_environment(Path(home)) | {"JOBRUNNER_DATABASE_URL": url}
        try:
            done = subprocess.run(
                [COMMAND, "migrate"],
                env=environment,
                cwd=home,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
            )
        except FileNotFoundError:
            pytest.fail(f"there is no command {COMMAND}: run `make install`", pytrace=False)
    if done.returncode != 0:
        pytest.fail(f"`jobrunner migrate` exited {done.returncode}:\n{done.stdout}{done.stderr}", pytrace=False)


def pytest_configure() -> None:
    # Where pytest makes the folders of the tests. SQLite commits to a disk in ten times the time.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(data_place(Path(tempfile.gettempdir()))))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    migrate(f"sqlite:///{path}")
    with closing(sqlite3.connect(path)) as connection:
        # All of it into the one file that is copied. WAL mode itself is recorded in that file.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture(scope="session")
def postgres_copies(postgres_server: Access) -> Iterator[Copies]:
    copies = Copies(postgres_server)
    yield copies
    copies.drop(copies.template)
    postgres_server.forget_session()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated, empty database; the test runs once for each kind."""
    if request.param == "sqlite":
        path = tmp_path / "jobrunner.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield SQLiteDatabase(path)
        return
    copies: Copies = request.getfixturevalue("postgres_copies")
    made = copies.make(keeps_session=True)
    yield made
    made.forget_sessions()
    copies.drop(made.database)


@pytest.fixture(scope="session")
def private_copies(own_server: Server) -> Iterator[Copies]:
    copies = Copies(or_fail(own_server.start))
    yield copies
    copies.access.forget_session()


@pytest.fixture
def private_postgres(own_server: Server, private_copies: Copies) -> Iterator[PrivatePostgres]:
    """A migrated, empty database on a server of this worker's own, which a test may stop, restart or freeze."""
    own_server.start()
    yield PrivatePostgres(own_server, private_copies.make())
    # Stopped and started instead of repaired: whatever the test froze or killed is gone.
    own_server.stop()
