"""Processes whose time is taken: from before they are started to their exit."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_LOOK_SECONDS = 0.02
_LONGEST_SECONDS = 900


class Failed(Exception):
    """A measure that did not do its work has no time."""


class NotThere(Exception):
    """What is to be measured does not exist in this version: left out, and no failure."""


@dataclass(frozen=True)
class Finished:
    """What a process took. `cpu_seconds` and `peak_bytes` are its own, not those of its children.

    `processor_seconds` is to the microsecond, and has that of the children that it has waited for in it. `looks`, where
    it was watched: instants, and the processor time used until then.
    """

    began_at: datetime
    seconds: float
    cpu_seconds: float
    processor_seconds: float
    exit_status: int
    peak_bytes: int
    looks: tuple[tuple[datetime, float], ...]

    def cpu_share(self, first: datetime, last: datetime) -> float:
        """The processor time between two instants, as a share of that time; to 20 ms at both ends."""
        within = [look for look in self.looks if first <= look[0] <= last]
        if len(within) < 2:
            raise Failed("nobody looked between the first start and the last end")
        (began, before), (ended, after) = within[0], within[-1]
        return (after - before) / (ended - began).total_seconds()


class Running:
    """A process under way. Where `watched`, its memory and processor time are looked at every 20 ms."""

    def __init__(
        self, command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, *, watched: bool = False
    ) -> None:
        self._command = [str(word) for word in command]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open until its process has ended
        self._peak = 0
        self._looks: list[tuple[datetime, float]] = []
        self._over = threading.Event()
        self._began = time.perf_counter()
        self._began_at = datetime.now(UTC)
        self._process = subprocess.Popen(
            self._command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors
        )
        self._limit = threading.Timer(_LONGEST_SECONDS, self._process.kill)
        self._limit.daemon = True
        self._limit.start()
        self._watcher = threading.Thread(target=self._watch, daemon=True) if watched else None
        if self._watcher is not None:
            self._watcher.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def has_ended(self) -> bool:
        """Whether it has exited. It is not waited for."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def stop(self) -> None:
        """Tell it to end, as its operator would."""
        # Not by Popen, which would first reap it if it has ended: then nothing says any more what it has used.
        os.kill(self.pid, signal.SIGTERM)

    def wait(self, *, ends_well: bool = True) -> Finished:
        """Until its exit. Raises Failed where it did not exit with 0, unless that is no matter."""
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        seconds = time.perf_counter() - self._began
        cpu_seconds = cpu_seconds_of(self.pid)  # not yet reaped: its times can still be read
        self._over.set()
        self._limit.cancel()
        if self._watcher is not None:
            self._watcher.join()
        # In the place of Popen.wait: only this call says what the process has used, to the microsecond.
        _, status, usage = os.wait4(self.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._errors.seek(0)
        told = self._errors.read().decode(errors="replace")
        self._errors.close()
        if self._process.returncode != 0 and ends_well:
            raise Failed(f"{' '.join(self._command)}: exit {self._process.returncode}: {told[-600:].strip()}")
        return Finished(
            self._began_at,
            seconds,
            cpu_seconds,
            usage.ru_utime + usage.ru_stime,
            self._process.returncode,
            self._peak,
            tuple(self._looks),
        )

    def _watch(self) -> None:
        status = Path(f"/proc/{self.pid}/status")
        while not self._over.wait(_LOOK_SECONDS):
            with contextlib.suppress(OSError, StopIteration):
                self._looks.append((datetime.now(UTC), cpu_seconds_of(self.pid)))
                line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
                self._peak = int(line.split()[1]) * 1024


def cpu_seconds_of(pid: int) -> float:
    """What a process has used so far, in user and kernel mode, in all its threads."""
    return sum(map(int, _stat(pid)[11:13])) / _TICKS_PER_SECOND


def cpu_seconds_of_all(pid: int) -> float:
    """What a process, those that it has started and those of its own children that have ended have used so far."""
    seconds = sum(map(int, _stat(pid)[13:15])) / _TICKS_PER_SECOND
    for each in with_children(pid):
        with contextlib.suppress(OSError):
            seconds += cpu_seconds_of(each)
    return seconds


def parent_of(pid: int) -> int:
    """The process that has started this one."""
    return int(_stat(pid)[1])


def with_children(pid: int) -> set[int]:
    """A process and all that it has started and that are still there."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(path.name)] = parent_of(int(path.name))
    found = {pid}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the command's name: proc_pid_stat(5) has them, from number 3 on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def run(command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, *, watched: bool = False) -> Finished:
    """Run a command to its end."""
    return Running(command, env, cwd, watched=watched).wait()
