"""Three servers of PostgreSQL: a primary, a standby for which each COMMIT waits, and one for which none does.

What Patroni would decide is decided by the script of this module: which server is promoted, and when. A promoted server
first works without a standby, the two others are made anew from it, and then COMMITs wait for one of them again.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from proof.network import NOBODY, SUBNET, Machine, until_true

PORT, DATABASE, ROLE = 5432, "app", "jobrunner"
SYNCHRONOUS, ASYNCHRONOUS = "synchronous", "asynchronous"
DISK_MB = 6000
SETTINGS = {
    "listen_addresses": "*",
    "max_connections": "120",
    "shared_buffers": "128MB",
    "wal_keep_size": "512MB",
    "max_wal_size": "1GB",
    "wal_retrieve_retry_interval": "200ms",
    "wal_receiver_status_interval": "1s",
    "wal_sender_timeout": "15s",
    "wal_receiver_timeout": "15s",
    "log_min_messages": "warning",
    "timezone": "UTC",
}
_CLEAN = {"PATH": os.defpath, "LANG": "C", "LC_ALL": "C", "TZ": "UTC"}


class Server:
    """One server, on a machine and a disk of its own. The disk is memory: no machine loses its power here."""

    def __init__(self, machine: Machine, binaries: Path, folder: Path) -> None:
        self.machine = machine
        self.disk = folder / machine.name
        self.data = self.disk / "data"
        self._binaries = binaries
        self._log = folder / f"{machine.name}.log"
        self.disk.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=755,uid={NOBODY},gid={NOBODY}", "tmpfs", self.disk)

    @property
    def name(self) -> str:
        return self.machine.name

    def make(self, password: str) -> None:
        """A new, empty server with its roles and its database."""
        self._run("initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "-N")
        (self.data / "pg_hba.conf").write_text(
            f"local all,replication all trust\nhost replication postgres {SUBNET}.0/24 trust\n"
            f"host all all {SUBNET}.0/24 scram-sha-256\n"
        )
        self.start()
        with self.admin("postgres") as connection:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{password}'")
            connection.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # Its process may have another number now, and the old one belong to something else.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        self.launch()
        until_true(self.answers, 60, f"an answer of {self.name}")

    def launch(self) -> None:
        """Start it. It may fail: its disk can be full."""
        words = [str(self._binaries / "postgres"), "-D", str(self.data), "-c", f"unix_socket_directories={self.disk}"]
        for name, value in SETTINGS.items():
            words += ["-c", f"{name}={value}"]
        self.machine.start(words, _CLEAN, self._log, user=NOBODY)

    def answers(self) -> bool:
        with contextlib.suppress(psycopg.Error), self.admin("postgres") as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
        return False

    def is_alive(self) -> bool:
        """Whether any of its processes is left."""
        return bool(self.machine.processes())

    @contextlib.contextmanager
    def admin(self, database: str = DATABASE) -> Iterator[psycopg.Connection[Any]]:
        """The superuser, through the file system, which no fault of the network touches."""
        place = f"host={self.disk} user=postgres dbname={database} connect_timeout=5"
        with psycopg.connect(place, autocommit=True) as connection:
            yield connection

    def ask(self, question: str) -> Any:
        """The first value of the answer."""
        with self.admin() as connection:
            row = connection.execute(question).fetchone()
        return row[0] if row else None

    def set(self, name: str, value: str) -> None:
        with self.admin("postgres") as connection:
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            connection.execute("SELECT pg_reload_conf()")

    def copy_from(self, primary: "Server", kind: str) -> None:
        """Become a standby: all that the primary has, from now on as a stream."""
        self.machine.kill()
        self.machine.rejoin()
        info = f"host={primary.machine.address} port={PORT} user=postgres"
        shutil.rmtree(self.data, ignore_errors=True)
        self._copy(primary, self.data)
        settings = f"primary_conninfo = '{info} application_name={kind}'\n"
        (self.data / "postgresql.auto.conf").write_text(settings)
        (self.data / "standby.signal").touch()
        self.start()

    def back_up(self, folder: Path) -> None:
        """A base backup of this server, as an operator takes it each night."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        os.chown(folder, NOBODY, NOBODY)
        self._copy(self, folder)

    def restore(self, backup: Path) -> None:
        """All that this server has is replaced by the backup."""
        self.machine.kill()
        shutil.rmtree(self.data)
        run("cp", "-a", backup, self.data)
        self.start()

    def _copy(self, primary: "Server", folder: Path) -> None:
        self._run(
            *("pg_basebackup", "-h", primary.disk, "-U", "postgres", "-D", folder),
            *("--checkpoint=fast", "--wal-method=stream", "--no-sync", "--no-manifest"),
        )

    def _run(self, program: str, *words: object) -> None:
        run(self._binaries / program, *words, user=NOBODY)


class Cluster:
    """The three servers. ``primary`` changes with each promotion."""

    def __init__(self, servers: list[Server], password: str) -> None:
        self.primary, self.synchronous, self.asynchronous = servers
        self.primary.make(password)
        self.follow()

    def follow(self) -> None:
        """Make both standbys anew from the primary, and let COMMITs wait for the first."""
        self.primary.set("synchronous_standby_names", "")
        self.synchronous.copy_from(self.primary, SYNCHRONOUS)
        self.asynchronous.copy_from(self.primary, ASYNCHRONOUS)
        state = f"SELECT sync_state FROM pg_stat_replication WHERE application_name = '{SYNCHRONOUS}'"
        until_true(lambda: self.primary.ask(state), 60, "the synchronous standby")
        self.primary.set("synchronous_standby_names", SYNCHRONOUS)
        until_true(lambda: self.primary.ask(state) == "sync", 60, "a standby that COMMITs wait for")

    def promote(self, kind: str) -> None:
        """Kill the primary, so that nobody can write to it any more, and put a standby in its place."""
        old = self.primary
        old.machine.cut_power()
        if kind == SYNCHRONOUS:
            self.primary, self.synchronous = self.synchronous, old
        else:
            self.primary, self.asynchronous = self.asynchronous, old
        with self.primary.admin("postgres") as connection:
            connection.execute("SELECT pg_promote(true, 60)")

    def behind_seconds(self) -> float:
        """How old the newest transaction of the asynchronous standby is."""
        return float(self.asynchronous.ask("SELECT extract(epoch FROM now() - pg_last_xact_replay_timestamp())") or 0)


class Pool:
    """PgBouncer in transaction mode: the address of the database for everybody."""

    def __init__(self, machine: Machine, folder: Path, password: str) -> None:
        self.machine = machine
        self._folder = folder / machine.name
        self._folder.mkdir()
        self._log = self._folder / "log"
        self._told = 0
        self._users = self._folder / "users.txt"
        self.know(password)

    def know(self, password: str) -> None:
        """Take this password from clients, and log in with it."""
        self._users.write_text(f'"{ROLE}" "{password}"\n')
        self._own(self._users)
        self._reload()

    def lead_to(self, server: Server) -> None:
        """Send everybody to this server."""
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n{DATABASE} = host={server.machine.address} port={PORT}\n[pgbouncer]\n"
            f"listen_addr = {self.machine.address}\nlisten_port = {PORT}\nunix_socket_dir =\n"
            f"auth_type = scram-sha-256\nauth_file = {self._users}\npool_mode = transaction\n"
            "max_client_conn = 600\ndefault_pool_size = 60\nserver_login_retry = 1\nserver_connect_timeout = 3\n"
            "query_wait_timeout = 15\nserver_fast_close = 1\nignore_startup_parameters = extra_float_digits\n"
            "log_connections = 0\nlog_disconnections = 0\n"
        )
        self._own(settings)
        self._reload()

    def start(self) -> None:
        program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin") or "pgbouncer"
        # As a service manager does, it starts what has ended: PgBouncer 1.18 may end at a request to cancel.
        forever = ["sh", "-c", 'while :; do "$@"; sleep 1; done', "sh", program, str(self._folder / "pgbouncer.ini")]
        self.machine.start(forever, _CLEAN, self._log, user=NOBODY)
        until_true(self._processes, 20, "PgBouncer")

    def ends(self) -> list[str]:
        """With which words it has ended by itself since the last question."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        found = [line.partition(" FATAL ")[2] for line in lines if " FATAL " in line]
        new, self._told = found[self._told :], len(found)
        return new

    def url(self, password: str) -> str:
        return f"postgresql://{ROLE}:{password}@{self.machine.address}:{PORT}/{DATABASE}"

    def _reload(self) -> None:
        for pid in self._processes():
            os.kill(pid, signal.SIGHUP)

    def _processes(self) -> list[int]:
        found = self.machine.processes()
        return [pid for pid in found if Path(f"/proc/{pid}/comm").read_text() == "pgbouncer\n"]

    def _own(self, file: Path) -> None:
        os.chown(file, NOBODY, NOBODY)
        file.chmod(0o600)


def fill(disk: Path) -> None:
    """Leave no room on a disk: it becomes as small as what is on it, which costs no memory."""
    until_true(lambda: _shrink(disk), 20, f"a full {disk}")


def _shrink(disk: Path) -> bool:
    """Whether it worked: somebody may have written meanwhile."""
    now = os.statvfs(disk)
    used = max(now.f_blocks - now.f_bfree, 1) * now.f_frsize
    with contextlib.suppress(RuntimeError):
        run("mount", "-o", f"remount,size={used}", disk)
        return True
    return False


def give_room(disk: Path, megabytes: int) -> None:
    run("mount", "-o", f"remount,size={megabytes}m", disk)


def run(*words: object, user: int = 0) -> None:
    """Run a program to its end. What it says is the message of the error."""
    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        cwd="/",
        env=_CLEAN,
        user=user,
        group=user,
        extra_groups=[],
    )
    if done.returncode:
        raise RuntimeError(f"{words[0]}: {done.stderr.strip()[-500:]}")
