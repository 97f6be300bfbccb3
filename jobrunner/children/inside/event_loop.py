"""The child's side of ``async def`` handlers: many runs at once in one event loop.

The event loop itself receives the messages of the parent. So if the parent gets no answer to its request to cancel a
run, a run blocks the loop. Which run that is, the parent reads from a file that both share (``running``).
"""

from __future__ import annotations

import asyncio
import contextvars
import mmap
import os
import signal
import socket
import threading
import weakref
from collections import Counter
from collections.abc import Coroutine, Generator, Sequence
from typing import Any

from jobrunner import clock, failpoints
from jobrunner.application.registry import serving
from jobrunner.children.begun_marks import BegunMarks
from jobrunner.children.frames import Inbox
from jobrunner.children.inside import attribution, connections, reports
from jobrunner.children.inside.ahead import RunsAhead
from jobrunner.children.inside.attempt import Attempt
from jobrunner.children.inside.own_work import DatabaseAccess
from jobrunner.children.inside.reports import Send
from jobrunner.children.inside.to_parent import RING_SECONDS, ToParent
from jobrunner.children.messages import (
    Cancel,
    CancelReceived,
    FromChild,
    Report,
    StartRun,
    StartRuns,
    ToChild,
    of_parent,
)
from jobrunner.children.messages import Output as OutputMessage
from jobrunner.children.output import TAIL_BYTES
from jobrunner.children.tokens import BadToken, Tokens

_OUTPUT_EVERY_SECONDS = 0.1
_LINE_BYTES = 1024
_running: contextvars.ContextVar[int] = contextvars.ContextVar("jobrunner_run", default=0)


def serve(
    channel: socket.socket,
    inbox: Inbox,
    tokens: Tokens,
    running: int,
    marks: BegunMarks,
    access: DatabaseAccess,
    messages: Sequence[ToChild],
) -> None:
    """Act on these messages and on all further ones, until the parent closes the channel."""
    with mmap.mmap(running, 8) as cell:
        asyncio.run(_Server(channel, inbox, tokens, cell, marks, access).serve(messages))


class _Server:
    def __init__(
        self,
        channel: socket.socket,
        inbox: Inbox,
        tokens: Tokens,
        cell: mmap.mmap,
        marks: BegunMarks,
        access: DatabaseAccess,
    ) -> None:
        self._channel = channel
        self._inbox = inbox
        self._parent = ToParent(channel, tokens)
        self._cell = cell
        self._marks = marks
        self._access = access
        self._pid = os.getpid()
        self._runs: dict[int, _Run] = {}
        self._at_work: Counter[str] = Counter()
        self._ahead = RunsAhead(tokens)
        # Whether this pass of the event loop has ended a run, and whether such an end has left a place free.
        self._has_ended = self._is_awaited = False
        self._later: asyncio.TimerHandle | None = None

    async def serve(self, messages: Sequence[ToChild]) -> None:
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._is_closed = asyncio.Event()
        self._loop.set_task_factory(self._new_task)
        # The tick stops runs by messages. A SIGTERM to all processes of a service must not end all runs at once.
        self._loop.add_signal_handler(signal.SIGTERM, lambda: None)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        self._loop.add_reader(self._channel.fileno(), self._receive)
        for message in messages:
            self._act(message)
        await self._is_closed.wait()

    def _receive(self) -> None:
        try:
            data = self._channel.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._channel.fileno())
            self._is_closed.set()
            return
        for frame in self._inbox.feed(data):
            self._act(of_parent(frame))

    def _act(self, message: ToChild) -> None:
        if isinstance(message, StartRuns):
            if message.first is None:
                for start in message.runs():
                    self._begin(start)
            else:
                self._ahead.add(message)
                self._begin_next()
            self._set_alarm()
        elif isinstance(message, Cancel):
            # Also for a run that is over: the answer shows that nothing blocks the loop.
            self._send(CancelReceived(message.run_id))
            if run := self._runs.get(message.run_id):
                run.attempt.was_asked_to_stop = True
                # Else it sees this in its first step: a task that is cancelled before that reports nothing.
                if run.has_begun:
                    run.work.cancel()

    def _begin_next(self) -> bool:
        """Begin as many of the runs ahead as there are places for; whether this was any."""
        before = len(self._runs)
        try:
            while (start := self._ahead.take(self._at_work)) is not None:
                self._begin(start)
        except (BadToken, OSError):
            # As in a child of plain handlers: it is not known any more what it may begin.
            os._exit(1)
        return len(self._runs) > before

    def _begin(self, start: StartRun) -> None:
        failpoints.hit("loop.received")
        run = _Run(Attempt(start, self._send, self._access), self._send, self._loop)
        # Not that of now: the run that has just ended may have set variables of its own.
        context = self._context.copy()
        context.run(_running.set, run.run_id)
        context.run(attribution.sink.set, run.output.write)
        self._runs[run.run_id] = run
        self._at_work[start.job_type] += 1
        run.work = self._loop.create_task(self._work_on(run), context=context)

    async def _work_on(self, run: _Run) -> None:
        report = await self._attempt(run)
        if os.getpid() != self._pid:
            # This is a copy that the handler has forked. It must not send a report for the child.
            os._exit(0)
        failpoints.hit("loop.handler_returned")
        del self._runs[run.run_id]
        self._at_work[run.attempt.start.job_type] -= 1
        for left in run.background:
            # The background tasks of a handler end with it.
            left.cancel()
        run.output.flush()
        run.attempt.flush()
        self._report(report)

    async def _attempt(self, run: _Run) -> Report:
        start = run.attempt.start
        # Asked here, in the first step of the run: another handler may have blocked the loop since it was received.
        if clock.elapsed() > start.begin_before or run.attempt.was_asked_to_stop:
            # The host or the loop has stalled since the claim: another tick may have the run by now.
            return reports.not_begun(start)
        run.has_begun = True
        self._marks.begin(start.slot)
        return await run.attempt.run_async(serving().get(start.job_type), connections.around_async_run())

    def _set_alarm(self) -> None:
        """Let the kernel end this process at the earliest limit of all runs, in case the parent is stopped or stuck."""
        ends = [run.last_resort_at for run in self._runs.values() if run.last_resort_at is not None]
        left = max(0.001, min(ends) - clock.elapsed()) if ends else 0
        signal.setitimer(signal.ITIMER_REAL, left)

    def _report(self, report: Report) -> None:
        if report.outcome == "succeeded" and report.result is None:
            self._parent.send_encoded(reports.encode_success(report.run_id, clock.elapsed()))
        else:
            self._parent.send(report)
        if not self._has_ended:
            # Other runs may end in the same pass of the loop. If one of them blocks it, the parent looks by itself.
            # This is called before the first step of the run that begins now.
            self._has_ended = True
            self._loop.call_soon(self._end_pass)
        self._is_awaited |= not self._begin_next()

    def _end_pass(self) -> None:
        self._has_ended = False
        self._set_alarm()
        if self._is_awaited or clock.elapsed() >= self._parent.rung_at + RING_SECONDS:
            self._ring()
        elif self._later is None:
            self._later = self._loop.call_later(RING_SECONDS, self._ring)

    def _ring(self) -> None:
        if self._later is not None:
            self._later.cancel()
        self._later, self._is_awaited = None, False
        if not self._parent.is_heard:
            self._parent.ring(rests=not self._runs)

    def _send(self, message: FromChild) -> None:
        self._parent.send(message)
        self._parent.ring()

    def _new_task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        new: asyncio.Task[Any] = asyncio.Task(_StepNoter(coroutine, self._cell), loop=loop, **options)
        # ``_work_on``, the first task of a run, is created outside the run's context, so it is not added here.
        if run := self._runs.get(_running.get()):
            run.background.add(new)
        return new


class _Run:
    work: asyncio.Task[None]

    def __init__(self, attempt: Attempt, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        self.attempt = attempt
        self.run_id = attempt.start.run_id
        self.has_begun = False
        self.background: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self.output = _Output(self.run_id, send, loop)
        alarm = attempt.start.alarm_seconds
        self.last_resort_at = None if alarm is None else clock.elapsed() + alarm


class _Output:
    """Sends the output of one run to the parent: at once, but no more than the length of a tail per time window."""

    def __init__(self, run_id: int, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        self._run_id = run_id
        self._send = send
        self._loop = loop
        self._pending = bytearray()
        self._lock = threading.Lock()
        self._window_at = 0.0
        self._sent = 0
        self._is_waiting = False

    def write(self, data: bytes) -> None:
        with self._lock:
            self._pending += data
            del self._pending[:-TAIL_BYTES]
            if not self._pending.endswith(b"\n") and len(self._pending) < _LINE_BYTES:
                return
            if clock.elapsed() - self._window_at >= _OUTPUT_EVERY_SECONDS:
                self._window_at, self._sent = clock.elapsed(), 0
            may_send = self._sent + len(self._pending) <= TAIL_BYTES
            if not may_send and not self._is_waiting:
                # There is too much output: its end is sent when the window is over.
                self._is_waiting = True
                self._loop.call_soon_threadsafe(self._loop.call_later, _OUTPUT_EVERY_SECONDS, self.flush)
        if may_send:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            data, self._pending = bytes(self._pending), bytearray()
            self._sent += len(data)
            self._is_waiting = False
        if data:
            self._send(OutputMessage(self._run_id, data.decode("utf-8", "replace")))


class ExitInBackground(Exception):
    """Raised in a background coroutine of a handler that has called ``sys.exit``, so that the event loop goes on."""


class _StepNoter(Coroutine[Any, Any, Any]):
    """A coroutine that notes during each of its steps which run the event loop is running."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], cell: mmap.mmap) -> None:
        self._coroutine = coroutine
        self._cell = cell

    def send(self, value: Any) -> Any:
        return self._step(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._coroutine.throw, *error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        # asyncio reads the frame and the code of a coroutine to show it.
        return getattr(self._coroutine, name)

    def _step(self, step: Any, *arguments: Any) -> Any:
        self._cell[:] = _running.get().to_bytes(8, "little")
        try:
            return step(*arguments)
        except (SystemExit, KeyboardInterrupt) as error:
            raise ExitInBackground(f"{type(error).__name__}: {error}") from error
        finally:
            self._cell[:] = bytes(8)
