"""The boundary between the real code and the simulated hosts: what stands in the place of the operating system."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from jobrunner import clock, failpoints
from jobrunner.children import process_groups
from jobrunner.children.begun_page import BegunPage
from jobrunner.effects import database as effects_database
from jobrunner.store.drivers import postgresql, sqlite
from jobrunner.store.queue.ticks import listen
from jobrunner.worker import lookback, processes, recovery, tick_record
from jobrunner.worker import threads as real_threads
from simulator import threads
from simulator.children import VirtualSupervisor
from simulator.files import SimulatedFile
from simulator.servers import SimulatedServer, notifier_of
from simulator.world import World


@contextmanager
def slow_claims(*, is_slow: bool) -> Iterator[None]:
    """In this block every claim seems to take long, so that the next ones neither count nor look at all runs."""
    with ExitStack() as stack:
        if is_slow:
            stack.enter_context(patch.multiple(lookback, _SLOW_SECONDS=-9.0, _IN_A_ROW=1))
            stack.enter_context(patch.object(lookback.Rarely, "part_took", lambda *_: None))
        yield


@contextmanager
def in_place_of_the_system(world: World) -> Iterator[None]:
    """In this block the real code runs on the simulated hosts."""
    scheduler = world.scheduler

    def boot_id() -> str:
        host = world.host()
        return "" if host is None else f"boot {host.boot} of {host.name}"

    def is_running(pid: int, started: str) -> bool:
        host = world.host()
        return host is not None and pid in host.processes

    def kill_groups(noted: Any) -> tuple[int, bool]:
        host, killed = world.host(), 0
        for pid in noted.groups:
            if host is not None and pid in host.processes:
                world.end_process(host.processes[pid])
                killed += 1
        return killed, True

    def is_surely_on(pid: int, live: Any) -> bool:
        child = world.child(pid)
        return child is not None and (child.is_idle or child.run_id in live)

    VirtualSupervisor.world = SimulatedFile.world = SimulatedServer.world = world
    pages = BegunPage

    def begun_page(*arguments: Any) -> Any:
        made = world.tick_of(world.process()).page = pages(*arguments)
        return made

    replaced: list[tuple[Any, str, Any]] = [
        (clock, "elapsed", world.elapsed),
        (clock, "utc_now", world.utc_now),
        (clock, "sleep", world.sleep),
        (failpoints, "hit", world.hit),
        (os, "getpid", lambda: world.process().pid),
        (os, "urandom", world.urandom),
        (random, "_urandom", world.urandom),
        (real_threads, "Event", lambda: threads.Event(scheduler)),
        (real_threads, "SimpleQueue", lambda: threads.SimpleQueue(scheduler)),
        (real_threads, "start", lambda work, name: threads.Thread(scheduler, work, name)),
        (sqlite, "FileConnection", SimulatedFile),
        (postgresql, "ServerConnection", SimulatedServer),
        (listen, "open_notifier", notifier_of),
        # Its thread would cut a call that hangs; here such a call ends by itself.
        (effects_database, "limited", lambda _: nullcontext()),
        (processes, "Supervisor", VirtualSupervisor),
        (processes, "BegunPage", begun_page),
        (process_groups, "is_running", is_running),
        (process_groups, "started", lambda pid: "1"),
        (process_groups, "namespace", lambda: "pid:[1]"),
        (process_groups, "_kill_groups", kill_groups),
        (process_groups, "is_surely_on", is_surely_on),
        *((each, "boot_id", boot_id) for each in (process_groups, processes, recovery, tick_record)),
    ]
    with ExitStack() as stack:
        for place, name, value in replaced:
            stack.enter_context(patch.object(place, name, value))
        try:
            yield
        finally:
            world.end_all()
