"""A small process that owns one PostgreSQL server and removes it when the tests that wanted it are gone.

The test process holds the other end of this process's standard input and never writes to it. However that process
ends, SIGKILL included, the pipe closes, and the watchdog stops the server and deletes its folder. Nothing that runs
inside the test process could promise that.

The server starts at the first request, so that a selection of tests without a database does not pay for one.
A request is one line of JSON on a connection to the socket `control` in the folder, and so is the answer. Any process
may ask: that is how all workers of a test session share a server.

Only the standard library is imported: this starts as
`python -I watchdog.py FOLDER DATA CONTROL_DESCRIPTOR [SETTING=VALUE ...]`.
"""

import contextlib
import ctypes
import json
import os
import pwd
import re
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SUPERUSER = "postgres"
START_SECONDS = 30
STOP_SECONDS = 10

SETTINGS = {
    # A test's data need not survive a power cut. It does survive a killed server: what was committed has reached
    # the operating system. Hence synchronous_commit stays on, or a killed server would lose committed runs.
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "256MB",
    "max_connections": "200",
    # Tests of plans decide themselves when statistics are gathered.
    "autovacuum": "off",
    # Nothing outside the server's folder: no segments in /dev/shm.
    "dynamic_shared_memory_type": "mmap",
    "log_min_messages": "warning",
    "timezone": "UTC",
}


class Server:
    """One data folder and the postmaster working on it."""

    def __init__(self, folder: Path, data: Path, settings: dict[str, str]) -> None:
        self.folder = folder
        self.settings = {**SETTINGS, **settings}
        self.binaries = Path()
        self.data = data
        self.password = secrets.token_hex(8)
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        # Backends carry it in their titles, which everyone may read, also where /proc/PID/cwd of another user's
        # process may not be read (root in a container).
        self.name = folder.name

    def start(self, binaries: str) -> None:
        self.binaries = Path(binaries)
        if self.process is not None and self.process.poll() is None:
            return
        if not (self.data / "PG_VERSION").exists():
            self._initialise()
        for _ in range(5):
            # Another process may take the port between here and the server's start: then the next one is tried.
            self.port = self.port or free_port()
            if self._launch():
                return
            if "Address already in use" not in self._log():
                break
            self.port = 0
        raise RuntimeError(f"PostgreSQL did not start: {self._log()[-600:]}")

    def stop(self) -> None:
        """Stop at once, as a crash would, and leave no backend behind, not even a stopped one (SIGSTOP)."""
        shared_memory = self._shared_memory_id()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGQUIT)
            for pid in self._processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        self._await_end()
        if shared_memory is not None:
            # Only a killed server leaves its segment; for the others there is nothing to remove any more.
            with contextlib.suppress(AttributeError, OSError):
                ctypes.CDLL(None).shmctl(shared_memory, 0, None)

    def remove(self) -> None:
        self.stop()
        for place in (self.data, self.folder):
            shutil.rmtree(place, ignore_errors=True)

    def state(self) -> dict[str, Any]:
        running = self.process is not None and self.process.poll() is None
        return {
            "port": self.port,
            "user": SUPERUSER,
            "password": self.password,
            "socket_folder": str(self.folder),
            "postmaster_pid": self.process.pid if self.process is not None and running else None,
        }

    def _initialise(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o600)
        identity = unprivileged()
        if identity:
            shutil.chown(secret, user=identity["user"])
        command = [str(self.binaries / "initdb"), "-D", str(self.data)]
        command += ["-U", SUPERUSER, "--pwfile", str(secret)]
        command += ["--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C"]
        command += ["--no-sync", *self._quick_passwords()]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd="/", env=environment(), timeout=60, **identity
        )
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed: {done.stderr.strip()[-600:]}")

    def _launch(self) -> bool:
        arguments = {
            **self.settings,
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "cluster_name": self.name,
        }
        command = [str(self.binaries / "postgres"), "-D", str(self.data), *self._quick_passwords()]
        for key, value in arguments.items():
            command += ["-c", f"{key}={value}"]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=environment(),
                start_new_session=True,  # so that Ctrl-C in a terminal is pytest's alone
                **unprivileged(),
            )
        status = self.data / "postmaster.pid"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return False
            # The eighth line is where pg_ctl looks, too.
            with contextlib.suppress(OSError, IndexError):
                lines = status.read_text().splitlines()
                if int(lines[0]) == self.process.pid and lines[7].strip() == "ready":
                    return True
            time.sleep(0.01)
        self.stop()
        return False

    def _quick_passwords(self) -> list[str]:
        """An option for both programs. To prove a password took longer than all else at the start of a session."""
        done = subprocess.run([self.binaries / "postgres", "--version"], capture_output=True, text=True, cwd="/")
        version = re.search(r"\d+", done.stdout)
        return ["-c", "scram_iterations=1"] if version and int(version[0]) >= 16 else []

    def _await_end(self) -> None:
        deadline = time.monotonic() + STOP_SECONDS
        killed = False
        while True:
            gone = self.process is None or self.process.poll() is not None
            left = self._processes()
            if gone and not left:
                return
            if time.monotonic() > deadline and killed:
                return
            if gone or time.monotonic() > deadline:
                killed = True
                if self.process is not None and not gone:
                    self.process.kill()
                for pid in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def _processes(self) -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                title = (entry / "cmdline").read_bytes()
                if title.startswith(f"postgres: {self.name}: ".encode()):
                    found.append(int(entry.name))
        return found

    def _shared_memory_id(self) -> int | None:
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int((self.data / "postmaster.pid").read_text().splitlines()[6].split()[1])
        return None

    def _log(self) -> str:
        with contextlib.suppress(OSError):
            return (self.folder / "log").read_text(errors="replace").strip()
        return ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LANG": "C", "LC_ALL": "C", "TZ": "UTC"}


def unprivileged() -> dict[str, Any]:
    """PostgreSQL refuses to work as root: there it runs as nobody."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def answer(server: Server, line: str) -> dict[str, Any]:
    try:
        request = json.loads(line)
        if request["action"] == "start":
            server.start(request["binaries"])
        elif request["action"] == "stop":
            server.stop()
    except Exception as problem:  # noqa: BLE001 - whoever asked is told
        return {"error": str(problem)}
    return server.state()


def serve(server: Server, control: socket.socket) -> None:
    while True:
        ready, _, _ = select.select([sys.stdin, control], [], [])
        if sys.stdin in ready and not os.read(sys.stdin.fileno(), 1024):
            return
        if control in ready:
            connection, _ = control.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5)
                line = connection.makefile().readline()
                connection.sendall(json.dumps(answer(server, line)).encode() + b"\n")


def main() -> None:
    # Ctrl-C reaches the whole terminal group; the pipe alone says when the tests are over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    settings = dict(word.split("=", 1) for word in sys.argv[4:])
    server = Server(Path(sys.argv[1]), Path(sys.argv[2]), settings)
    try:
        # Listening already: whoever asks early waits for the answer.
        serve(server, socket.socket(fileno=int(sys.argv[3])))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server.remove()


if __name__ == "__main__":
    main()
