"""A real PgBouncer, the one of Debian, with transaction pooling."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from harness.database import PostgresDatabase
from harness.debian import NoProgram, find
from harness.processes import Patient
from harness.waiting import wait_for

SETTINGS = """
[databases]
app = host={host} port={port} dbname={name} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
admin_users = admin
pool_mode = transaction
max_client_conn = {most_clients}
"""


class Bouncer:
    """One in front of a database; ``url`` leads there through it. Raises NoProgram."""

    def __init__(self, database_url: str, folder: Path, most_clients: int = 100) -> None:
        program, environment = find("pgbouncer", "usr/sbin/pgbouncer", "pgbouncer")
        parts = urlsplit(database_url)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            SETTINGS.format(
                host=parts.hostname,
                port=parts.port,
                name=parts.path[1:],
                user=parts.username,
                password=parts.password,
                own_port=self.port,
                most_clients=most_clients,
            )
        )
        as_nobody = []
        if os.geteuid() == 0:
            shutil.chown(settings, user="nobody")
            as_nobody = ["-u", "nobody"]
        # Not below the folder of the tests, which nobody else may enter.
        with open(settings) as given:
            self.process = Patient(
                [str(program), "--quiet", *as_nobody, f"/dev/fd/{given.fileno()}"],
                env={**os.environ, **environment},
                pass_fds=[given.fileno()],
                cwd="/",
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self.url = f"postgresql://any@127.0.0.1:{self.port}/app"
        wait_for(self._answers, 20, "pgbouncer")

    def tell(self, command: str) -> None:
        url = f"postgresql://admin@127.0.0.1:{self.port}/pgbouncer"
        with closing(psycopg.connect(url, autocommit=True, connect_timeout=5)) as console:
            console.execute(command)

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError):
            self.tell("SHOW VERSION")
            return True
        return False

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def bouncer(database: PostgresDatabase, tmp_path: Path) -> Iterator[Bouncer]:
    """In front of the database of the test."""
    try:
        made = Bouncer(database.url, tmp_path)
    except NoProgram as problem:
        # Its package is one of Debian. Where there is none, and no program of that name, the rest must still be tested.
        pytest.skip(str(problem))
    yield made
    made.close()
