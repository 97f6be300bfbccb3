"""Two servers of PostgreSQL: a primary with a synchronous standby, which can stall and be promoted.

The standby receives through a line of ours. A stalled line keeps what the primary has sent, and never delivers it: what
was committed meanwhile has not reached the standby, whenever it is promoted.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from harness.app import App
from harness.binaries import find_binaries
from harness.commands import Commands
from harness.database import PostgresDatabase
from harness.databases import Copies
from harness.postgres import Access, Lifeline, Server, or_fail
from harness.waiting import wait_for

# A standby must be able to have what its primary has.
PRIMARY = {"max_prepared_transactions": "4", "wal_level": "logical"}
QUICK = {**PRIMARY, "wal_retrieve_retry_interval": "100ms", "wal_receiver_status_interval": "1s"}


class Line:
    """Carries bytes between the standby and the primary, until it is stalled. ``resume`` makes new connections work."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._is_stalled = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self) -> None:
        self._is_stalled.set()

    def resume(self) -> None:
        """What was kept is gone. The standby asks for it again."""
        self._hang_up()
        self._is_stalled.clear()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._hang_up()

    def _hang_up(self) -> None:
        while self._sockets:
            each = self._sockets.pop()
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            self._sockets += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self._is_stalled.is_set():
                    continue
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Pair:
    """A migrated, empty database on a primary, and its standby. COMMITs wait for the standby from the start on."""

    def __init__(self, primary: Server, copies: Copies) -> None:
        self._primary = primary
        self.access = copies.access
        self.database = copies.make()
        parts = urlsplit(self.access.admin_url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._line = Line((parts.hostname, parts.port))
        info = f"host=127.0.0.1 port={self._line.port} user={parts.username} password={parts.password}"
        self._lifeline = Lifeline({**QUICK, "primary_conninfo": f"{info} application_name=standby"})
        self._standby: Access | None = None
        try:
            self._begin()
        except BaseException:
            self.close(copies)
            raise

    def _begin(self) -> None:
        copy_server(self.access, self._lifeline.data)
        self._standby = or_fail(lambda: self._lifeline.server().start_copy(self.access))
        wait_for(lambda: self.state() is not None, 20, "the standby")
        self.set_synchronous("*")
        wait_for(lambda: self.state() == "sync", 20, "the standby to be synchronous")

    @property
    def url(self) -> str:
        """Of the database on the primary."""
        return self.database.url

    @property
    def url_of_both(self) -> str:
        """A URL that leads to the database on the server that can be written."""
        first, second = (urlsplit(each) for each in (self.url, self.standby.url))
        place = f"{first.netloc},{second.hostname}:{second.port}"
        return urlunsplit(first._replace(netloc=place, query="target_session_attrs=read-write"))

    @property
    def standby(self) -> PostgresDatabase:
        """The same database on the standby. It can be read before the promotion, too."""
        assert self._standby is not None
        return PostgresDatabase(self._standby, self.database.database)

    def state(self) -> str | None:
        with self.access.admin() as connection:
            row = connection.execute("SELECT sync_state FROM pg_stat_replication").fetchone()
        return None if row is None else str(row[0])

    def set_synchronous(self, names: str) -> None:
        with self.access.admin() as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
            connection.execute("SELECT pg_reload_conf()")
        self.wait_for_setting("synchronous_standby_names", names)

    def wait_for_setting(self, name: str, value: str) -> None:
        def read() -> str:
            with self.access.admin() as connection:
                return str((connection.execute(f"SHOW {name}").fetchone() or ("",))[0])

        wait_for(lambda: read() == value, 10, "the setting")

    def wait_for_standby(self) -> None:
        """Until the standby has all that is committed."""
        caught_up = "SELECT flush_lsn >= pg_current_wal_lsn() FROM pg_stat_replication"
        with self.access.admin() as connection:
            wait_for(lambda: connection.execute(caught_up).fetchone() == (True,), 20, "the standby")

    def stall(self) -> None:
        """From now on nothing reaches the standby, and each COMMIT waits for it."""
        self._line.stall()

    def resume(self) -> None:
        self._line.resume()

    def cut(self) -> None:
        """The standby is gone for good."""
        self._line.close()

    def waiting(self) -> set[tuple[int, Any]]:
        """The transactions whose COMMIT waits for the standby: the session of each, and when it began."""
        question = "SELECT pid, xact_start FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        with self.access.admin() as connection:
            return {(pid, began) for pid, began in connection.execute(question)}

    def cancel_waiting(self) -> None:
        """What an operator does to a COMMIT that waits: it returns, with a warning."""
        found = wait_for(self.waiting, 20, "a COMMIT that waits for the standby")
        with self.access.admin() as connection:
            for pid, _ in found:
                connection.execute("SELECT pg_cancel_backend(%s)", [pid])
        wait_for(lambda: not found & self.waiting(), 20, "the end of that wait")

    def fail_over(self) -> PostgresDatabase:
        """Kill the primary and promote the standby. Returns the database there."""
        self._primary.stop()
        self._line.close()
        promoted = self.standby
        with promoted.access.admin() as connection:
            connection.execute("SELECT pg_promote(true, 30)")
        return promoted

    def close(self, copies: Copies) -> None:
        self._line.close()
        if self._standby is not None:
            self._standby.forget_session()
        self._lifeline.close()
        self._primary.start()
        self.set_synchronous("")
        copies.access.forget_session()
        copies.drop(self.database.database)


def copy_server(access: Access, folder: Path) -> None:
    """Copy a server that runs, as a standby of it."""
    identity = {} if os.geteuid() else {"user": pwd.getpwnam("nobody").pw_uid, "group": pwd.getpwnam("nobody").pw_gid}
    command = [str(find_binaries() / "pg_basebackup"), "--dbname", access.admin_url, "--pgdata", str(folder)]
    done = subprocess.run(
        [*command, "--checkpoint=fast", "--wal-method=stream", "--no-sync", "--no-manifest"],
        capture_output=True,
        text=True,
        cwd="/",
        **identity,  # type: ignore[call-overload]
    )
    if done.returncode:
        pytest.fail(f"pg_basebackup: {done.stderr}", pytrace=False)
    # Else the settings of the primary would be those of the standby.
    (folder / "postgresql.auto.conf").write_text("")
    signal = folder / "standby.signal"
    signal.touch()
    if not os.geteuid():
        shutil.chown(signal, user="nobody")


@pytest.fixture(scope="session")
def primary_server() -> Iterator[Server]:
    lifeline = Lifeline(PRIMARY)
    try:
        yield lifeline.server()
    finally:
        lifeline.close()


@pytest.fixture(scope="session")
def primary_copies(primary_server: Server) -> Iterator[Copies]:
    copies = Copies(or_fail(primary_server.start))
    yield copies
    copies.access.forget_session()


@pytest.fixture
def pair(primary_server: Server, primary_copies: Copies) -> Iterator[Pair]:
    """A primary and a synchronous standby that only this test uses."""
    made = Pair(primary_server, primary_copies)
    try:
        yield made
    finally:
        made.close(primary_copies)


@pytest.fixture
def jobrunner_on_pair(pair: Pair, app: App, tmp_path: Path) -> Iterator[Commands]:
    """The installed command, against the primary."""
    commands = Commands(tmp_path, app, pair.database)
    yield commands
    commands.close()
