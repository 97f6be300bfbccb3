"""Finds the processes of a test, reports their state, and ends them."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from harness.waiting import stretched, wait_for


class Patient(subprocess.Popen[Any]):
    """A process whose end is waited for longer on a busy machine: the limits in tests are those of a quiet one."""

    def communicate(
        self,
        input: Any = None,  # noqa: A002 - as subprocess calls it
        timeout: float | None = None,
    ) -> tuple[Any, Any]:
        """What it printed, and its end."""
        return super().communicate(input, None if timeout is None else stretched(timeout))

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status."""
        return super().wait(None if timeout is None else stretched(timeout))


def marked_processes(marks: list[bytes]) -> list[int]:
    """The living processes whose environment or working folder carries one of the marks.

    The environment of a process is what it was started with, so a mark is inherited by all that descends from a
    command, also by what changed its session or lost its parents.
    """
    others = (int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid())
    return sorted(pid for pid in others if carries(pid, marks))


def carries(pid: int, marks: list[bytes]) -> bool:
    # Without pathlib, which takes longer than the kernel: each test asks for all processes of the machine.
    try:
        place = os.readlink(f"/proc/{pid}/cwd").encode() + b"/"
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            environment = file.readall()  # empty for a zombie, which is no longer at work
    except OSError:
        return False
    return bool(environment) and any(mark in environment or mark in place for mark in marks)


def command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return "gone"


def state_of(pid: int) -> str:
    """The letter of the kernel for what a process does: S for sleeping, T for stopped, Z for a zombie."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped until it gets SIGCONT."""
    return state_of(pid) == "T"


def is_working(pid: int) -> bool:
    """Whether a process runs or could run again; a zombie is over, only its parent has not looked."""
    try:
        return state_of(pid) not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def has_open(pid: int, path: Path) -> bool:
    """Whether a process has this file open."""
    with contextlib.suppress(OSError):
        return any(os.readlink(f"/proc/{pid}/fd/{number}") == str(path) for number in os.listdir(f"/proc/{pid}/fd"))
    return False


def has_unread(pid: int) -> bool:
    """Whether the other side of a TCP connection of this process has not read all that it has sent."""
    links = (Path(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd"))
    sockets = {os.readlink(link) for link in links}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ours = {local for _, local, _, *others in rows if f"socket:[{others[6]}]" in sockets}
    return any(theirs in ours and int(queues.partition(":")[2], 16) for _, _, theirs, _, queues, *_ in rows)


def kill_group(process: "subprocess.Popen[Any]") -> None:
    """Kill a process that leads its own session, with its group, and reap it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def kill_marked(marks: list[bytes]) -> None:
    """Kill until none is left: one that was forking when it was listed has left another."""

    def none_left() -> bool:
        left = marked_processes(marks)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    wait_for(none_left, 10, "the end of the processes that a test left behind")
