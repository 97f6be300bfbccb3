"""The systems that a user would pick instead: what they need, and how they are used at default and at best settings."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sizes import POSTGRESQL, SQLITE

REDIS = "Redis"
APPS = Path(__file__).parent / "peer_apps"
PLACE = Path(__file__).parents[1] / ".bench"


@dataclass(frozen=True)
class Peer:
    """`drain` is a command line by settings; its first word is a program of the peer's environment.

    `tells_left` is the SQL that counts what was not done; a peer without one is asked by its app's own `left`.
    `at_most`, by settings, is for what would take hours: then there is one size, this one. `isolates`: between what
    and what a crash is contained; `durable`: whether what has ended is on the disk when the system says so. Where
    `enqueues`, its app has an action `enqueue N`: one by one, each committed; it prints how many a second. Where it
    `joins`, there is an action `join N`: each of them in a transaction that the caller begins and commits.
    """

    name: str
    database: str
    requirements: tuple[str, ...]
    drain: Mapping[str, tuple[str, ...]]
    isolates: str
    durable: str
    tells_left: str = ""
    at_most: Mapping[str, int] = field(default_factory=dict)
    is_python: bool = True
    enqueues: bool = False
    joins: bool = False

    @property
    def folder(self) -> Path:
        return PLACE / self.name

    @property
    def works_in(self) -> Path | None:
        """Where its own files are, if it looks for them in the current folder."""
        return None if self.is_python else APPS / self.name.replace("-", "_")

    @property
    def app(self) -> list[str | Path]:
        """What sets it up and fills it: its own language's, or Python's in our own environment."""
        if self.works_in is not None and (script := self.works_in / "app.js").exists():
            return [self.program("node"), script]
        python = self.program("python") if self.is_python else Path(sys.executable)
        return [python, APPS / f"{self.name.replace('-', '_')}_app.py"]

    def program(self, name: str) -> Path:
        if name == "node":
            return Path(shutil.which(name) or name)
        return self.folder / ("bin" if self.is_python else "node_modules/.bin") / name


def _app(name: str, *words: str) -> tuple[str, ...]:
    return ("python", str(APPS / f"{name}_app.py"), *words)


_PROCRASTINATE = ("procrastinate", "--app", "procrastinate_app.app", "worker", "--one-shot")
_DJANGO = _app("django_tasks", "db_worker", "--batch")
_PG_BOSS = ("node", str(APPS / "pg_boss" / "app.js"), "drain")
_CELERY = _app("celery", "drain")
_NOT = "nothing: one process"
_COMMITTED = "yes, each job in its own transaction"
_MEMORY = "no: Redis answers before the disk has it"
PEERS = (
    Peer(
        "procrastinate",
        POSTGRESQL,
        ("procrastinate>=3", "psycopg[binary]"),
        {
            "default": _PROCRASTINATE,
            "best": (*_PROCRASTINATE, "--concurrency", "30", "--no-listen-notify", "--delete-jobs", "always"),
        },
        _NOT,
        _COMMITTED,
        tells_left="SELECT count(*) AS n FROM procrastinate_jobs WHERE status <> 'succeeded'",
    ),
    Peer(
        "pgqueuer",
        POSTGRESQL,
        ("pgqueuer[cli,asyncpg]", "uvloop"),
        {"default": _app("pgqueuer", "drain"), "best": _app("pgqueuer", "drain", "100")},
        _NOT,
        "yes, in groups",
        tells_left="SELECT count(*) AS n FROM pgqueuer",
        enqueues=True,
        joins=True,
    ),
    Peer(
        "chancy",
        POSTGRESQL,
        ("chancy", "psycopg[binary]"),
        {"default": _app("chancy", "drain"), "best": _app("chancy", "drain")},
        "default: child processes; best: nothing, one process",
        "in groups, each second",
        tells_left="SELECT count(*) AS n FROM chancy_jobs WHERE state <> 'succeeded'",
        at_most={"default": 6},
    ),
    Peer(
        "django-tasks",
        POSTGRESQL,
        ("django-tasks-db[compat]", "psycopg[binary]"),
        {"default": _DJANGO, "best": (*_DJANGO, "--no-startup-delay", "--interval", "0", "--verbosity", "0")},
        _NOT,
        _COMMITTED,
        tells_left="SELECT count(*) AS n FROM django_tasks_database_dbtaskresult WHERE status <> 'SUCCESSFUL'",
    ),
    Peer(
        "huey",
        SQLITE,
        ("huey",),
        {"default": _app("huey", "drain"), "best": _app("huey", "drain")},
        _NOT,
        "a job is deleted before it starts: a crash loses it",
        tells_left="SELECT count(*) AS n FROM task",
        enqueues=True,
    ),
    Peer(
        "graphile-worker",
        POSTGRESQL,
        # 0.18 asks for a Node.js newer than what long-term distributions have.
        ("graphile-worker@0.17",),
        {
            "default": ("graphile-worker", "--once"),
            "best": ("graphile-worker", "--once", "-C", "best.config.js"),
        },
        _NOT,
        "default: yes, each job in its own transaction; best: in groups",
        tells_left="SELECT count(*) AS n FROM graphile_worker.jobs",
        is_python=False,
    ),
    Peer(
        "pg-boss",
        POSTGRESQL,
        # 11 and later ask for a Node.js newer than what long-term distributions have.
        ("pg-boss@10",),
        {"default": _PG_BOSS, "best": _PG_BOSS},
        _NOT,
        "default: yes, each job in its own transaction; best: in groups",
        tells_left="SELECT count(*) AS n FROM pgboss.job WHERE name = 'noop' AND state <> 'completed'",
        at_most={"default": 5},
        is_python=False,
    ),
    Peer(
        "rq",
        REDIS,
        ("rq",),
        {
            "default": ("rq", "worker", "--burst"),
            "best": ("rq", "worker", "--burst", "--quiet", "--worker-class", "rq.worker.SimpleWorker"),
        },
        "default: a fork for each job; best: nothing, one process",
        _MEMORY,
    ),
    Peer(
        "celery",
        REDIS,
        ("celery[redis]",),
        {
            "default": _CELERY,
            "best": (
                *_CELERY,
                *("--prefetch-multiplier", "250", "--without-gossip", "--without-mingle", "--without-heartbeat"),
            ),
        },
        "child processes",
        _MEMORY,
    ),
)
