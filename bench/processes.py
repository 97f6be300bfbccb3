"""Processes whose time is taken: from before they are started to their exit."""

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_LOOK_SECONDS = 0.02
_LONGEST_SECONDS = 900


class Failed(Exception):
    """A measure that did not do its work has no time."""


@dataclass(frozen=True)
class Finished:
    """What a process took. `cpu_seconds` and `peak_bytes` are its own, not those of its children."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int


class Running:
    """A process under way. Its memory is looked at every 20 ms where `watched`; the kernel keeps the peak."""

    def __init__(
        self, command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, *, watched: bool = False
    ) -> None:
        self._command = [str(word) for word in command]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open until its process has ended
        self._peak = 0
        self._over = threading.Event()
        self._began = time.perf_counter()
        self._process = subprocess.Popen(
            self._command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors
        )
        self._limit = threading.Timer(_LONGEST_SECONDS, self._process.kill)
        self._limit.daemon = True
        self._limit.start()
        self._watcher = threading.Thread(target=self._watch, daemon=True) if watched else None
        if self._watcher is not None:
            self._watcher.start()

    def wait(self) -> Finished:
        """Until its exit. Raises Failed where it did not exit with 0 and without a word on stderr."""
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        seconds = time.perf_counter() - self._began
        # Not yet reaped: its times can still be read.
        words = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        self._over.set()
        self._limit.cancel()
        if self._watcher is not None:
            self._watcher.join()
        self._process.wait()
        self._errors.seek(0)
        told = self._errors.read().decode(errors="replace")
        self._errors.close()
        if self._process.returncode != 0:
            raise Failed(f"{' '.join(self._command)}: exit {self._process.returncode}: {told[-600:].strip()}")
        return Finished(seconds, (int(words[11]) + int(words[12])) / _TICKS_PER_SECOND, self._peak)

    def _watch(self) -> None:
        status = Path(f"/proc/{self._process.pid}/status")
        while not self._over.wait(_LOOK_SECONDS):
            with contextlib.suppress(OSError, StopIteration):
                line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
                self._peak = int(line.split()[1]) * 1024


def run(command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, *, watched: bool = False) -> Finished:
    """Run a command to its end."""
    return Running(command, env, cwd, watched=watched).wait()
