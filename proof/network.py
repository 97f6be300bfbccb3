"""The network of the proof: one bridge, and a namespace for each machine.

All of it lies in namespaces of this process (program.py), which vanish with it. Nothing here can meet other work.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

SUBNET = "10.9.0"
NOBODY = 65534
_BRIDGE = "bridge"


def ip(*words: str) -> None:
    """Call `ip`. What it says is the message of the error."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Machine:
    """A namespace with an address on the bridge. ``number`` is the last part of the address."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.address = f"{SUBNET}.{number}"
        self._port = f"to-{name}"
        ip("netns", "add", name)
        ip("link", "add", self._port, "netns", _BRIDGE, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("-n", _BRIDGE, "link", "set", self._port, "master", "br0", "up")
        ip("-n", name, "addr", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")
        self._network = os.stat(f"/run/netns/{name}").st_ino

    def start(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        *,
        user: int = 0,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: IO[bytes] | int | None = None,
    ) -> "subprocess.Popen[bytes]":
        """Start a process on this machine. Its output is appended to the log."""
        enter = ["nsenter", f"--net=/run/netns/{self.name}", f"--setuid={user}", f"--setgid={user}", "--"]
        with log.open("ab") as file:
            return subprocess.Popen(
                [*enter, *words],
                env=dict(env),
                stdin=stdin,
                stdout=file if stdout is None else stdout,
                stderr=file,
                cwd="/",
                start_new_session=True,
            )

    def cut_off(self) -> None:
        """Drop each packet from and to this machine, in silence: nobody gets an error."""
        # To disable the port is not enough: a bridge without a spanning tree enables it again at once.
        ip("-n", _BRIDGE, "link", "set", self._port, "nomaster")

    def rejoin(self) -> None:
        """Let the packets through again."""
        ip("-n", _BRIDGE, "link", "set", self._port, "master", "br0")

    def processes(self) -> list[int]:
        """All that live on this machine, also those that left their session."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                is_zombie = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                if not is_zombie and os.stat(entry / "ns" / "net").st_ino == self._network:
                    found.append(int(entry.name))
        return found

    def cut_power(self) -> None:
        """All processes end, and what its network had not sent is gone with them: a killed process' kernel sends it."""
        self.cut_off()
        self.kill()

    def kill(self) -> None:
        """SIGKILL for every process of this machine, until none is left."""
        until_true(lambda: not self._kill_once(), 30, f"the end of all processes of {self.name}")

    def _kill_once(self) -> list[int]:
        found = self.processes()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        return found


def lay_cables() -> None:
    """Make the bridge, in a namespace of its own."""
    ip("netns", "add", _BRIDGE)
    ip("-n", _BRIDGE, "link", "add", "br0", "type", "bridge")
    ip("-n", _BRIDGE, "link", "set", "br0", "up")


class TooLate(Exception):
    """What was waited for has not come."""


def until_true(question: object, seconds: float, what: str, pause: float = 0.05) -> None:
    """Ask until the answer is true. Raises TooLate, with what was waited for."""
    assert callable(question)
    deadline = time.monotonic() + seconds
    while not question():
        if time.monotonic() > deadline:
            raise TooLate(f"{what} has not come within {seconds:.0f} s")
        time.sleep(pause)
