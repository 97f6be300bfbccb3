"""The systems that a user would pick instead: each in an environment of its own under .bench, in its one-shot mode."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from measures.baselines import CONNECT, PASS, RAW
from plan import MEASURES, POSTGRESQL, SQLITE, Line, Measure
from processes import Failed, run
from stage import Stage

_ROOT = Path(__file__).parents[1]
_APPS = Path(__file__).parent / "peer_apps"
_PLACE = _ROOT / ".bench"


@dataclass(frozen=True)
class Peer:
    """`drain` is a command line by settings; its first word is a program of the environment."""

    name: str
    database: str
    requirements: tuple[str, ...]
    drain: Mapping[str, tuple[str, ...]]
    tells_count: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def app(self) -> str:
        return f"{self.name}_app"

    def program(self, name: str) -> Path:
        return _PLACE / self.name / "bin" / name


_PROCRASTINATE = ("procrastinate", "--app", "procrastinate_app.app", "worker", "--one-shot")
_PGQUEUER = ("python", str(_APPS / "pgqueuer_app.py"), "drain")
_HUEY = ("python", str(_APPS / "huey_app.py"), "drain")
PEERS = (
    Peer(
        "procrastinate",
        POSTGRESQL,
        ("procrastinate>=3", "psycopg[binary]"),
        {
            "default": _PROCRASTINATE,
            "best": (*_PROCRASTINATE, "--concurrency", "30", "--no-listen-notify", "--delete-jobs", "always"),
        },
        tells_count="SELECT count(*) AS n FROM procrastinate_jobs WHERE status = 'todo'",
    ),
    Peer(
        "pgqueuer",
        POSTGRESQL,
        ("pgqueuer[cli,asyncpg]", "uvloop"),
        {"default": _PGQUEUER, "best": (*_PGQUEUER, "100", "uvloop")},
        tells_count="SELECT count(*) AS n FROM pgqueuer",
    ),
    Peer(
        "huey",
        SQLITE,
        ("huey",),
        {"default": _HUEY, "best": _HUEY},
        tells_count="SELECT count(*) AS n FROM task",
    ),
)
NOT_MEASURED = {
    "chancy": "no application is written for it yet",
    "django-tasks": "no application is written for it yet",
    "graphile-worker": "no application is written for it yet" if shutil.which("node") else "there is no node",
    "rq": "no application is written for it yet" if shutil.which("redis-server") else "there is no Redis",
    "celery": "no application is written for it yet" if shutil.which("redis-server") else "there is no Redis",
}


def install() -> tuple[dict[str, dict[str, object]], dict[str, str]]:
    """Make the environments and put what could be installed on the list of measures.

    Returns what was installed and how it is used, and what is left out with the reason.
    """
    used: dict[str, dict[str, object]] = {}
    left_out = dict(NOT_MEASURED)
    for peer in PEERS:
        try:
            versions = _installed(peer)
        except (OSError, subprocess.CalledProcessError) as problem:
            said = getattr(problem, "stderr", "") or str(problem)
            left_out[peer.name] = f"not installed: {said.strip().splitlines()[-1]}"
            continue
        used[peer.name] = {"versions": versions, "commands": {name: list(each) for name, each in peer.drain.items()}}
        MEASURES.extend(_measures(peer))
    return used, left_out


def _installed(peer: Peer) -> list[str]:
    """Once; an environment whose installation broke off is made anew."""
    folder = _PLACE / peer.name
    finished = folder / "finished"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin" / "python"]

    def call(*command: object) -> str:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
        return done.stdout

    if not finished.exists() or finished.read_text() != repr(peer.requirements):
        call(sys.executable, "-m", "venv", "--clear", "--without-pip", folder)
        call(*pip, "install", "--quiet", *peer.requirements)
        finished.write_text(repr(peer.requirements))
    return call(*pip, "freeze").split()


def _measures(peer: Peer) -> Iterator[Measure]:
    connect = CONNECT if peer.database == POSTGRESQL else PASS

    def idle(stage: Stage) -> Iterator[float]:
        """The peer's one-shot process, at default settings, on an empty queue: from its start to its exit."""
        yield _drained(stage, peer, "default", 0)

    yield Measure((Line(f"idle: {peer.name}", "s", connect),), idle, "peers", 5)
    for settings in peer.drain:

        def drain(stage: Stage, settings: str = settings) -> Iterator[float]:
            """The peer's one-shot process on so many (`runs`) no-ops: from its start to its exit."""
            yield stage.sizes.runs / _drained(stage, peer, settings, stage.sizes.runs)

        line = Line(f"drain: {peer.name}, {settings} settings", "runs/s", RAW.format(db=peer.database))
        yield Measure((line,), drain, "peers", 1, {"command": list(peer.drain[settings])})


def _drained(stage: Stage, peer: Peer, settings: str, count: int) -> float:
    """The seconds that it took, on a fresh database of the peer's own."""
    name = f"{peer.name}_{uuid4().hex[:8]}"
    is_file = peer.database == SQLITE
    url = f"sqlite:///{stage.folder / name}.db" if is_file else stage.create(name)
    environment = stage.environment() | {
        "BENCH_URL": url,
        "BENCH_SETTINGS": settings,
        "PYTHONPATH": str(_APPS),
        "PYTHONDONTWRITEBYTECODE": "",
        **_as_libpq_reads(url),
    }
    app = [peer.program("python"), _APPS / f"{peer.app}.py"]
    run([*app, "setup"], environment, stage.folder)
    if count:
        run([*app, "fill", str(count), settings], environment, stage.folder)
    program, *words = peer.drain[settings]
    done = run([peer.program(program), *words], environment, stage.folder)
    _check_empty(peer, url)
    return done.seconds


def _as_libpq_reads(url: str) -> dict[str, str]:
    return {} if url.startswith("sqlite") else {"PGDSN": url}


def _check_empty(peer: Peer, url: str) -> None:
    if url.startswith("sqlite"):
        import sqlite3

        left = sqlite3.connect(url.removeprefix("sqlite:///")).execute(peer.tells_count).fetchone()
    else:
        import psycopg

        with psycopg.connect(url) as connection:
            left = connection.execute(peer.tells_count).fetchone()
    if left is None or left[0]:
        raise Failed(f"{peer.name} left {left and left[0]} runs")
