"""The simulated hosts, what is deployed on them, and their ticks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from jobrunner.model import Policy
from jobrunner.settings.config import Config
from jobrunner.worker.stop_signals import StopRequest
from simulator.scheduler import Process

if TYPE_CHECKING:
    from simulator.children import VirtualChild, VirtualSupervisor


class Version(NamedTuple):
    """What a host has deployed: the policies of its handlers."""

    name: str
    policies: Sequence[Policy]


class Host:
    """A host: its settings, what is deployed on it, and whether it is cut off from the database."""

    def __init__(self, name: str, config: Config, version: Version) -> None:
        self.name = name
        self.config = config
        self.version = version
        self.boot = 1
        self.wall_offset = 0.0
        self.cut_off_until = self.suspended_until = 0.0
        self.processes: dict[int, Process] = {}
        self.ticks: list[Tick] = []

    def live_ticks(self) -> list[Tick]:
        """Its ticks whose process is there."""
        return [each for each in self.ticks if not each.process.is_dead]


class Tick:
    """One tick: its process, and after its end what it raised."""

    def __init__(self, host: Host, process: Process) -> None:
        self.host = host
        self.config = host.config
        self.process = process
        self.children: list[VirtualChild] = []
        self.supervisor: VirtualSupervisor | None = None
        self.stop = _Stop()
        self.page: Any = None
        self.error: BaseException | None = None
        # The failpoint at which it is to be suspended, and since when it is.
        self.halts_at: str | None = None
        self.halted_at: float | None = None


class _Stop(StopRequest):
    """Stop signals that the scheduler sends."""

    def noting(self) -> Any:
        return nullcontext()

    def waking(self, descriptor: int) -> Any:
        return nullcontext()
