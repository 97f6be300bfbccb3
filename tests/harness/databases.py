"""The fixtures `database` and `private_postgres`: a migrated, empty database for each test.

One worker migrates a template, the others copy it; every test gets a copy of its own, so that ids begin at 1, whatever
an earlier test left behind, changed in the schema or set. To copy and to drop costs some 15 ms on PostgreSQL, less than
a TRUNCATE of all tables, and 1 ms on SQLite.
"""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from secrets import token_hex

import psycopg
import pytest
from psycopg import sql

from harness.commands import COMMAND, clean_environment
from harness.database import Database, PostgresDatabase, SQLiteDatabase
from harness.postgres import Access, Server, data_place, or_fail
from harness.processes import Patient
from harness.warm import WarmProcess, can_be_warm

sqlite_only = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
postgresql_only = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

STRATEGIES = 15_00_00
"""The first PostgreSQL that is asked how to copy; those before only copy files."""


class Copies:
    """Makes databases on one server from one migrated template.

    ``others`` is a file with the name of another worker's template, if there is one. Hold its lock meanwhile.
    """

    def __init__(self, access: Access, others: Path | None = None) -> None:
        self.access = access
        self.prefix = f"jr_{token_hex(4)}"
        self.template = f"{self.prefix}_template"
        self._count = 0
        if others is not None and others.exists():
            # That worker may have ended since, and its template with it.
            with contextlib.suppress(psycopg.errors.InvalidCatalogName):
                self._create(self.template, others.read_text())
                return
        self._create(self.template, "template0")
        try:
            migrate(access.url(self.template))
        except BaseException:
            self.drop(self.template)
            raise
        if others is not None:
            others.write_text(self.template)

    def make(self, *, keeps_session: bool = False, template: str | None = None) -> PostgresDatabase:
        """A copy of the migrated template, or of another database."""
        self._count += 1
        name = f"{self.prefix}_{self._count}"
        self._create(name, template or self.template)
        return PostgresDatabase(self.access, name, keeps_session=keeps_session)

    def _create(self, name: str, template: str) -> None:
        # Through the log, the default where one is asked, a copy took two to ten times as long.
        strategy = sql.SQL("STRATEGY file_copy" if self.access.version >= STRATEGIES else "")
        names = [sql.Identifier(each) for each in (name, self.access.role, template)]
        self.access.execute(sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} {}").format(*names, strategy))

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
        command = WarmProcess if can_be_warm(COMMAND, ["migrate"], environment) else Patient
        try:
            started = command(
                [COMMAND, "migrate"],
                env=environment,
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except FileNotFoundError:
            pytest.fail(f"there is no command {COMMAND}: run `make install`", pytrace=False)
        stdout, stderr = started.communicate(timeout=120)
    if started.returncode != 0:
        pytest.fail(f"`jobrunner migrate` exited {started.returncode}:\n{stdout}{stderr}", pytrace=False)


@contextmanager
def shared_by_workers(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of all workers of this run, in which one of them at a time is at work."""
    base = factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (folder / "templates.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def pytest_configure() -> None:
    # Where pytest makes the folders of the tests. SQLite commits to a disk in ten times the time.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(data_place(Path(tempfile.gettempdir()))))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with shared_by_workers(tmp_path_factory) as folder:
        path = folder / "template.db"
        if not path.exists():
            made = folder / "made.db"
            migrate(f"sqlite:///{made}")
            with closing(sqlite3.connect(made)) as connection:
                # All of it into the one file that is copied. WAL mode itself is recorded in that file.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            made.rename(path)
    return path


@pytest.fixture(scope="session")
def postgres_copies(postgres_server: Access, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copies]:
    with shared_by_workers(tmp_path_factory) as folder:
        copies = Copies(postgres_server, folder / "template of PostgreSQL")
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


@pytest.fixture
def empty(database: Database, tmp_path: Path) -> Iterator[Database]:
    """A database that exists, beside the migrated one, and has no tables."""
    if isinstance(database, PostgresDatabase):
        name = f"{database.database}_empty"
        with database.access.admin() as connection:
            connection.execute(f'CREATE DATABASE "{name}" OWNER "{database.access.role}" TEMPLATE template0')
        yield PostgresDatabase(database.access, name)
        with database.access.admin() as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    else:
        path = tmp_path / "empty.db"
        path.touch()
        yield SQLiteDatabase(path)


def url(database: Database) -> dict[str, str]:
    """The setting that names a database."""
    return {"JOBRUNNER_DATABASE_URL": database.url}


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
