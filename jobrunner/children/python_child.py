"""A child that runs handlers, as its parent sees it: spawn, talk, listen."""

from __future__ import annotations

import fcntl
import os
import secrets
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.frames import (
    LONGEST_PREFETCHED_BYTES,
    BrokenFrame,
    Frame,
    Inbox,
    decode,
    encode,
    encode_message,
)
from jobrunner.children.messages import Hello, StartRun, ToChild, frame_of
from jobrunner.children.output import Sections, Tail
from jobrunner.children.process import Process, nameless_file
from jobrunner.children.process_groups import MARK
from jobrunner.jobs.payload import DEFAULT_LIMIT_BYTES, Payload

_READ_BYTES = 1 << 16
_MOST_READS = 16
_SEND_BYTES = 1 << 18
_SEND_SECONDS = 5.0
_STACKS_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """What every child of a tick is started with. ``mark`` is how its descendants are known in the environment.

    ``reserved`` are the job types that no handler may have, since they are commands. ``schedules``: the greeting is to
    hold those of the handlers, which a tick has no use for; ``payloads``: also which of these, each with its job type,
    do not fit their handlers. ``page`` is where it notes which runs have been begun. ``result_limit`` is how many bytes
    a result may have.
    """

    imports: tuple[str, ...]
    app_dir: Path | None
    mark: str
    reserved: tuple[str, ...] = ()
    schedules: bool = False
    payloads: tuple[tuple[str, Payload], ...] = ()
    page: BegunPage = field(default_factory=lambda: BegunPage(None))
    result_limit: int = DEFAULT_LIMIT_BYTES


class ChildProcess(Process):
    """A child with a channel for frames, a line of runs, a pipe for its output and a file for stack dumps.

    The line is a pair of sockets with a message for each run. The parent keeps both ends: what the child has not taken
    yet, nobody but the kernel has, and the parent can take back.
    """

    def __init__(self, plan: ChildPlan) -> None:
        ours, theirs = socket.socketpair()
        self._line, self._line_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._stacks = nameless_file("jobrunner-stacks")
        # Appended to: after a truncation the child writes at the start again, not where it was.
        fcntl.fcntl(self._stacks, fcntl.F_SETFL, fcntl.fcntl(self._stacks, fcntl.F_GETFL) | os.O_APPEND)
        # Where the child notes whose code its event loop is running, readable also after its death.
        self._turn = nameless_file("jobrunner-turn")
        with suppress(OSError):  # not one byte may be written where RLIMIT_FSIZE is 0
            os.ftruncate(self._turn.fileno(), 8)
        descriptors = (theirs.fileno(), self._line_end.fileno(), self._stacks.fileno(), self._turn.fileno())
        page = () if plan.page.descriptor is None else (plan.page.descriptor,)
        mark = f"\0jobrunner {secrets.token_hex(16)}\n".encode()
        self._sections = Sections(mark)
        try:
            super().__init__(
                # -P: neither the current folder nor the script's is on the import path.
                [sys.executable, "-P", "-m", "jobrunner.children.inside.main"]
                + [str(number) for number in (*descriptors, os.getpid(), *page)],
                env={**os.environ, MARK: plan.mark, "PYTHONUNBUFFERED": "1"},
                pass_fds=(*descriptors, *page),
            )
        except OSError:
            ours.close()
            self._close_all()
            raise
        finally:
            theirs.close()
        self._channel = ours
        self._inbox = Inbox()
        self._called_back: list[int] = []
        self._outgoing = bytearray()
        self._waiting_since = 0.0
        self.silent_since: float | None = None
        self.killed_as_silent = False
        app_dir = str(plan.app_dir) if plan.app_dir else None
        self.send(Hello(plan.imports, mark.hex(), app_dir, plan.reserved, plan.schedules, plan.payloads))

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The output pipe and the channel."""
        return self._output_end, self._channel.fileno()

    def send(self, message: ToChild) -> None:
        """Tell the child something, without ever waiting for it: what it does not take now is kept for ``flush``.

        A child that writes while nobody reads would else wait for a parent that waits for it.
        """
        if not self._outgoing:
            self._waiting_since = clock.elapsed()
        self._outgoing += encode(frame_of(message))
        self.flush()

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

    def receive(self) -> list[Frame]:
        """The frames that have arrived. After nonsense or a hang-up the child is silent for good."""
        frames: list[Frame] = []
        try:
            for _ in range(_MOST_READS):
                data = self._channel.recv(_READ_BYTES, socket.MSG_DONTWAIT)
                frames += self._inbox.feed(data)
                if not data or self._inbox.is_broken:
                    self._fall_silent()
                if len(data) < _READ_BYTES or self._inbox.is_broken:
                    break
        except BlockingIOError:
            pass
        except (OSError, BrokenFrame):
            self._fall_silent()
        return frames

    def has_unheard(self) -> bool:
        """Whether something has arrived that ``receive`` has not taken yet."""
        with suppress(OSError):
            return bool(self._channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        return False

    def prefetch(self, start: StartRun) -> bool:
        """Put a run behind those that the child has. False: it is too long for the line, or the line is full."""
        message = encode_message(frame_of(start))
        if len(message) > LONGEST_PREFETCHED_BYTES:
            return False
        try:
            self._line.send(message, socket.MSG_DONTWAIT)
        except OSError:
            return False
        return True

    def recall(self) -> list[int]:
        """Take back the runs that the child has not begun; their ids. Whatever else it got, it has at least received.

        When it takes a run, it has sent its report about the one before.
        """
        with suppress(BlockingIOError):
            while message := self._line_end.recv(LONGEST_PREFETCHED_BYTES, socket.MSG_DONTWAIT):
                self._called_back.append(int(decode(message)["run_id"]))
        run_ids, self._called_back = self._called_back, []
        return run_ids

    def _fall_silent(self) -> None:
        if self.silent_since is None:
            self.silent_since = clock.elapsed()
            # It may live on for a moment, and would begin what nobody would hear of.
            self._called_back = self.recall()

    @property
    def tail(self) -> Tail:
        return self._sections.first

    def _keep(self, data: bytes) -> None:
        self._sections.add(data)

    def next_section(self) -> None:
        """The run at work has ended, and all that it wrote was read: what follows is the next one's."""
        self._sections.turn()

    def forget_output(self) -> None:
        """Nobody is at work: what it has written since is no run's."""
        self.tail.clear()
        with suppress(OSError):
            os.ftruncate(self._stacks.fileno(), 0)

    def stacks(self) -> str | None:
        return os.pread(self._stacks.fileno(), _STACKS_BYTES, 0).decode("utf-8", "replace") or None

    def ask_for_stacks(self) -> None:
        """Have the child write its stacks, even while a handler holds the interpreter lock."""
        self._signal(signal.SIGUSR2, group=False)

    def running_run_id(self) -> int | None:
        """The run whose code the child's event loop is in, or was in when it died; None: nobody's."""
        return int.from_bytes(os.pread(self._turn.fileno(), 8, 0), "little") or None

    def hang_up(self) -> None:
        """Close the channel: an idle child ends by itself."""
        self._channel.close()

    def close(self) -> None:
        super().close()
        self._channel.close()
        self._close_all()

    def _close_all(self) -> None:
        for each in (self._line, self._line_end, self._stacks, self._turn):
            each.close()
