"""The worker of a replica: ticks that linger, one each minute as cron starts them."""

import signal
import subprocess
import time
from contextlib import suppress
from typing import IO

from counts import Counts, now
from settings import COMMAND

_LOOK_SECONDS = 0.1
_SHORTEST_PAUSE_SECONDS = 1.0
# The harness waits for ten seconds after SIGTERM.
_STOP_SECONDS = 8.0
# The harness kills one process of a replica; the end of a container would kill all of them.
_ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")


def supervise(counts: Counts) -> None:
    """Start a tick each minute, which relieves the one before; with `restarts` also where none is alive, once a second.

    The latter is what `Restart=always` of systemd does.
    """
    settings, alive = counts.settings, list[tuple["subprocess.Popen[bytes]", float]]()
    next_at = last_at = 0.0
    with settings.file("ticks").open("a") as said:
        while not counts.stopping.is_set():
            at = time.monotonic()
            for each in [each for each in alive if each[0].poll() is not None]:
                alive.remove(each)
                _note(said, each, at)
            is_missing = settings.restarts and not alive and at - last_at >= _SHORTEST_PAUSE_SECONDS
            if at >= next_at or is_missing:
                next_at = at + settings.tick_seconds if at >= next_at else next_at
                last_at = at
                alive.append((_started(counts, said), at))
            counts.stopping.wait(_LOOK_SECONDS)
        _stop(alive, said)


def _started(counts: Counts, said: IO[str]) -> "subprocess.Popen[bytes]":
    settings = counts.settings
    log = settings.ledgers / f"tick-{settings.instance}.jsonl"
    words = [*_ENDS_WITH_US, str(COMMAND), "tick", "--linger", settings.linger, "--log", str(log)]
    tick = subprocess.Popen(
        words,
        env=settings.environment(),
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
    )
    said.write(f"{now()} tick {tick.pid} started\n")
    said.flush()
    return tick


def _note(said: IO[str], tick: "tuple[subprocess.Popen[bytes], float]", at: float) -> None:
    process, began = tick
    said.write(f"{now()} tick {process.pid} exit {process.returncode} after {at - began:.1f}s\n")
    said.flush()


def _stop(alive: "list[tuple[subprocess.Popen[bytes], float]]", said: IO[str]) -> None:
    for process, _ in alive:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    for each in alive:
        process, _ = each
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            said.write(f"{now()} tick {process.pid} has not ended {_STOP_SECONDS:.0f} s after SIGTERM\n")
            process.kill()
            process.wait()
        _note(said, each, time.monotonic())
