"""The child: imports the handler modules and runs one handler after another until its channel closes.

Started as ``python -P -m jobrunner.children.inside.main CHANNEL QUEUE STACKS RUNNING PARENT [PAGE]``, where all but the
parent's process id are descriptors. It imports only the standard library and the handlers, and opens no database.
Standard output and error are a pipe to the parent.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from jobrunner import clock, failpoints
from jobrunner.children import at_work
from jobrunner.children.begun_page import BegunMarks
from jobrunner.children.frames import LONGEST_PREFETCHED_BYTES, Inbox, decode, encode
from jobrunner.children.inside import attribution, reports
from jobrunner.children.inside.reports import Progress, text_of
from jobrunner.children.inside.stdio import Streams
from jobrunner.children.messages import (
    FromChild,
    Hello,
    ImportFailed,
    Importing,
    Ready,
    Report,
    StartRun,
    ToChild,
    frame_of,
    of_parent,
)
from jobrunner.errors import BadPayload, ConfigurationError, JobrunnerError
from jobrunner.jobs.outcomes import Discard, HandlerStopped, Retry, Snooze
from jobrunner.jobs.payload import check_match
from jobrunner.registry import Job, registered

_PR_SET_PDEATHSIG = 1
_MOST_CLOSED_IN_A_ROW = 2
_set_handler: Callable[[int, Any], object] = getattr(sys.modules.get("_signal"), "signal", signal.signal)
"""The C function that ``signal.signal`` calls. Its own work on the handler takes a tenth of the time of a short run."""
_LOOK_MILLISECONDS = 250
"""A child looks at its queue at least this often. Without this, twice in a thousand ticks on a busy machine a child
slept although its queue was not empty."""


def main(arguments: list[str]) -> None:
    """Run until the channel closes or the parent dies."""
    channel, queue, stacks, running, parent, *page = (int(argument) for argument in arguments)
    for descriptor in (channel, queue, stacks, running, *page):
        # A program that a handler starts must not write into this child's channel nor read its queue.
        os.set_inheritable(descriptor, False)
    _die_with(parent)
    attribution.install()
    faulthandler.enable(stacks)
    # With this signal the parent asks for the stacks when a handler hangs. C code writes them, so it works even while
    # the handler holds the interpreter lock.
    faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True, chain=False)
    marks = BegunMarks(page[0] if page else None)
    Child(socket.socket(fileno=channel), socket.socket(fileno=queue), running, marks).serve()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    # Not sys.exit: it would wait for threads that a handler has left behind.
    os._exit(0)


def _die_with(parent: int) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        # When memory runs out, the kernel kills the handler, and not the tick or a database on this host.
        score.write("1000")
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Child:
    """One child's side of the channel and of the prefetch queue.

    The queue holds one message for each prefetched run. The parent can recall the runs that the child has not taken.
    """

    def __init__(self, channel: socket.socket, queue: socket.socket, running: int, marks: BegunMarks) -> None:
        self._channel = channel
        self._queue = queue
        self._running = running
        self._marks = marks
        self._inbox = Inbox()
        self._pid = os.getpid()
        self._is_at_work = False
        self._was_asked_to_stop = False
        self._closed_in_a_row = 0
        self._streams = Streams()
        # Also while it has no run: a service manager may send SIGTERM to all processes, but the tick ends its children.
        signal.signal(signal.SIGTERM, self._on_sigterm)

    def serve(self) -> None:
        """Import the handlers, then run what arrives until the parent closes the channel."""
        either = select.poll()
        either.register(self._channel, select.POLLIN)
        either.register(self._queue, select.POLLIN)
        while True:
            while not self._has_lost_connections() and (message := self._take()):
                self._act(message)
            if self._has_lost_connections():
                # The parent recalls the runs in the queue for another child, and kills this one.
                while self._channel.recv(1 << 16):
                    pass
                return
            ready = {descriptor for descriptor, _ in either.poll(_LOOK_MILLISECONDS)}
            if self._channel.fileno() not in ready:
                continue
            data = self._channel.recv(1 << 16)
            if not data:
                return
            messages = [of_parent(frame) for frame in self._inbox.feed(data)]
            while messages:
                if isinstance(messages[0], StartRun) and is_async(messages[0].job_type):
                    # From here on this child runs async handlers only. Other children do not import asyncio.
                    from jobrunner.children.inside.event_loop import serve

                    serve(self._channel, self._inbox, self._running, self._marks, messages)
                    return
                self._act(messages.pop(0))

    def _take(self) -> ToChild | None:
        try:
            message = self._queue.recv(LONGEST_PREFETCHED_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        return of_parent(decode(message)) if message else None

    def _act(self, message: ToChild) -> None:
        if isinstance(message, Hello):
            self._streams.mark = bytes.fromhex(message.output_mark)
            self._import(message)
        elif isinstance(message, StartRun):
            failpoints.hit("child.received")
            # Before the child checks begin_before: from here on recovery can see which run it works on.
            at_work.show(message.run_id)
            self._run(message)
            at_work.show(None)

    def _send(self, message: FromChild) -> None:
        self._channel.sendall(encode(frame_of(message)))

    def _import(self, hello: Hello) -> None:
        if hello.app_dir:
            if not os.path.isdir(hello.app_dir):
                self._send(ImportFailed(f"JOBRUNNER_APP_DIR {hello.app_dir} is no folder"))
                return
            sys.path.insert(0, hello.app_dir)
        for module in hello.imports:
            self._send(Importing(module))
            try:
                _check_module_name(module)
                importlib.import_module(module)
            except BaseException as error:  # noqa: BLE001 - a module may also exit while imported
                self._send(ImportFailed(_line(error)))
                traceback.print_exc()
                return
            if os.getpid() != self._pid:
                # This is a copy that the module has forked. It must not take runs from the channel of the child.
                os._exit(0)
        if taken := sorted(set(hello.reserved) & set(registered())):
            clash = f"{taken[0]!r} is a handler and also a command of jobrunner.toml; rename one"
            self._send(ImportFailed(clash))
            return
        try:
            schedules = _schedules() if hello.schedules else []
        except BadPayload as error:
            self._send(ImportFailed(str(error)))
            return
        policies = [job.policy.as_data() for job in registered().values()]
        misfits = [_misfit(job_type, payload) for job_type, payload in hello.payloads]
        self._streams.keep()
        self._send(Ready(policies, schedules, misfits))

    def _run(self, start: StartRun) -> None:
        if clock.elapsed() > start.begin_before:
            # The parent has stalled since the claim: another tick may have the run by now.
            self._streams.end_of_run()
            self._send(reports.not_begun(start))
            return
        self._marks.begin(start.slot)
        progress = Progress(start.run_id, self._send)
        report = self._attempt(registered().get(start.job_type), start, progress)
        if os.getpid() != self._pid:
            # This is a copy that the handler has forked. It must not send a report for the child.
            os._exit(0)
        failpoints.hit("child.handler_returned")
        self._streams.end_of_run()
        progress.flush()
        self._closed_in_a_row = self._closed_in_a_row + 1 if reports.tells_of_a_closed_connection(report) else 0
        was_asked_to_stop, is_last = self._was_asked_to_stop, self._has_lost_connections()
        self._send(report._replace(ended_at=clock.elapsed(), was_asked_to_stop=was_asked_to_stop, is_last=is_last))

    def _has_lost_connections(self) -> bool:
        """Whether a connection that the handlers keep is closed, so that all further runs would fail in this child."""
        return self._closed_in_a_row >= _MOST_CLOSED_IN_A_ROW

    def _attempt(self, job: Job[Any, Any] | None, start: StartRun, progress: Progress) -> Report:
        if refused := reports.refused(job, start, is_async=False):
            return refused
        assert job is not None
        context = reports.context_of(start, progress, lambda: self._was_asked_to_stop)
        # Before each run, because a job handler or its module may have set another signal handler.
        _set_handler(signal.SIGTERM, self._on_sigterm)
        self._was_asked_to_stop = False
        # If the parent is stopped or stuck, the kernel ends this process at this time, even if it holds a lock.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, start.alarm_seconds or 0)
        try:
            self._is_at_work = True
            try:
                value = job.function(context, **start.payload)
            finally:
                # From here on SIGTERM must not interrupt: an incomplete report would be an invalid frame.
                self._is_at_work = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except HandlerStopped as error:
            return reports.stopped(error, start)
        except (Retry, Discard, Snooze) as asked:
            return reports.requested(asked, job, start)
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the attempt, not the child
            return reports.failed(error, job, start)
        return reports.returned(value, job, start)

    def _on_sigterm(self, *_: Any) -> None:
        # The first SIGTERM asks the handler to stop. The second, half of kill_after later, interrupts it.
        if not self._is_at_work:
            return
        if self._was_asked_to_stop:
            raise HandlerStopped("the handler did not end after it was asked to")
        self._was_asked_to_stop = True


def is_async(job_type: str) -> bool:
    """Whether the handler of this type is an ``async def`` function."""
    job = registered().get(job_type)
    return job is not None and job.policy.is_async


def _misfit(job_type: str, payload: dict[str, Any]) -> str | None:
    """Why the payload does not fit the handler of this type. None means that it fits, or that there is no handler."""
    job = registered().get(job_type)
    try:
        if job is not None:
            check_match(job_type, job.check, payload)
    except BadPayload as error:
        return str(error)
    return None


def _schedules() -> list[dict[str, Any]]:
    """The schedules of all handlers, as data.

    Raises BadPayload. The payloads are checked here, because all annotations can be read only after the imports.
    """
    from jobrunner.schedules import declare

    found = []
    for job in registered().values():
        for each in job.schedules:
            try:
                check_match(job.name, job.check, each.payload)
            except BadPayload as error:
                raise BadPayload(f"the schedule {each.name!r}: {error}") from None
            found.append(declare.as_data(each))
    return found


def _check_module_name(name: str) -> None:
    # The import system would answer `../jobs` or `a..b` with an error about packages, which does not help.
    if not all(part.isidentifier() for part in name.split(".")):
        raise ConfigurationError("that is no module's name; write it as an import statement does, e.g. myapp.jobs")


def _line(error: BaseException) -> str:
    # The message of our own errors is enough without the type.
    return text_of(error) if isinstance(error, JobrunnerError) else f"{type(error).__name__}: {text_of(error)}"


if __name__ == "__main__":
    main(sys.argv[1:])
