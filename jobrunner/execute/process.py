"""One child process as its parent sees it: spawn, talk, listen, stop, bury."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from jobrunner import clock
from jobrunner.execute.frames import BrokenFrame, Frame, Inbox, encode
from jobrunner.execute.groups import MARK

TAIL_BYTES = 16 * 1024
_READ_BYTES = 1 << 16
_MOST_READ_PER_TURN = 16 * _READ_BYTES
_SEND_SECONDS = 5.0
_STACKS_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """What every child of a tick is started with. ``mark`` is how its descendants are known in the environment."""

    imports: tuple[str, ...]
    app_dir: Path | None
    mark: str


class ChildProcess:
    """A child with a channel for frames, a pipe for its output and a file for stack dumps.

    Spawn only from the main thread: the kernel's parent-death signal follows the thread that spawned.
    """

    def __init__(self, plan: ChildPlan) -> None:
        ours, theirs = socket.socketpair()
        self._stacks = _stack_file()
        descriptors = (theirs.fileno(), self._stacks.fileno())
        read_end, write_end = os.pipe()
        try:
            self._process = subprocess.Popen(
                # -P: neither the current folder nor the script's is on the import path.
                [sys.executable, "-P", "-m", "jobrunner.execute.child"]
                + [str(number) for number in (*descriptors, os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                pass_fds=descriptors,
                start_new_session=True,
                env={**os.environ, MARK: plan.mark, "PYTHONUNBUFFERED": "1"},
            )
        except OSError:
            ours.close()
            os.close(read_end)
            raise
        finally:
            theirs.close()
            os.close(write_end)
        os.set_blocking(read_end, False)
        ours.settimeout(_SEND_SECONDS)
        self._channel = ours
        self._inbox = Inbox()
        self._output_end = read_end
        self._tail = bytearray()
        self._lock = threading.Lock()
        self.pid = self._process.pid
        self.spawned_at = clock.elapsed()
        self.exit_status: int | None = None
        self.silent_since: float | None = None
        self.killed_as_silent = False
        self.bytes_written = 0
        self.send(
            {"kind": "hello", "imports": list(plan.imports), "app_dir": str(plan.app_dir) if plan.app_dir else None}
        )

    @property
    def descriptors(self) -> tuple[int, int]:
        """The channel and the output pipe, for a selector."""
        return self._channel.fileno(), self._output_end

    def send(self, frame: Frame) -> bool:
        """Give the child a frame. False: it did not take the whole of it, so it never will act on it."""
        try:
            self._channel.sendall(encode(frame))
        except OSError:
            self._fall_silent()
            return False
        return True

    def receive(self) -> list[Frame]:
        """The frames that have arrived. After nonsense or a hang-up the child is silent for good."""
        try:
            data = self._channel.recv(_READ_BYTES)
            frames = self._inbox.feed(data)
        except (OSError, BrokenFrame):
            self._fall_silent()
            return []
        if not data:
            self._fall_silent()
        return frames

    def _fall_silent(self) -> None:
        if self.silent_since is None:
            self.silent_since = clock.elapsed()

    def read_output(self) -> bool:
        """Take what the child has written; False at its end. Bounded, so that a flood starves nobody."""
        taken = 0
        while taken < _MOST_READ_PER_TURN:
            try:
                data = os.read(self._output_end, _READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                return False
            taken += len(data)
            self.bytes_written += len(data)
            self._tail += data
            del self._tail[: -2 * TAIL_BYTES]
        return True

    def output(self) -> str | None:
        """The tail of what was written since ``forget_output``; None: nothing."""
        if not self._tail:
            return None
        return bytes(self._tail[-TAIL_BYTES:]).decode("utf-8", "replace")

    def forget_output(self) -> None:
        """From here on the output is the next run's."""
        self._tail.clear()
        with suppress(OSError):
            os.ftruncate(self._stacks.fileno(), 0)

    def stacks(self) -> str | None:
        """Where the child's threads stood when it was asked or crashed; None: it never said."""
        return os.pread(self._stacks.fileno(), _STACKS_BYTES, 0).decode("utf-8", "replace") or None

    def ask_for_stacks(self) -> None:
        """Have the child write its stacks, even while a handler holds the interpreter lock."""
        self._signal(signal.SIGUSR2, group=False)

    def terminate(self, *, group: bool) -> None:
        """SIGTERM to the child, with ``group`` also to everything that it started."""
        self._signal(signal.SIGTERM, group=group)

    def kill(self) -> None:
        """SIGKILL to the whole group. Safe from any thread, and after the child is gone."""
        self._signal(signal.SIGKILL, group=True)

    def poll(self) -> bool:
        """Whether the child has ended; then ``exit_status`` is set (negative: the signal) and its group is killed."""
        with self._lock:
            if self.exit_status is not None:
                return True
            if not self._has_ended():
                return False
            # Still a zombie: its id cannot have been given to somebody else, so the group is ours to kill.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self.exit_status = self._process.wait()
            return True

    def _has_ended(self) -> bool:
        if not hasattr(os, "waitid"):
            # macOS before Python 3.13: it cannot be asked without burying it.
            return self._process.poll() is not None
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def hang_up(self) -> None:
        """Close the channel: an idle child ends by itself."""
        self._channel.close()

    def close(self) -> None:
        """Give back the descriptors of a child that has ended."""
        self._channel.close()
        self._stacks.close()
        os.close(self._output_end)

    def _signal(self, number: int, *, group: bool) -> None:
        with self._lock, suppress(ProcessLookupError, PermissionError):
            if self.exit_status is None:
                (os.killpg if group else os.kill)(self.pid, number)


def _stack_file() -> BinaryIO:
    """A file without a name. In memory where the system can: the disk may be full or read-only."""
    if not hasattr(os, "memfd_create"):
        return tempfile.TemporaryFile("ab+")
    descriptor = os.memfd_create("jobrunner-stacks")
    # Appended to: after a truncation the child writes at the start again, not where it was.
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
    return open(descriptor, "ab+")
