"""A process that a tick starts in its own session: its output, the signals to its group, its end."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, NamedTuple

from jobrunner import clock
from jobrunner.children.output import Tail

_READ_BYTES = 1 << 16
_MOST_BYTES_PER_READ = 16 * _READ_BYTES
_BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024
"""Of ``ru_maxrss``."""


class Cost(NamedTuple):
    """What an attempt has cost. None means that it is not known."""

    peak_memory_bytes: int | None = None
    processor_seconds: float | None = None


class Process(ABC):
    """Create one only in the main thread: the kernel kills the process when the thread that started it ends."""

    def __init__(
        self,
        arguments: Sequence[str | bytes],
        env: Mapping[str, str] | Mapping[bytes, bytes],
        pass_fds: Sequence[int],
        stdin: int | IO[bytes] = subprocess.DEVNULL,
    ) -> None:
        read_end, write_end = os.pipe()
        try:
            self._process = subprocess.Popen(
                arguments,
                stdin=stdin,
                stdout=write_end,
                stderr=write_end,
                pass_fds=pass_fds,
                start_new_session=True,
                env=env,
            )
        except OSError:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        os.set_blocking(read_end, False)
        self._output_end = read_end
        self._lock = threading.Lock()
        self._tail = Tail()
        self.pid = self._process.pid
        self.spawned_at = clock.elapsed()
        self.exit_status: int | None = None
        # A new process inherits the peak of its parent, so what is not above this says nothing.
        self._inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._usage: resource.struct_rusage | None = None
        self.is_being_killed = False

    @property
    def output(self) -> int:
        """The descriptor of its output."""
        return self._output_end

    @property
    def tail(self) -> Tail:
        """The end of its output."""
        return self._tail

    def _keep(self, data: bytes) -> None:
        self._tail.add(data)

    @abstractmethod
    def stacks(self) -> str | None:
        """The stacks of its threads from when it was asked or crashed. None means that it wrote none."""

    @abstractmethod
    def ask_for_stacks(self) -> None:
        """Ask it to write its stacks, if it can."""

    def read_output(self) -> bool:
        """Read what it has written; False at the end. Bounded, so that a flood does not delay other processes."""
        taken = 0
        while taken < _MOST_BYTES_PER_READ:
            try:
                data = os.read(self._output_end, _READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                return False
            taken += len(data)
            self._keep(data)
            if len(data) < _READ_BYTES:
                # There was no more. What comes now makes the descriptor readable again.
                return True
        return True

    def terminate(self, *, group: bool) -> None:
        """SIGTERM to the process, with ``group`` also to everything that it started."""
        self._signal(signal.SIGTERM, group=group)

    def kill(self) -> None:
        """SIGKILL to the whole group. Safe from any thread, and after the process is gone."""
        self.is_being_killed = True
        self._signal(signal.SIGKILL, group=True)

    def poll(self) -> bool:
        """Whether it has ended. Then ``exit_status`` is set (negative: the signal) and its group is killed."""
        with self._lock:
            if self.exit_status is not None:
                return True
            if not self._has_ended():
                return False
            # It is still a zombie, so no other process can have its id, and the group is still ours.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            if self.exit_status is None:
                self._reap()
            return True

    def _has_ended(self) -> bool:
        if not hasattr(os, "waitid"):
            # macOS before Python 3.13 cannot ask without reaping the process.
            self._reap(os.WNOHANG)
            return self.exit_status is not None
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _reap(self, options: int = 0) -> None:
        pid, status, usage = os.wait4(self.pid, options)
        if pid:
            self._usage = usage
            # Popen must know that its process is gone.
            self._process.returncode = self.exit_status = os.waitstatus_to_exitcode(status)

    def cost_of(self, run_id: int) -> Cost:
        """What the attempt at a run has cost that this process worked on when it ended."""
        return self._cost_since()

    def _cost_since(self, processor_seconds: float = 0.0, *known_peaks: int) -> Cost:
        """What it has used since it had used these seconds. ``known_peaks`` are from before, as is ``_inherited``."""
        usage = self._usage
        if usage is None:
            return Cost()
        is_above = usage.ru_maxrss > max(self._inherited, *known_peaks, 0)
        seconds = round(max(0.0, usage.ru_utime + usage.ru_stime - processor_seconds), 6)
        return Cost(usage.ru_maxrss * _BYTES_PER_UNIT if is_above else None, seconds)

    def close(self) -> None:
        """Close the descriptors of a process that has ended."""
        os.close(self._output_end)

    def _signal(self, number: int, *, group: bool) -> None:
        with self._lock, suppress(ProcessLookupError, PermissionError):
            if self.exit_status is None:
                (os.killpg if group else os.kill)(self.pid, number)


def describe_exit(status: int | None) -> str:
    """A text for people that says how a process ended."""
    if status is None or status >= 0:
        return f"exited with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"


def nameless_file(name: str) -> IO[bytes]:
    """A file without a name, in memory if the system can do that, because the disk may be full or read-only."""
    if not hasattr(os, "memfd_create"):
        import tempfile

        return tempfile.TemporaryFile("wb+")
    return open(os.memfd_create(name), "rb+")
