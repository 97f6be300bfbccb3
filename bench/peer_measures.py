"""Installs the other systems, each in an environment of its own under .bench, and puts them on the list of measures."""

import contextlib
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import redis_server
from measures.baselines import CONNECT, PASS, RAW
from measures.enqueue import SINGLE
from peers import APPS, PEERS, REDIS, Peer
from plan import (
    DRAINS,
    IDLE,
    JOINED_ENQUEUE,
    MEASURES,
    ONE_JOB,
    PEERS_SERVER,
    PEERS_TIME,
    SINGLE_ENQUEUE,
    SIZES,
    Drain,
    Line,
    Measure,
)
from plan import PEERS as GROUP
from processes import Failed, NotThere, cpu_seconds_of_all, run
from sizes import POSTGRESQL, SQLITE
from stage import Stage


def install() -> tuple[dict[str, dict[str, object]], dict[str, str]]:
    """Returns what was installed and how it is used, and what is left out with the reason."""
    used: dict[str, dict[str, object]] = {}
    left_out: dict[str, str] = {}
    for peer in PEERS:
        reason = _missing(peer)
        if not reason:
            try:
                versions = _installed(peer)
            except (OSError, subprocess.CalledProcessError) as problem:
                said = (getattr(problem, "stderr", "") or str(problem)).strip()
                reason = f"not installed: {said.splitlines()[-1] if said else 'no reason given'}"
        if reason:
            left_out[peer.name] = reason
            continue
        used[peer.name] = {
            "versions": versions,
            "database": peer.database,
            "isolates": peer.isolates,
            "durable": peer.durable,
            "commands": {name: _shown(peer, name) for name in peer.drain},
        }
        MEASURES.extend(_measures(peer))
    return used, left_out


def _missing(peer: Peer) -> str:
    """What the machine lacks, or nothing."""
    if not peer.is_python and shutil.which("npm") is None:
        return "there is no node"
    return "there is no Redis" if peer.database == REDIS and redis_server.program() is None else ""


def _installed(peer: Peer) -> list[str]:
    """Once; an environment whose installation broke off is made anew."""
    finished = peer.folder / "finished"
    if not finished.exists() or finished.read_text() != repr(peer.requirements):
        if peer.is_python:
            _call(sys.executable, "-m", "venv", "--clear", "--without-pip", peer.folder)
            _call(*_pip(peer), "install", "--quiet", *peer.requirements)
        else:
            shutil.rmtree(peer.folder, ignore_errors=True)
            peer.folder.mkdir(parents=True)
            _call("npm", "install", "--no-audit", "--no-fund", "--prefix", peer.folder, *peer.requirements)
        finished.write_text(repr(peer.requirements))
    if peer.is_python:
        return _call(*_pip(peer), "freeze").split()
    listed = _call("npm", "ls", "--depth", "0", "--parseable", "--long", "--prefix", peer.folder).splitlines()
    return [line.rpartition(":")[2] for line in listed[1:]]


def _pip(peer: Peer) -> list[str | Path]:
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", peer.program("python")]


def _call(*command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """What the command prints."""
    words = [str(word) for word in command]
    return subprocess.run(words, env=env, cwd=cwd, capture_output=True, text=True, check=True).stdout


def _shown(peer: Peer, settings: str) -> list[str]:
    """The command line as it is written down: without the folders of this machine."""
    return [word.replace(f"{APPS}/", "") for word in peer.drain[settings]]


def _measures(peer: Peer) -> Iterator[Measure]:
    connect = PASS if peer.database == SQLITE else CONNECT
    for settings in peer.drain:
        pace = _Pace()

        def idle(stage: Stage, settings: str = settings, pace: _Pace = pace) -> Iterator[float]:
            """The peer's one-shot process on an empty queue: from its start to its exit."""
            with pace.noted(0):
                took = _drained(stage, peer, settings, 0)
            yield took.seconds

        def one_job(stage: Stage, settings: str = settings) -> Iterator[float]:
            """The peer's one-shot process on a queue with one no-op: from its start to its exit."""
            yield _drained(stage, peer, settings, 1).seconds

        about: dict[str, object] = {"command": _shown(peer, settings)}
        yield Measure((Line(IDLE.format(peer=peer.name, settings=settings), "s", connect),), idle, GROUP, 1, about)
        yield Measure(
            (Line(ONE_JOB.format(peer=peer.name, settings=settings), "s", connect),), one_job, GROUP, 1, about
        )
        if peer.enqueues:
            yield _enqueue(peer, settings, "enqueue", SINGLE_ENQUEUE)
        if peer.joins:
            yield _enqueue(peer, settings, "join", JOINED_ENQUEUE)
        for drain in DRAINS:
            if drain.size == "runs" or settings not in peer.at_most:
                yield _drain(peer, settings, drain, pace)


def _enqueue(peer: Peer, settings: str, action: str, line_of: str) -> Measure:
    def take(stage: Stage) -> Iterator[float]:
        """So many (`enqueued`) enqueues in the peer's own way, one by one, each committed; the first is not timed."""
        count = stage.sizes.enqueued
        with _set_up(stage, peer, settings, count) as (url, environment, place):
            told = _call(*peer.app, action, str(count), env=environment, cwd=place)
            _check_left(peer, url, count)
        yield float(told)

    line = Line(line_of.format(peer=peer.name, settings=settings), "runs/s", SINGLE.format(db=peer.database))
    return Measure((line,), take, GROUP, 3)


def _drain(peer: Peer, settings: str, drain: Drain, pace: "_Pace") -> Measure:
    raw = RAW.format(db=SQLITE if peer.database == SQLITE else POSTGRESQL)
    at_most = peer.at_most.get(settings)

    lines = [Line(drain.peers.format(peer=peer.name, settings=settings), "runs/s", raw)]
    if drain.size == "spike" and peer.database == POSTGRESQL:
        lines += [Line(each.format(peer=peer.name, settings=settings), "µs") for each in (PEERS_TIME, PEERS_SERVER)]

    def take(stage: Stage) -> Iterator[float]:
        """The peer's one-shot process on so many (`few_runs`, `runs`, `spike`) no-ops: from its start to its exit.

        And, of a spike, the processor time of its processes and of the server for each job. The starts of the processes
        are in it; the vacuum that the server does of itself meanwhile, too.
        """
        count = min(getattr(stage.sizes, drain.size), at_most or math.inf)
        pace.check(count, stage.sizes.peer_seconds)
        with pace.noted(count):
            took = _drained(stage, peer, settings, count)
        yield from (count / took.seconds, *(each / count * 1e6 for each in took[1:]))[: len(lines)]

    about: dict[str, object] = {"command": _shown(peer, settings)} | ({"runs": at_most} if at_most else {})
    return Measure(tuple(lines), take, GROUP if drain.size == "runs" else SIZES, 1, about)


class _Took(NamedTuple):
    """Of the processes of a peer, and of the server of PostgreSQL."""

    seconds: float
    processor_seconds: float
    server_seconds: float


class _Pace:
    """How long a sample of so many jobs took, the filling included: what a larger one can be expected to take."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}

    @contextlib.contextmanager
    def noted(self, count: int) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.took(count, time.monotonic() - began)

    def took(self, count: int, seconds: float) -> None:
        self._seconds.setdefault(count, seconds)

    def check(self, count: int, longest: float) -> None:
        """Raises NotThere for a size that was not taken yet and would take too long."""
        smaller = max((each for each in self._seconds if each < count), default=0)
        if count in self._seconds or not smaller:
            return
        start = self._seconds.get(0, 0.0)
        expected = start + (self._seconds[smaller] - start) * count / smaller
        if expected > longest:
            raise NotThere(
                f"{count:,} jobs would take about {expected:.0f} s, their filling included: more than {longest:.0f}"
            )


@contextlib.contextmanager
def _set_up(stage: Stage, peer: Peer, settings: str, count: int) -> Iterator[tuple[str, dict[str, str], Path]]:
    """A fresh database of the peer's own: its URL, and where and in which environment the peer's programs run."""
    with _database(stage, peer) as url:
        environment = stage.environment() | {
            "BENCH_URL": url,
            "BENCH_SETTINGS": settings,
            "BENCH_COUNT": str(count),
            "PYTHONPATH": str(APPS),
            "PYTHONDONTWRITEBYTECODE": "",
            "NODE_PATH": str(peer.folder / "node_modules"),
            **_as_each_reads(url),
        }
        environment["BENCH_PROGRAM"] = str(peer.program(peer.drain[settings][0]))
        place = peer.works_in or stage.folder
        run([*peer.app, "setup"], environment, place)
        yield url, environment, place


def _drained(stage: Stage, peer: Peer, settings: str, count: int) -> _Took:
    """What the one-shot process took on so many jobs."""
    with _set_up(stage, peer, settings, count) as (url, environment, place):
        program, *words = peer.drain[settings]
        if count:
            run([*peer.app, "fill", str(count), settings], environment, place)
        _check_left(peer, url, count)
        postmaster = stage.postmaster()
        before = cpu_seconds_of_all(postmaster)
        done = run([peer.program(program), *words], environment, place)
        of_server = cpu_seconds_of_all(postmaster) - before
        _check_left(peer, url, 0)
        if not peer.tells_left:
            run([*peer.app, "left", str(count)], environment, place)
        return _Took(done.seconds, done.processor_seconds, of_server)


@contextlib.contextmanager
def _database(stage: Stage, peer: Peer) -> Iterator[str]:
    name = f"{peer.name.replace('-', '_')}_{uuid4().hex[:8]}"
    if peer.database == REDIS:
        with redis_server.running() as url:
            yield url
    elif peer.database == SQLITE:
        yield f"sqlite:///{stage.folder / name}.db"
    else:
        url = stage.create(name)
        try:
            yield url
        finally:
            stage.drop(name)


def _as_each_reads(url: str) -> dict[str, str]:
    """The names under which the systems' own commands look for it."""
    return {"PGDSN": url, "DATABASE_URL": url, "RQ_REDIS_URL": url}


def _check_left(peer: Peer, url: str, count: int) -> None:
    """So many are left to do, as the peer's own tables tell it: all of them before the drain, none after it."""
    if not peer.tells_left:
        return
    if url.startswith("sqlite"):
        import sqlite3

        left = sqlite3.connect(url.removeprefix("sqlite:///")).execute(peer.tells_left).fetchone()
    else:
        import psycopg

        with psycopg.connect(url) as connection:
            left = connection.execute(peer.tells_left).fetchone()
    if left is None or left[0] != count:
        raise Failed(f"{peer.name} has {left and left[0]} runs left, not {count}")
