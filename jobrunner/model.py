"""The nouns that rooms hand to each other. Frozen; times are aware and in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobrunner import backoff
from jobrunner.backoff import Backoff

DEFAULT_MAX_ATTEMPTS = 5
DEFAULT_TIMEOUT = timedelta(minutes=15)
DEFAULT_KILL_AFTER = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Policy:
    """How runs of one job type are tried. ``timeout`` None: no limit, which a handler must ask for."""

    job_type: str
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    timeout: timedelta | None = DEFAULT_TIMEOUT
    backoff: Backoff = backoff.DEFAULT
    kill_after: timedelta = DEFAULT_KILL_AFTER

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data: a child sends its policies to the parent with this."""
        return {
            "job_type": self.job_type,
            "max_attempts": self.max_attempts,
            "timeout_seconds": None if self.timeout is None else self.timeout.total_seconds(),
            "backoff": self.backoff.as_data(),
            "kill_after_seconds": self.kill_after.total_seconds(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Policy:
        """Rebuild a policy from ``as_data``."""
        timeout = data["timeout_seconds"]
        return cls(
            job_type=data["job_type"],
            max_attempts=data["max_attempts"],
            timeout=None if timeout is None else timedelta(seconds=timeout),
            backoff=Backoff.from_data(data["backoff"]),
            kill_after=timedelta(seconds=data["kill_after_seconds"]),
        )


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lease: one tick on one host. ``name`` goes into ``locked_by``."""

    host: str
    name: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to end one attempt: every write of the owner names both."""

    run_id: int
    token: str


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run that this tick owns, with what its handler needs to know. ``timeout`` None: no limit."""

    lease: Lease
    job_type: str
    payload: dict[str, Any]
    attempt: int
    max_attempts: int
    timeout: timedelta | None
    run_at: datetime
    scheduled_for: datetime | None
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Definition:
    """A row of ``job_definitions`` that may have slots to expand."""

    id: int
    name: str
    job_type: str
    payload: dict[str, Any]
    schedule: str
    timezone: str
    last_slot_at: datetime
    last_error: str | None
