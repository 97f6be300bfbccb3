"""A child that runs handlers, on the parent's side: start it, send to it, receive from it."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from jobrunner import clock
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.cost_note import SHARED_BYTES, begun
from jobrunner.children.frames import BrokenFrame, Frame, Inbox, encode
from jobrunner.children.messages import Hello, StartRun, StartRuns, ToChild, frame_of
from jobrunner.children.output import Sections, Tail
from jobrunner.children.process import Cost, Process, nameless_file
from jobrunner.children.process_groups import MARK
from jobrunner.children.tokens import Rung, TokenQueue
from jobrunner.jobs.payload import Payload
from jobrunner.jobs.payload_limits import DEFAULT_LIMIT_BYTES

_READ_BYTES = 1 << 16
_MOST_READS = 16
_SEND_BYTES = 1 << 18
_SEND_SECONDS = 5.0
_LARGEST_BATCH_BYTES = 1 << 20
_STACKS_BYTES = 16 * 1024


class ChildPlan(NamedTuple):
    """What every child of a tick is started with. ``mark`` in the environment identifies the processes that it starts.

    ``reserved`` are the job types of commands, which no handler may have. If ``schedules`` is set, the handshake holds
    the schedules of the handlers; a tick does not need them. For each of ``payloads``, a job type and a payload, the
    handshake says whether it fits the handler. In ``page`` the child notes which runs have begun. ``result_limit`` is
    how many bytes a result may have. The child opens the database only if a handler uses it through its context. Its
    URL goes through the channel, because other processes can read arguments, and a file may have changed since. In
    ``state_folder`` the child notes the effects that it calls.
    """

    imports: tuple[str, ...]
    app_dir: str | None
    mark: str
    page: BegunPage
    reserved: tuple[str, ...] = ()
    schedules: bool = False
    payloads: tuple[tuple[str, Payload], ...] = ()
    result_limit: int = DEFAULT_LIMIT_BYTES
    database_url: str | None = None
    schema: str | None = None
    lease_seconds: float = 60.0
    state_folder: str | None = None

    def __repr__(self) -> str:
        # Without the URL, which may hold a password.
        return f"{type(self).__name__}(mark={self.mark!r}, imports={self.imports!r})"


class ChildProcess(Process):
    """A child with a channel for frames, tokens for the runs that it may begin, a pipe for its output and a file for
    stack dumps.

    ``is_ready``: it has imported the handlers. From then on it rings when its messages are to be read. ``is_plain``: it
    runs one handler after another. Then it reads its channel only between two runs.
    """

    def __init__(self, plan: ChildPlan) -> None:
        ours, theirs = socket.socketpair()
        self._tokens = TokenQueue()
        self._stacks = nameless_file("jobrunner-stacks")
        # In append mode the child writes at the start again after the file is truncated.
        fcntl.fcntl(self._stacks, fcntl.F_SETFL, fcntl.fcntl(self._stacks, fcntl.F_GETFL) | os.O_APPEND)
        # In this file the child notes which run its event loop is running, and what it had used before a plain run. The
        # parent reads it also after its death.
        self._running_file = nameless_file("jobrunner-running")
        with suppress(OSError):  # not one byte may be written where RLIMIT_FSIZE is 0
            os.ftruncate(self._running_file.fileno(), SHARED_BYTES)
        descriptors = (theirs.fileno(), self._tokens.descriptor, self._stacks.fileno(), self._running_file.fileno())
        page = () if plan.page.descriptor is None else (plan.page.descriptor,)
        mark = f"\0jobrunner {os.urandom(16).hex()}\n".encode()
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
        self.is_ready = self.is_plain = False
        self._inbox = Inbox()
        self._recalled: list[int] = []
        self._outgoing = bytearray()
        self._waiting_since = 0.0
        self.channel_lost_at: float | None = None
        self.was_killed_without_channel = False
        asked = (plan.reserved, plan.schedules, plan.payloads)
        of_database = (plan.database_url, plan.schema, plan.lease_seconds)
        folder = plan.state_folder
        self.send(Hello(plan.imports, mark.hex(), plan.app_dir, *asked, *of_database, state_folder=folder))

    @property
    def bell(self) -> int:
        """The descriptor that is readable when it has rung."""
        return self._tokens.bell

    @property
    def channel(self) -> int:
        """The descriptor of the channel."""
        return self._channel.fileno()

    def send(self, message: ToChild) -> None:
        """Send a message without waiting; what the child does not take now is kept for ``flush``.

        If the parent waited while the child waits to write, both would wait forever.
        """
        self._send(encode(frame_of(message)))

    def _send(self, data: bytes) -> None:
        if not self._outgoing:
            self._waiting_since = clock.elapsed()
        self._outgoing += data
        self.flush()

    def give(self, starts: Sequence[StartRun], places: int | None = None) -> None:
        """Give runs to the child, which begins them in this order, after those that it has. ``recall`` takes them back.

        Their content goes through the channel first, and then the tokens: the child waits for the content of a token.
        An event loop begins the next one when fewer than ``places`` of their type are at work. It does not wait, so it
        gets the tokens first, and looks for them when the content arrives.
        """
        content = _encode_runs(self._tokens.following, starts, places)
        if places is None:
            self._send(content)
        run_ids = [start.run_id for start in starts]
        if self.channel_lost_at is None:
            self._tokens.give(run_ids)
        else:
            self._recalled += run_ids
        if places is not None:
            self._send(content)

    def begin(self, starts: Sequence[StartRun]) -> None:
        """Let the child begin these runs at once, all of them in its event loop."""
        self._send(_encode_runs(None, starts))

    def flush(self) -> None:
        """Send as much of the rest as the child takes now."""
        self._tokens.flush()
        try:
            while self._outgoing:
                taken = self._channel.send(self._outgoing[:_SEND_BYTES], socket.MSG_DONTWAIT)
                del self._outgoing[:taken]
                self._waiting_since = clock.elapsed()
        except BlockingIOError:
            # A plain child may be at work for any time; the limit of its run ends it.
            if not self.is_plain and clock.elapsed() - self._waiting_since > _SEND_SECONDS:
                self._lose_channel()
        except OSError:
            self._lose_channel()

    @property
    def is_waiting(self) -> bool:
        """Whether something is left to ``flush``."""
        return bool(self._outgoing) and self.channel_lost_at is None

    def receive(self) -> list[Frame]:
        """The frames that have arrived. After an invalid frame or a closed channel nothing more is received."""
        frames: list[Frame] = []
        try:
            for _ in range(_MOST_READS):
                data = self._channel.recv(_READ_BYTES, socket.MSG_DONTWAIT)
                frames += self._inbox.feed(data)
                if not data or self._inbox.is_broken:
                    self._lose_channel()
                if len(data) < _READ_BYTES or self._inbox.is_broken:
                    break
        except BlockingIOError:
            pass
        except (OSError, BrokenFrame):
            self._lose_channel()
        return frames

    @property
    def is_amid_message(self) -> bool:
        """Whether the rest of a message is still to come."""
        return self._inbox.is_amid_frame

    def has_unread(self) -> bool:
        """Whether something has arrived that ``receive`` has not taken yet."""
        with suppress(OSError):
            return bool(self._channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        return False

    def take_rung(self) -> Rung:
        """Take what it has rung."""
        return self._tokens.take_rung()

    def recall(self) -> list[int]:
        """Recall the runs whose tokens the child has not taken; returns their ids.

        The child sends its report about a run before it takes the next token.
        """
        run_ids = [*self._recalled, *self._tokens.recall()]
        self._recalled = []
        return run_ids

    def _lose_channel(self) -> None:
        if self.channel_lost_at is None:
            self.channel_lost_at = clock.elapsed()
            # The child may still run for a moment. It must not begin a run that it could not report.
            self._recalled = self.recall()

    @property
    def tail(self) -> Tail:
        return self._sections.first

    def _keep(self, data: bytes) -> None:
        self._sections.add(data)

    def next_section(self) -> None:
        """Count the following output for the next run. Call it when all output of the ended run was read."""
        self._sections.next_section()

    def forget_output(self) -> None:
        """Drop the output that the child wrote while no run was at work."""
        self.tail.clear()
        with suppress(OSError):
            os.ftruncate(self._stacks.fileno(), 0)

    def stacks(self) -> str | None:
        written = os.pread(self._stacks.fileno(), _STACKS_BYTES, 0).decode("utf-8", "replace")
        if not written:
            return None
        from jobrunner.jobs.user_code import cut_below

        return cut_below(written)

    def ask_for_stacks(self) -> None:
        """Ask the child to write its stacks. This works even while a handler holds the interpreter lock."""
        self._signal(signal.SIGUSR2, group=False)

    def running_run_id(self) -> int | None:
        """The run whose code the child's event loop is in, or was in when the child died. None means no run."""
        return int.from_bytes(os.pread(self._running_file.fileno(), 8, 0), "little") or None

    def cost_of(self, run_id: int) -> Cost:
        # The runs of an event loop share the process, and are not noted.
        note = begun(self._running_file.fileno())
        if note is None or note.run_id != run_id:
            return Cost()
        cost = self._cost_since(note.processor_seconds, note.largest_program or 0)
        return cost if note.largest_program is not None else cost._replace(peak_memory_bytes=None)

    def close_channel(self) -> None:
        """Close the channel. Then an idle child ends by itself."""
        self._channel.close()

    def close(self) -> None:
        super().close()
        self._channel.close()
        self._close_all()

    def _close_all(self) -> None:
        for each in (self._tokens, self._stacks, self._running_file):
            each.close()


def _encode_runs(first: int | None, starts: Sequence[StartRun], places: int | None = None) -> bytes:
    """The frames of ``StartRuns``: one, or several if it would be very long."""
    data = encode(frame_of(StartRuns.of(first, starts, places)))
    if len(data) <= _LARGEST_BATCH_BYTES or len(starts) == 1:
        return data
    half = len(starts) // 2
    then = None if first is None else first + half
    return _encode_runs(first, starts[:half], places) + _encode_runs(then, starts[half:], places)
