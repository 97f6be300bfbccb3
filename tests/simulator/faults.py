"""What may fail, and how: each fault is a number of the history."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from simulator.files import Fault
from simulator.hosts import Tick, Version
from simulator.scheduler import Task
from simulator.world import World

_NUMBER = re.compile(r" for [\d.]+ s")
_PARTS = (0.1, 0.6, 1.1, 1.6, 2.5, 4.0)
"""Of the lease: how long something lasts."""

_HALTS = ("claim.committed", "child.received", "attempt.ended")
"""Where a tick is suspended while it has what it does not hold any more when it goes on."""
KINDS = (
    "statement", "kill", "kill_alone", "stall_tick", "stall_host", "cut_off", "stop", "deploy", "wall_clock", "reboot",
    "child", "halt",
)  # fmt: skip
"""What may fail. Of a number of the history, the part above the choice of the task and the time says which."""


class Faults:
    """Decides what a number means. ``counts`` says how often each has happened."""

    def __init__(self, world: World, versions: Sequence[Version], tell: Callable[[str], None]) -> None:
        self.counts: Counter[str] = Counter()
        self._world = world
        self._versions = versions
        self._tell = tell
        self._kinds: tuple[Callable[[Task, int], Any], ...] = tuple(getattr(self, f"_{name}") for name in KINDS)

    def decide(self, task: Task, number: int) -> Any:
        """Let happen what the number says. Returns the decision for the task's point, if it is about that."""
        if not number or task.name.endswith(("/watchdog", "/inquiry")):
            # Their points are many, and most of the time nothing else goes on then.
            return None
        return self._kinds[number % len(KINDS)](task, number // len(KINDS))

    def heal(self) -> None:
        """Nothing fails any more."""
        for host in self._world.hosts:
            host.cut_off_until = 0.0
            host.version = self._versions[0]
        self._world.is_quiet = True
        for child in [child for tick in self._world.ticks for child in tick.children if not child.process.is_dead]:
            child.hurry()

    def _note(self, what: str) -> None:
        self.counts[_NUMBER.sub("", what.partition(":")[0])] += 1
        self._tell(f"!!! {what}")

    def _tick(self, task: Task, number: int) -> Tick | None:
        """Mostly the tick that is at this point: what is rare happens between two of its statements."""
        own = self._world.tick_at(task.process)
        if own is not None and number % 4:
            return own
        live = [tick for tick in self._world.ticks if not tick.process.is_dead]
        return live[number % len(live)] if live else None

    def _seconds(self, number: int) -> float:
        return _PARTS[number % len(_PARTS)] * self._world.lease_seconds

    def _statement(self, task: Task, number: int) -> Fault | None:
        if task.connection is None or task.at in ("hangs", "waits for the writer"):
            return None
        fault = (Fault.LOST, Fault.ANSWER_LOST, Fault.ANSWER_LOST, Fault.HANGS)[number % 4]
        self._note(f"{fault.value}: {task.name} at {task.at}")
        return fault

    def _kill(self, task: Task, number: int) -> None:
        if tick := self._tick(task, number):
            self._note(f"killed: {tick.process}")
            self._world.kill_tick(tick)

    def _kill_alone(self, task: Task, number: int) -> None:
        if tick := self._tick(task, number):
            self._note(f"killed, its children go on: {tick.process}")
            self._world.kill_tick(tick, children_go_on=True)

    def _stall_tick(self, task: Task, number: int) -> None:
        if tick := self._tick(task, number // len(_PARTS)):
            self._note(f"suspended for {self._seconds(number):.1f} s: {tick.process}")
            self._world.stall([tick], self._seconds(number))

    def _stall_host(self, _: Task, number: int) -> None:
        host = self._world.hosts[number // len(_PARTS) % len(self._world.hosts)]
        self._note(f"host suspended for {self._seconds(number):.1f} s: {host.name}")
        host.suspended_until = max(host.suspended_until, self._world.scheduler.now + self._seconds(number))
        self._world.stall(host.live_ticks(), self._seconds(number))

    def _cut_off(self, _: Task, number: int) -> None:
        host = self._world.hosts[number // len(_PARTS) % len(self._world.hosts)]
        self._note(f"cut off for {self._seconds(number):.1f} s: {host.name}")
        host.cut_off_until = self._world.scheduler.now + self._seconds(number)

    def _stop(self, task: Task, number: int) -> None:
        tick = self._tick(task, number)
        if tick is not None and tick.supervisor is not None:
            self._note(f"SIGTERM: {tick.process}")
            tick.stop.at = tick.stop.at or self._world.scheduler.now + tick.process.clock_offset
            tick.stop.times += 1
            tick.supervisor.wake()

    def _deploy(self, _: Task, number: int) -> None:
        host = self._world.hosts[number % len(self._world.hosts)]
        host.version = self._versions[number // 4 % len(self._versions)]
        self._note(f"deployed {host.version.name}: {host.name}")

    def _wall_clock(self, _: Task, number: int) -> None:
        host = self._world.hosts[number % len(self._world.hosts)]
        host.wall_offset += (3600.0, -3600.0, 86400.0 * 400)[number // 4 % 3]
        self._note(f"wall clock jumps: {host.name}")

    def _reboot(self, _: Task, number: int) -> None:
        host = self._world.hosts[number % len(self._world.hosts)]
        self._note(f"power lost: {host.name}")
        self._world.reboot(host)

    def _child(self, _: Task, number: int) -> None:
        children = [child for tick in self._world.ticks for child in tick.children if not child.process.is_dead]
        if children:
            child = children[number % len(children)]
            self._note(f"child killed: {child.process}")
            child.end(-9)

    def _halt(self, task: Task, number: int) -> None:
        if tick := self._tick(task, number // len(_HALTS)):
            tick.halts_at = _HALTS[number % len(_HALTS)]
            self._note(f"to be suspended at {tick.halts_at}: {tick.process}")
