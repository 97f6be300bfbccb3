"""A child that runs handlers, as its parent sees it: spawn, talk, listen."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from jobrunner import clock
from jobrunner.execute.frames import BrokenFrame, Frame, Inbox, encode
from jobrunner.execute.groups import MARK
from jobrunner.execute.process import Process, nameless_file

_READ_BYTES = 1 << 16
_SEND_BYTES = 1 << 18
_SEND_SECONDS = 5.0
_STACKS_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """What every child of a tick is started with. ``mark`` is how its descendants are known in the environment.

    ``reserved`` are the job types that no handler may have, since they are commands.
    """

    imports: tuple[str, ...]
    app_dir: Path | None
    mark: str
    reserved: tuple[str, ...] = ()


class ChildProcess(Process):
    """A child with a channel for frames, a pipe for its output and a file for stack dumps."""

    def __init__(self, plan: ChildPlan) -> None:
        ours, theirs = socket.socketpair()
        self._stacks = nameless_file("jobrunner-stacks")
        # Appended to: after a truncation the child writes at the start again, not where it was.
        fcntl.fcntl(self._stacks, fcntl.F_SETFL, fcntl.fcntl(self._stacks, fcntl.F_GETFL) | os.O_APPEND)
        # Where the child notes whose code its event loop is running, readable also after its death.
        self._turn = nameless_file("jobrunner-turn")
        with suppress(OSError):  # not one byte may be written where RLIMIT_FSIZE is 0
            os.ftruncate(self._turn.fileno(), 8)
        descriptors = (theirs.fileno(), self._stacks.fileno(), self._turn.fileno())
        try:
            super().__init__(
                # -P: neither the current folder nor the script's is on the import path.
                [sys.executable, "-P", "-m", "jobrunner.execute.child"]
                + [str(number) for number in (*descriptors, os.getpid())],
                env={**os.environ, MARK: plan.mark, "PYTHONUNBUFFERED": "1"},
                pass_fds=descriptors,
            )
        except OSError:
            ours.close()
            self._stacks.close()
            self._turn.close()
            raise
        finally:
            theirs.close()
        self._channel = ours
        self._inbox = Inbox()
        self._outgoing = bytearray()
        self._queued_bytes = 0
        self._waiting_since = 0.0
        self.silent_since: float | None = None
        self.killed_as_silent = False
        self.send(
            {
                "kind": "hello",
                "imports": list(plan.imports),
                "app_dir": str(plan.app_dir) if plan.app_dir else None,
                "reserved": list(plan.reserved),
            }
        )

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The output pipe and the channel."""
        return self._output_end, self._channel.fileno()

    def send(self, frame: Frame) -> int:
        """Give the child a frame, without ever waiting for it: what it does not take now is kept for ``flush``.

        Returns a mark for ``has_taken``. A child that writes while nobody reads would else wait for a parent that
        waits for it.
        """
        data = encode(frame)
        if not self._outgoing:
            self._waiting_since = clock.elapsed()
        self._outgoing += data
        self._queued_bytes += len(data)
        self.flush()
        return self._queued_bytes

    def flush(self) -> None:
        """Send on what the child takes by now."""
        try:
            while self._outgoing:
                taken = self._channel.send(self._outgoing[:_SEND_BYTES], socket.MSG_DONTWAIT)
                del self._outgoing[:taken]
                self._waiting_since = clock.elapsed()
        except BlockingIOError:
            if clock.elapsed() - self._waiting_since > _SEND_SECONDS:
                self._fall_silent()
        except OSError:
            self._fall_silent()

    @property
    def is_waiting(self) -> bool:
        """Whether something is left to ``flush``."""
        return bool(self._outgoing) and self.silent_since is None

    def has_taken(self, mark: int) -> bool:
        """Whether the whole of a frame went out. If not, the child never will act on it."""
        return self._queued_bytes - len(self._outgoing) >= mark

    def receive(self) -> list[Frame]:
        """The frames that have arrived. After nonsense or a hang-up the child is silent for good."""
        try:
            data = self._channel.recv(_READ_BYTES, socket.MSG_DONTWAIT)
            frames = self._inbox.feed(data)
        except BlockingIOError:
            return []
        except (OSError, BrokenFrame):
            self._fall_silent()
            return []
        if not data:
            self._fall_silent()
        return frames

    def _fall_silent(self) -> None:
        if self.silent_since is None:
            self.silent_since = clock.elapsed()

    def forget_output(self) -> None:
        """From here on the output is the next run's."""
        self.tail.clear()
        with suppress(OSError):
            os.ftruncate(self._stacks.fileno(), 0)

    def stacks(self) -> str | None:
        return os.pread(self._stacks.fileno(), _STACKS_BYTES, 0).decode("utf-8", "replace") or None

    def ask_for_stacks(self) -> None:
        """Have the child write its stacks, even while a handler holds the interpreter lock."""
        self._signal(signal.SIGUSR2, group=False)

    def whose_turn(self) -> int | None:
        """The run whose code the child's event loop is in, or was in when it died; None: nobody's."""
        return int.from_bytes(os.pread(self._turn.fileno(), 8, 0), "little") or None

    def hang_up(self) -> None:
        """Close the channel: an idle child ends by itself."""
        self._channel.close()

    def close(self) -> None:
        super().close()
        self._channel.close()
        self._stacks.close()
        self._turn.close()
