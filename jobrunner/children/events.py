"""The events of a tick's processes, as the supervisor reports them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jobrunner.children.process import Process
from jobrunner.children.protocol import OfRun
from jobrunner.children.python_child import ChildProcess
from jobrunner.model import Policy


class Ready(NamedTuple):
    """A child has imported the handlers and sent its handshake. ``schedules`` is empty unless it was asked for them.

    ``misfits`` says for each payload that it was asked about why it does not fit. None means that it fits.
    """

    child: ChildProcess
    policies: list[Policy]
    schedules: Sequence[dict[str, Any]] = ()
    misfits: Sequence[str | None] = ()


class StartFailed(NamedTuple):
    """A child did not become ready. ``reason`` names the module that it imported, and the line if that is known.

    ``detail`` is the traceback, or what the child wrote last. It has several lines.
    """

    reason: str
    detail: str | None = None


class Reported(NamedTuple):
    """A child has sent messages about runs, in this order. It is not yet checked whether it works on those runs."""

    child: ChildProcess
    messages: Sequence[OfRun]


class Died(NamedTuple):
    """A command has ended, or a child has ended unexpectedly. Its process group has been killed."""

    process: Process


Event = Ready | StartFailed | Reported | Died
