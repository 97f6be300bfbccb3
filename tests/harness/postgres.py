"""A real PostgreSQL for the tests: one server per test session, shared by all xdist workers.

`TEST_DATABASE_URL` overrides it with a server of yours and a superuser there. Without either the tests fail;
they never skip.
"""

import contextlib
import functools
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from harness.binaries import NoPostgres, find_server
from harness.waiting import stretched

WATCHDOG = Path(__file__).with_name("watchdog.py")
ROLE = "jobrunner"
EXTERNAL = "TEST_DATABASE_URL"
ROOM_IN_MEMORY = 4 * 1024**3


@dataclass(frozen=True)
class Access:
    """How to reach a server: as one who may create databases, and as the role that jobrunner works under."""

    admin_url: str
    role: str
    role_url: str
    _kept: list[psycopg.Connection[Any]] = field(default_factory=list, compare=False, repr=False)

    def url(self, database: str) -> str:
        """What goes into JOBRUNNER_DATABASE_URL."""
        return with_database(self.role_url, database)

    def admin(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A new connection of the administrator, in autocommit."""
        return psycopg.connect(with_database(self.admin_url, database), autocommit=True, connect_timeout=10)

    @functools.cached_property
    def version(self) -> int:
        """The server's, as 18_00_04 for 18.4."""
        with self.admin() as connection:
            return connection.info.server_version

    def execute(self, statement: sql.Composed) -> None:
        """Execute it in a session that is kept: a new one costs as much as the copy of a database."""
        while self._kept and is_over(self._kept[-1]):
            self._kept.pop().close()
        if not self._kept:
            self._kept.append(self.admin())
        self._kept[-1].execute(statement)

    def forget_session(self) -> None:
        while self._kept:
            self._kept.pop().close()


class Server:
    """A server of our own; the watchdog process does the work and outlives us by a moment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state: dict[str, Any] = {}

    def start(self) -> Access:
        """Start the server unless it runs already. The port stays the same from one start to the next."""
        self._state = self._ask({"action": "start", "binaries": str(find_server())})
        host = f"127.0.0.1:{self._state['port']}"
        password = self._state["password"]
        access = Access(
            admin_url=f"postgresql://{self._state['user']}:{password}@{host}/postgres",
            role=ROLE,
            role_url=f"postgresql://{ROLE}:{password}@{host}/postgres",
        )
        create_role(access, password)
        return access

    def start_copy(self, original: Access) -> Access:
        """Start the server on data that were copied from another one, with that one's roles and passwords."""
        self._state = self._ask({"action": "start", "binaries": str(find_server())})
        urls = (original.admin_url, original.role_url)
        admin_url, role_url = (with_port(each, self._state["port"]) for each in urls)
        return Access(admin_url=admin_url, role=original.role, role_url=role_url)

    def stop(self) -> None:
        """Stop the server as a crash would: every connection is cut and nothing is written on the way out."""
        self._state = self._ask({"action": "stop"})

    @property
    def postmaster_pid(self) -> int | None:
        """None while the server is stopped."""
        pid = self._ask({"action": "state"})["postmaster_pid"]
        return None if pid is None else int(pid)

    @property
    def socket_folder(self) -> str:
        return str(self.folder)

    def _ask(self, request: dict[str, str]) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(stretched(90))
            connection.connect(str(self.folder / "control"))
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer: dict[str, Any] = json.loads(connection.makefile().readline())
        if "error" in answer:
            raise NoPostgres(f"the test server failed: {answer['error']}")
        return answer


class Lifeline:
    """The watchdog of one server: it ends when this object is closed, or with this process, whichever is first.

    ``settings`` are the server's, over those for tests (watchdog.py); ``in_memory`` False: its data lie on the disk.
    """

    def __init__(self, settings: Mapping[str, str] | None = None, *, in_memory: bool = True) -> None:
        # Directly under the temporary folder: the path of a unix socket is limited to 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="jrpg-", dir=short_temporary_folder()))
        place = data_place(self.folder) if in_memory else self.folder
        self.data = place / f"{self.folder.name}-data"
        self.data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            for made in (self.folder, self.data):
                shutil.chown(made, user="nobody")
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(str(self.folder / "control"))
            control.listen(64)
            # The watchdog holds none of our other descriptors: a pipe that pytest's caller reads would stay open.
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-I", str(WATCHDOG), str(self.folder), str(self.data), str(control.fileno())),
                    *(f"{name}={value}" for name, value in (settings or {}).items()),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[control.fileno()],
                start_new_session=True,
            )

    def server(self) -> Server:
        return Server(self.folder)

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(60)


def is_over(connection: psycopg.Connection[Any]) -> bool:
    """Whether a session in which nothing is under way has ended: that is all the server can have said to it."""
    return connection.closed or bool(select.select([connection.fileno()], [], [], 0)[0])


def short_temporary_folder() -> str:
    folder = tempfile.gettempdir()
    return folder if len(folder) < 60 else "/tmp"  # macOS hands out long ones


def data_place(otherwise: Path) -> Path:
    """In memory where there is plenty: on a busy disk the copies for each test took ten times as long."""
    memory = Path("/dev/shm")
    with contextlib.suppress(OSError):
        room = os.statvfs(memory)
        if room.f_bavail * room.f_frsize >= ROOM_IN_MEMORY and os.access(memory, os.W_OK):
            return memory
    return otherwise


def with_database(url: str, database: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{quote(database)}"))


def with_port(url: str, port: int) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{parts.username}:{parts.password}@{parts.hostname}:{port}"))


def create_role(access: Access, password: str) -> None:
    statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(access.role), sql.Literal(password))
    # Another worker may have made it, or be making it right now.
    made_already = (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation)
    with contextlib.suppress(*made_already), access.admin() as connection:
        connection.execute(statement)


def external_access(url: str) -> Access:
    parts = urlsplit(url)
    plain = urlunsplit(parts._replace(scheme="postgresql"))  # also postgres:// and postgresql+psycopg://
    try:
        # Its own database: a database called postgres need not exist, nor be open to this user.
        with psycopg.connect(plain, connect_timeout=10) as connection:
            found = connection.execute("SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    except psycopg.OperationalError as problem:
        raise NoPostgres(f"the server of {EXTERNAL} cannot be reached ({type(problem).__name__})") from None
    if found is None or not found[1]:
        # Creating databases is not all: who is no superuser may not move jobrunner's clock either.
        raise NoPostgres(f"the user of {EXTERNAL} must be a superuser")
    return Access(admin_url=plain, role=str(found[0]), role_url=plain)


def or_fail(start: Callable[[], Access]) -> Access:
    """A test fails in one line when there is no server; it is never skipped."""
    try:
        return start()
    except NoPostgres as problem:
        reason = str(problem)
    pytest.fail(reason, pytrace=False)


lifeline_key = pytest.StashKey[Lifeline]()


def pytest_configure(config: pytest.Config) -> None:
    """The controller (or the only process) holds the lifeline: it outlives its workers."""
    if not hasattr(config, "workerinput") and not config.option.collectonly and EXTERNAL not in os.environ:
        config.stash[lifeline_key] = Lifeline()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if lifeline_key in node.config.stash:
        node.workerinput["postgres_folder"] = str(node.config.stash[lifeline_key].folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    if lifeline_key in config.stash:
        config.stash[lifeline_key].close()


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> Access:
    """The session's server. The first test that asks for it starts it."""
    if EXTERNAL in os.environ:
        return or_fail(lambda: external_access(os.environ[EXTERNAL]))
    workerinput = getattr(request.config, "workerinput", None)
    if workerinput is not None:
        return or_fail(Server(Path(workerinput["postgres_folder"])).start)
    return or_fail(request.config.stash[lifeline_key].server().start)


@pytest.fixture(scope="session")
def own_server() -> Iterator[Server]:
    """A second server of this worker's own, for tests that stop it or freeze it. Not for tests: `private_postgres`."""
    lifeline = Lifeline()
    try:
        yield lifeline.server()
    finally:
        lifeline.close()
