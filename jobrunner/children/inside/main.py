"""The child: imports the handler modules and runs one handler after another until its channel closes.

Started as ``python -P -m jobrunner.children.inside.main CHANNEL LINE STACKS TURN PARENT [PAGE]``. It imports the
standard library and the handlers only, and no database of ours. Standard output and error are a pipe to the parent.
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
"""What ``signal`` itself calls: its search for a number in the handler takes a tenth of the time of a short run."""
_LOOK_MILLISECONDS = 250
"""Seen twice in a thousand ticks on a busy machine: a child slept on before a line that was not empty any more."""


def main(arguments: list[str]) -> None:
    """Live until the channel closes or the parent dies."""
    channel, line, stacks, turn, parent, *page = (int(argument) for argument in arguments)
    for descriptor in (channel, line, stacks, turn, *page):
        # What a handler starts must not speak in this child's name, nor read what is in its line.
        os.set_inheritable(descriptor, False)
    _die_with(parent)
    attribution.install()
    faulthandler.enable(stacks)
    # The parent asks where a handler hangs with this signal: it is answered in C, even while the handler
    # holds the interpreter lock.
    faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True, chain=False)
    marks = BegunMarks(page[0] if page else None)
    Child(socket.socket(fileno=channel), socket.socket(fileno=line), turn, marks).serve()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    # Not sys.exit: threads that a handler left behind would keep the process.
    os._exit(0)


def _die_with(parent: int) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        # When memory runs out, the handler goes, not the tick nor the database beside it.
        score.write("1000")
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Child:
    """One child's side of the channel and of the line.

    In the line wait the runs that it is given ahead, each a message of its own: what it has not taken yet, its parent
    can take back.
    """

    def __init__(self, channel: socket.socket, line: socket.socket, turn: int, marks: BegunMarks) -> None:
        self._channel = channel
        self._line = line
        self._turn = turn
        self._marks = marks
        self._inbox = Inbox()
        self._pid = os.getpid()
        self._is_at_work = False
        self._was_asked_to_stop = False
        self._closed_in_a_row = 0
        self._streams = Streams()
        # Also while it has no run: what tells all processes of a service to stop must not take it from its tick.
        signal.signal(signal.SIGTERM, self._on_sigterm)

    def serve(self) -> None:
        """Say hello, then run what comes until the other side hangs up."""
        either = select.poll()
        either.register(self._channel, select.POLLIN)
        either.register(self._line, select.POLLIN)
        while True:
            while not self._is_worn() and (message := self._take()):
                self._act(message)
            if self._is_worn():
                # What waits in the line goes to another child, and this one is killed.
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
                    # From here on this child runs async handlers only. asyncio is imported by those who need it.
                    from jobrunner.children.inside.event_loop import serve

                    serve(self._channel, self._inbox, self._turn, self._marks, messages)
                    return
                self._act(messages.pop(0))

    def _take(self) -> ToChild | None:
        try:
            message = self._line.recv(LONGEST_PREFETCHED_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        return of_parent(decode(message)) if message else None

    def _act(self, message: ToChild) -> None:
        if isinstance(message, Hello):
            self._streams.mark = bytes.fromhex(message.output_mark)
            self._import(message)
        elif isinstance(message, StartRun):
            failpoints.hit("child.received")
            # Before it is asked whether it may begin: from here on recovery knows what it works on.
            at_work.tell(message.run_id)
            self._run(message)
            at_work.tell(None)

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
                # A copy that the module forked: it must not take runs out of the original's channel.
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
            # Its parent has stood still since: by now the run may be somebody else's.
            self._streams.end_of_run()
            self._send(reports.not_begun(start))
            return
        self._marks.begin(start.slot)
        progress = Progress(start.run_id, self._send)
        report = self._attempt(registered().get(start.job_type), start, progress)
        if os.getpid() != self._pid:
            # A copy that the handler forked came back here: it must not answer in the original's name.
            os._exit(0)
        failpoints.hit("child.handler_returned")
        self._streams.end_of_run()
        progress.flush()
        self._closed_in_a_row = self._closed_in_a_row + 1 if reports.tells_of_a_closed_connection(report) else 0
        was_told, is_last = self._was_asked_to_stop, self._is_worn()
        self._send(report._replace(ended_at=clock.elapsed(), was_told=was_told, is_last=is_last))

    def _is_worn(self) -> bool:
        """Whether a connection that the handlers keep is gone for good: all runs to come would fail of it here."""
        return self._closed_in_a_row >= _MOST_CLOSED_IN_A_ROW

    def _attempt(self, job: Job[Any, Any] | None, start: StartRun, progress: Progress) -> Report:
        if refused := reports.refused(job, start, is_async=False):
            return refused
        assert job is not None
        context = reports.context_of(start, progress, lambda: self._was_asked_to_stop)
        # Before each run: a handler or its module may have set a handler of its own.
        _set_handler(signal.SIGTERM, self._on_sigterm)
        self._was_asked_to_stop = False
        # The last resort, should the parent be stopped or stuck: the kernel ends this process, whatever it holds.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, start.alarm_seconds or 0)
        try:
            self._is_at_work = True
            try:
                value = job.function(context, **start.payload)
            finally:
                # From here on nothing may be interrupted: half a report would be taken for nonsense.
                self._is_at_work = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except HandlerStopped as error:
            return reports.stopped(error, start)
        except (Retry, Discard, Snooze) as asked:
            return reports.asked(asked, job, start)
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the attempt, not the child
            return reports.failed(error, job, start)
        return reports.returned(value, job, start)

    def _on_sigterm(self, *_: Any) -> None:
        # The first asks, the second (half of kill_after later) interrupts. Between runs there is nothing to stop.
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
    """Why the handler of this type could not take the payload; None: it could, or there is none."""
    job = registered().get(job_type)
    try:
        if job is not None:
            check_match(job_type, job.check, payload)
    except BadPayload as error:
        return str(error)
    return None


def _schedules() -> list[dict[str, Any]]:
    """What the handlers say of when they run. Raises BadPayload, now that all annotations can be read."""
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
    # The words of the import system for `../jobs` or `a..b` speak of packages that nobody asked for.
    if not all(part.isidentifier() for part in name.split(".")):
        raise ConfigurationError("that is no module's name; write it as an import statement does, e.g. myapp.jobs")


def _line(error: BaseException) -> str:
    # Our own refusals say themselves what is wrong.
    return text_of(error) if isinstance(error, JobrunnerError) else f"{type(error).__name__}: {text_of(error)}"


if __name__ == "__main__":
    main(sys.argv[1:])
