"""Settings: from a flag, else the environment, else the default. Read once, frozen, handed down."""

from __future__ import annotations

import os
import pwd
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from jobrunner import payload
from jobrunner.durations import parse_duration
from jobrunner.errors import ConfigurationError, UsageError

T = TypeVar("T")
_LONGEST_LEASE = timedelta(minutes=10)
_WHOLE_NUMBER = re.compile(r"\d{1,20}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set. ``database_url`` None: the embedded default; ``log`` None: no log file."""

    database_url: str | None
    imports: tuple[str, ...]
    app_dir: Path | None
    host: str
    lease: timedelta
    heartbeat: timedelta
    budget: timedelta
    grace: timedelta
    start_limit: timedelta
    concurrency: int
    batch: int
    log: Path | None
    state_dir: Path
    payload_limit: int
    keep: Mapping[str, timedelta]


def load(environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Config:
    """Read the settings. ``flags`` that are None were not given. Raises ConfigurationError naming the setting."""
    reader = _Reader(environ, {name: value for name, value in (flags or {}).items() if value is not None})
    lease = reader.duration("lease", "60s")
    if not timedelta(seconds=1) <= lease <= _LONGEST_LEASE:
        raise ConfigurationError("JOBRUNNER_LEASE must lie between 1s and 10m")
    heartbeat = reader.duration("heartbeat", lease / 4)
    if not timedelta(0) < heartbeat <= lease / 3:
        raise ConfigurationError(
            "JOBRUNNER_HEARTBEAT must be at most a third of JOBRUNNER_LEASE, so that one lost beat loses no run"
        )
    app_dir = reader.text("app_dir")
    log = reader.text("log")
    return Config(
        database_url=reader.text("database_url") or environ.get("DATABASE_URL") or None,
        imports=tuple(name.strip() for name in reader.text("import").split(",") if name.strip()),
        app_dir=Path(app_dir).absolute() if app_dir else None,
        host=reader.text("host")[:200] or socket.gethostname()[:200] or "localhost",
        lease=lease,
        heartbeat=heartbeat,
        budget=reader.duration("budget", "50s"),
        grace=reader.duration("grace", "10s"),
        start_limit=reader.duration("start_limit", "30s"),
        concurrency=reader.number("concurrency", 4, 1, 1000),
        batch=reader.number("batch", 10_000, 1, 10_000_000),
        log=Path(log).absolute() if log else None,
        # The same under cron and in a shell; whoever uses it refuses a folder that is not this user's alone.
        state_dir=Path(reader.text("state_dir") or f"/tmp/jobrunner-{os.getuid()}"),  # noqa: S108
        payload_limit=reader.number("payload_limit", payload.DEFAULT_LIMIT_BYTES, 2, 8 * 1024 * 1024),
        keep={
            "succeeded": reader.duration("keep_succeeded", "7d"),
            "cancelled": reader.duration("keep_cancelled", "7d"),
            "dead": reader.duration("keep_dead", "90d"),
            "ticks": reader.duration("keep_ticks", "7d"),
            "events": reader.duration("keep_events", "365d"),
        },
    )


def default_database_file() -> Path:
    """The embedded database: one and the same whatever the environment and folder a command is started in.

    From the password database, not from HOME or XDG variables: cron, sudo and a login shell differ in those.
    """
    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        home = ""
    if not home or not Path(home).is_absolute():
        raise ConfigurationError(
            f"user {os.getuid()} has no home folder for the embedded database; set JOBRUNNER_DATABASE_URL"
        )
    return Path(home) / ".local" / "share" / "jobrunner" / "jobrunner.db"


class _Reader:
    def __init__(self, environ: Mapping[str, str], flags: Mapping[str, Any]) -> None:
        self._environ = environ
        self._flags = flags

    def text(self, name: str) -> str:
        if name in self._flags:
            return str(self._flags[name])
        return self._environ.get(_variable(name), "").strip()

    def duration(self, name: str, default: str | timedelta) -> timedelta:
        return self._parsed(name, parse_duration, parse_duration(default))

    def number(self, name: str, default: int, least: int, most: int) -> int:
        def parse(text: str) -> int:
            if not _WHOLE_NUMBER.fullmatch(text) or not least <= int(text) <= most:
                raise UsageError(f"{text!r} is not a whole number from {least} to {most}")
            return int(text)

        return self._parsed(name, parse, default)

    def _parsed(self, name: str, parse: Callable[[str], T], default: T) -> T:
        text = self.text(name)
        if not text:
            return default
        try:
            return parse(text)
        except UsageError as error:
            if name in self._flags:
                raise UsageError(f"--{name.replace('_', '-')}: {error}") from None
            raise ConfigurationError(f"{_variable(name)}: {error}") from None


def _variable(name: str) -> str:
    return f"JOBRUNNER_{name.upper()}"
