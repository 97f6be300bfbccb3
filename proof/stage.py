"""All of the proof's machines, and one phase after the other on them."""

import argparse
import json
import os
import random
import secrets
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import psycopg

from proof.hosts import ROOT, Host, base_environment
from proof.judge import Cell, Judge
from proof.network import Machine, TooLate, lay_cables, until_true
from proof.servers import DATABASE, ROLE, Cluster, Pool, Server
from proof.witness import read

HOSTS = 3
_DRAIN_SECONDS = 180
_KEPT = (
    "SELECT payload::json ->> 'token', status IN ('queued', 'running', 'failed') FROM job_runs WHERE job_type <> 'slot'"
)
_LEDGER = "CREATE TABLE ledger (id bigserial PRIMARY KEY, token text NOT NULL, at timestamptz NOT NULL DEFAULT now())"


class Stage:
    """What faults are made on. ``choice`` is the only source of chance."""

    def __init__(self, folder: Path, binaries: Path, choice: random.Random, options: argparse.Namespace) -> None:
        self.folder = folder
        self.choice = choice
        self.password = secrets.token_hex(8)
        self.notes: list[str] = []
        self.judge = Judge()
        self.lease = options.lease
        self._rate = options.rate
        self._offset = 0
        self._release: Path | None = None
        self._load: subprocess.Popen[bytes] | None = None
        lay_cables()
        self._socket, self.book = folder / "witness", folder / "book"
        self._counter = Machine("witness", 40)
        self._application = Machine("app", 50)
        self.cluster = Cluster(
            [Server(Machine(f"db{number}", 10 + number), binaries, folder) for number in (1, 2, 3)], self.password
        )
        self.pool = Pool(Machine("pool", 20), folder, self.password)
        self.pool.lead_to(self.cluster.primary)
        self.pool.start()
        self.hosts = [
            Host(Machine(f"host{number}", 30 + number), folder, self._socket, options.concurrency, options.lease)
            for number in range(1, HOSTS + 1)
        ]
        self.url_file = folder / "url"
        self.tell_url(self.hosts)
        self._start_witness()

    def _start_witness(self) -> None:
        words = [sys.executable, "-P", "-m", "proof.witness", str(self._socket), str(self.book)]
        env = {**base_environment(self.folder), "PYTHONPATH": str(ROOT)}
        self._counter.start(words, env, self.folder / "witness.log")
        until_true(self._socket.exists, 20, "the witness")

    def tell_url(self, hosts: list[Host]) -> None:
        """Tell these hosts and the application the database's URL."""
        url = self.pool.url(self.password)
        for each in hosts:
            each.point_to(url)
        new = self.url_file.with_suffix(".new")
        new.write_text(url)
        new.rename(self.url_file)

    def migrate(self, release: Path | None) -> None:
        """Make the tables, with the jobrunner of this folder, and the schedules."""
        self.use(release)
        host = self.hosts[0]
        self.must(host, "migrate")
        with self.cluster.primary.admin() as connection:
            connection.execute(f"SET ROLE {ROLE}")
            connection.execute(_LEDGER)
        self.must(host, "apply")

    def must(self, host: Host, *words: str) -> str:
        done = host.command(*words)
        if done.returncode:
            raise RuntimeError(f"jobrunner {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def use(self, release: Path | None) -> None:
        """From the next starts on: None is this checkout."""
        self._release = release
        for each in self.hosts:
            each.use(release)

    def start_load(self) -> None:
        """Start the application, or start it anew with another version of jobrunner."""
        if self._load is not None:
            self._application.kill()
        path = [str(self._release)] if self._release else []
        env = {**base_environment(self.folder), "PYTHONPATH": os.pathsep.join([*path, str(ROOT)])}
        words = [sys.executable, "-P", "-m", "proof.load", str(self.url_file), str(self._socket), str(self._rate)]
        self._load = self._application.start(
            words, env, self.folder / "load.log", stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def say(self, words: str) -> None:
        assert self._load is not None
        assert self._load.stdin is not None
        self._load.stdin.write(f"{words}\n".encode())
        self._load.stdin.flush()

    def stop_load(self) -> dict[str, Any]:
        """Returns what the application says of the phase."""
        self.say("stop")
        assert self._load is not None
        assert self._load.stdout is not None
        told: dict[str, Any] = json.loads(self._load.stdout.readline())
        return told

    def note(self, text: str) -> None:
        """Something that the page should say of this phase."""
        self.notes.append(text)
        say(f"  {text}")

    def drain(self) -> float | None:
        """Wait until all that is due is done. Returns the seconds; None: it was not done in time."""
        began = time.monotonic()
        # Not those of schedules, which come all the time.
        open_ones = (
            "SELECT count(*) FROM job_runs WHERE status IN ('queued', 'running', 'failed') AND job_type <> 'slot'"
        )

        def is_empty() -> bool:
            try:
                return bool(self.cluster.primary.ask(open_ones) == 0)
            except psycopg.Error:
                return False

        try:
            until_true(is_empty, _DRAIN_SECONDS, "the end of all runs", pause=0.5)
        except TooLate:
            return None
        return time.monotonic() - began

    def judged(self, phase: str) -> tuple[dict[str, Cell], dict[str, int]]:
        """The cells of a phase, and what else was counted."""
        lines, self._offset = read(self.book, self._offset)
        self.judge.read(lines)
        with self.cluster.primary.admin() as connection:
            ledger = dict(connection.execute("SELECT token, count(*) FROM ledger GROUP BY token").fetchall())
            kept = dict(connection.execute(_KEPT).fetchall())
            left = connection.execute("SELECT status, count(*) FROM job_runs GROUP BY status").fetchall()
        counts = {
            "repeated": self.judge.repeated(),
            "uncertain": self.judge.uncertain(phase),
            "forgotten": self.judge.forgotten(phase, kept),
            **{str(status): count for status, count in left if status in ("running", "dead", "cancelled")},
        }
        waiting = [token for token, is_unfinished in kept.items() if is_unfinished]
        return self.judge.judge(phase, ledger, waiting), counts

    def verify(self) -> dict[str, Any]:
        """What `jobrunner verify` says of the database itself. It is asked again where it cannot reach it."""
        for _ in range(5):
            done = self.hosts[0].command("verify")
            if done.returncode in (0, 1):
                break
            time.sleep(3)
        return {"code": done.returncode, "says": (done.stdout + done.stderr).strip()}


def unpack_release() -> tuple[Path, str]:
    """The package of the last release, from its wheel, and its version."""
    wheel = max((ROOT / "tests" / "releases").glob("*.whl"))
    folder = Path("/dev/shm/proof/release")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder, wheel.name.split("-")[1]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


__all__ = ["DATABASE", "Stage", "say", "unpack_release"]
