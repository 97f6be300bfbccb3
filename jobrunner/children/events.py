"""What happens to the processes of a tick, as the supervisor tells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jobrunner.children.process import Process
from jobrunner.children.protocol import OfRun
from jobrunner.children.python_child import ChildProcess
from jobrunner.model import Policy


@dataclass(frozen=True, slots=True)
class Ready:
    """A child has imported the handlers; these are their policies, and their schedules as data if they are wanted.

    ``misfits`` says of each payload that it was asked about why it does not fit, None where it does.
    """

    child: ChildProcess
    policies: list[Policy]
    schedules: list[dict[str, Any]] = field(default_factory=list)
    misfits: list[str | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StartFailed:
    """A child never became ready. ``reason`` names the module."""

    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a child says of a run. Whether it works on that run is not looked up yet."""

    child: ChildProcess
    message: OfRun


@dataclass(frozen=True, slots=True)
class Died:
    """A command has ended, or a child that was not asked to leave. Its group has been killed."""

    process: Process


Event = Ready | StartFailed | Said | Died
