"""The child: imports the handler modules and runs one handler after another until its channel closes.

Started as ``python -P -m jobrunner.children.inside.main CHANNEL TOKENS STACKS RUNNING PARENT [PAGE]``, where all but
the parent's process id are descriptors. It imports only the standard library and the handlers. It opens the database
only when a handler uses it through its context.
Standard output and error are a pipe to the parent.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from jobrunner import clock, failpoints
from jobrunner.application import tracing
from jobrunner.application.job import Job
from jobrunner.application.registry import serving
from jobrunner.children import process_title
from jobrunner.children.begun_marks import BegunMarks
from jobrunner.children.frames import Inbox
from jobrunner.children.inside import attribution, connections, reports
from jobrunner.children.inside.attempt import Attempt
from jobrunner.children.inside.costs import Meter
from jobrunner.children.inside.imports import import_handlers
from jobrunner.children.inside.lifetime import end_with_parent
from jobrunner.children.inside.own_work import DatabaseAccess
from jobrunner.children.inside.stdio import Streams
from jobrunner.children.inside.to_parent import RING_SECONDS, ToParent
from jobrunner.children.messages import FromChild, Hello, StartRun, StartRuns, ToChild, of_parent
from jobrunner.children.tokens import BadToken, Tokens
from jobrunner.jobs.outcomes import HandlerStopped

_MOST_CLOSED_IN_A_ROW = 2
_signals: Any = sys.modules.get("_signal", signal)
"""The C module below ``signal``, whose own work on a handler takes a tenth of the time of a short run."""
_READ_BYTES = 1 << 16
"""A buffer of more than 128 KiB is mapped, cut and unmapped for each message, which takes as long as to decode one."""
_LOOK_MILLISECONDS = 250
"""A child looks for a token at least this often. Without this, twice in a thousand ticks on a busy machine a child
slept although there was one."""
_EXPORT_SECONDS = 0.8
"""How long a child that ends exports spans. After a second its parent kills it."""


def main(arguments: list[str]) -> None:
    """Run until the channel closes or the parent dies."""
    channel, tokens, stacks, running, parent, *page = (int(argument) for argument in arguments)
    for descriptor in (channel, tokens, stacks, running, *page):
        # A program that a handler starts must not write into this child's channel nor take its tokens.
        os.set_inheritable(descriptor, False)
    end_with_parent(parent)
    attribution.install()
    faulthandler.enable(stacks)
    # With this signal the parent asks for the stacks when a handler hangs. C code writes them, so it works even while
    # the handler holds the interpreter lock.
    faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True, chain=False)
    marks = BegunMarks(page[0] if page else None)
    Child(socket.socket(fileno=channel), Tokens(socket.socket(fileno=tokens)), running, marks).serve()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    tracing.flush(_EXPORT_SECONDS)
    # Not sys.exit: it would wait for threads that a handler has left behind.
    os._exit(0)


class Child:
    """One child's side of the channel and of the tokens.

    The contents of runs arrive through the channel. A run begins when the child has taken its token: until then the
    parent can recall it.
    """

    def __init__(self, channel: socket.socket, tokens: Tokens, running: int, marks: BegunMarks) -> None:
        self._channel = channel
        self._tokens = tokens
        self._parent = ToParent(channel, tokens)
        self._running = running
        self._marks = marks
        self._meter = Meter(running)
        self._inbox = Inbox()
        # By sequence number. The messages of runs without a token are kept in the order in which they came.
        self._contents: deque[tuple[int, StartRun]] = deque()
        self._others: list[ToChild] = []
        self._pid = os.getpid()
        self._attempt: Attempt | None = None
        self._is_shielded = self._is_interrupted = False
        self._closed_in_a_row = 0
        self._hello: Hello | None = None
        self._access = DatabaseAccess()
        self._streams = Streams()
        self._jobs: Mapping[str, Job[Any, Any]] = {}
        self._handle_sigterm = self._on_sigterm
        # Also while it has no run: a service manager may send SIGTERM to all processes, but the tick ends its children.
        signal.signal(signal.SIGTERM, self._handle_sigterm)

    def serve(self) -> None:
        """Import the handlers, then run what arrives until the parent closes the channel."""
        either = select.poll()
        either.register(self._channel, select.POLLIN)
        either.register(self._tokens, select.POLLIN)
        while True:
            runs = 0
            while not self._has_lost_connections() and (start := self._take()):
                runs += 1
                failpoints.hit("child.received")
                # Before the child checks begin_before: from here on recovery can see which run it works on.
                process_title.show(start.run_id)
                self._run(start)
            self._rest(is_after_several=runs > 1)
            if self._has_lost_connections():
                # The parent recalls the runs in the queue for another child, and kills this one.
                while self._channel.recv(1 << 16):
                    pass
                return
            if self._channel.fileno() not in {descriptor for descriptor, _ in either.poll(_LOOK_MILLISECONDS)}:
                continue
            if not self._receive():
                return
            while self._others:
                if isinstance(self._others[0], StartRuns):
                    # From here on this child runs async handlers only. Other children do not import asyncio.
                    from jobrunner.children.inside.event_loop import serve

                    access = DatabaseAccess(self._hello)
                    serve(self._channel, self._inbox, self._tokens, self._running, self._marks, access, self._others)
                    return
                message = self._others.pop(0)
                if isinstance(message, Hello):
                    self._streams.mark = bytes.fromhex(message.output_mark)
                    self._import(message)

    def _rest(self, *, is_after_several: bool) -> None:
        """Let the parent know that there is no token, and that no alarm is needed.

        After a single run it does not say that it rests: then the parent may wait for the reports of other children.
        """
        process_title.show(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if not self._parent.is_heard or is_after_several:
            self._parent.ring(rests=is_after_several)

    def _take(self) -> StartRun | None:
        """Take the next run. Raises BadToken if the parent has not given the token."""
        token = self._tokens.take()
        if token is None:
            return None
        contents = self._contents
        while not contents or contents[0][0] != token:
            if contents and contents[0][0] > token:
                raise BadToken
            if contents:
                # It was recalled.
                contents.popleft()
            elif not self._receive():
                os._exit(0)
        return contents.popleft()[1]

    def _receive(self) -> bool:
        """Wait for messages of the parent and keep them. False means that it has closed the channel."""
        data = self._channel.recv(_READ_BYTES)
        if not data:
            return False
        for message in map(of_parent, self._inbox.feed(data)):
            if isinstance(message, StartRuns) and message.first is not None and message.places is None:
                self._contents.extend(enumerate(message.runs(), message.first))
            else:
                self._others.append(message)
        return True

    def _import(self, hello: Hello) -> None:
        self._hello, self._access = hello, DatabaseAccess(hello, self._shielded)
        answer = import_handlers(hello, self._parent.send)
        self._jobs = serving()
        connections.prepare()
        self._streams.keep()
        self._parent.send(answer)

    def _run(self, start: StartRun) -> None:
        if clock.elapsed() > start.begin_before:
            # The parent has stalled since the claim: another tick may have the run by now.
            self._streams.end_of_run()
            self._parent.send(reports.not_begun(start))
            return
        self._marks.begin(start.slot)
        attempt = self._attempt_at(start)
        connections.before_run()
        self._meter.begin(start.run_id)
        report = attempt.run(self._jobs.get(start.job_type))
        if os.getpid() != self._pid:
            # This is a copy that the handler has forked. It must not send a report for the child.
            os._exit(0)
        peak, processor = self._meter.end()
        failpoints.hit("child.handler_returned")
        connections.after_run(report)
        self._streams.end_of_run()
        attempt.flush()
        self._closed_in_a_row = self._closed_in_a_row + 1 if reports.shows_closed_connection(report) else 0
        ended_at = clock.elapsed()
        is_success = report.outcome == "succeeded"
        if is_success and report.result is None and not attempt.was_asked_to_stop:
            self._parent.send_encoded(reports.encode_success(start.run_id, ended_at, peak, processor))
        else:
            asked, is_last = attempt.was_asked_to_stop, self._has_lost_connections()
            report = report._replace(peak_memory_bytes=peak, processor_seconds=processor)
            self._parent.send(report._replace(ended_at=ended_at, was_asked_to_stop=asked, is_last=is_last))
        if not is_success or ended_at >= self._parent.rung_at + RING_SECONDS:
            self._parent.ring()

    def _send_of_run(self, message: FromChild) -> None:
        # Interrupted in its middle, a frame would end the channel.
        with self._shielded():
            self._parent.send(message)
            self._parent.ring()

    def _has_lost_connections(self) -> bool:
        """Whether a connection that the handlers keep is closed, so that all further runs would fail in this child."""
        return self._closed_in_a_row >= _MOST_CLOSED_IN_A_ROW

    def _attempt_at(self, start: StartRun) -> Attempt:
        """Make the attempt, and let signals be for it."""
        # Before each run, because a job handler or its module may have set another signal handler.
        _signals.signal(signal.SIGTERM, self._handle_sigterm)
        attempt = self._attempt = Attempt(start, self._send_of_run, self._access)
        # If the parent is stopped or stuck, the kernel ends this process at this time, even if it holds a lock. It is
        # set before the action, because the run before may have left an alarm of its own.
        signal.setitimer(signal.ITIMER_REAL, start.alarm_seconds or 0)
        _signals.signal(signal.SIGALRM, _signals.SIG_DFL)
        return attempt

    def _on_sigterm(self, *_: Any) -> None:
        # The first SIGTERM asks the handler to stop. The second, half of kill_after later, interrupts it.
        attempt = self._attempt
        if attempt is None or not attempt.is_at_work:
            return
        if attempt.was_asked_to_stop:
            self._interrupt()
        attempt.was_asked_to_stop = True

    def _interrupt(self) -> None:
        self._is_interrupted = self._is_shielded
        if not self._is_shielded:
            raise HandlerStopped("the handler did not end after it was asked to")

    @contextmanager
    def _shielded(self) -> Iterator[None]:
        """A block of our own in a handler, such as a COMMIT, which is interrupted only at its end."""
        if threading.current_thread() is not threading.main_thread():
            # Signals do not interrupt it anyway.
            yield
            return
        attempt = self._attempt
        self._is_shielded, self._is_interrupted = attempt is not None and attempt.is_at_work, False
        try:
            yield
        finally:
            self._is_shielded = False
        if self._is_interrupted:
            self._interrupt()


if __name__ == "__main__":
    main(sys.argv[1:])
