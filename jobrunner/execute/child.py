"""The child: imports the handler modules and runs one handler after another until its channel closes.

Started as ``python -P -m jobrunner.execute.child CHANNEL STACKS PARENT``. It imports the standard library and the
handlers only; it knows no database of ours. Standard output and error are a pipe to the parent.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from jobrunner import clock, faults, payload
from jobrunner.context import Context
from jobrunner.errors import BadPayload
from jobrunner.execute.frames import Frame, Inbox, encode
from jobrunner.registry import Job, registered
from jobrunner.signals import Discard, HandlerStopped, Retry, Snooze

_PR_SET_PDEATHSIG = 1
_TRACEBACK_CHARACTERS = 32_000
_MESSAGE_CHARACTERS = 10_000
_PROGRESS_EVERY_SECONDS = 0.1


def main(arguments: list[str]) -> None:
    """Live until the channel closes or the parent dies."""
    channel, stacks, parent = (int(argument) for argument in arguments)
    _die_with(parent)
    faulthandler.enable(stacks)
    # The parent asks where a handler hangs with this signal: it is answered in C, even while the handler
    # holds the interpreter lock.
    faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True, chain=False)
    Child(socket.socket(fileno=channel)).serve()
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
    """One child's side of the channel."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._inbox = Inbox()
        self._pid = os.getpid()
        self._is_at_work = False
        self._was_asked_to_stop = False
        self._progress: Frame | None = None
        self._progress_sent_at = 0.0

    def serve(self) -> None:
        """Say hello, then run what comes until the other side hangs up."""
        for frame in self._frames():
            if frame["kind"] == "hello":
                self._import(frame)
            elif frame["kind"] == "run":
                faults.reach("child.received")
                self._run(frame)

    def _frames(self) -> Any:
        while True:
            data = self._channel.recv(1 << 16)
            if not data:
                return
            yield from self._inbox.feed(data)

    def _send(self, frame: Frame) -> None:
        self._channel.sendall(encode(frame))

    def _import(self, frame: Frame) -> None:
        if frame["app_dir"]:
            sys.path.insert(0, frame["app_dir"])
        for module in frame["imports"]:
            self._send({"kind": "importing", "module": module})
            try:
                importlib.import_module(module)
            except BaseException as error:  # noqa: BLE001 - a module may also exit while imported
                self._send({"kind": "import_failed", "module": module, "error": _line(error)})
                traceback.print_exc()
                return
            if os.getpid() != self._pid:
                # A copy that the module forked: it must not take runs out of the original's channel.
                os._exit(0)
        policies = [job.policy.as_data() for job in registered().values()]
        self._send({"kind": "ready", "policies": policies})

    def _run(self, frame: Frame) -> None:
        job = registered().get(frame["job_type"])
        report = self._attempt(job, frame)
        if os.getpid() != self._pid:
            # A copy that the handler forked came back here: it must not answer in the original's name.
            os._exit(0)
        faults.reach("child.handler_returned")
        for stream in (sys.stdout, sys.stderr):
            # A handler may have closed or replaced them; its output up to here is what counts.
            with suppress(Exception):
                stream.flush()
        if self._progress is not None:
            self._send(self._progress)
        self._progress = None
        self._send({"kind": "report", "run_id": frame["run_id"], **report})

    def _attempt(self, job: Job[Any, Any] | None, frame: Frame) -> Frame:
        if job is None:
            return {"outcome": "failed", "error_type": "UnknownJobType", "error": "no handler of this name"}
        try:
            job.check(frame["payload"])
        except BadPayload as error:
            return {"outcome": "discarded", "error_type": "bad_payload", "error": str(error)}
        context = self._context_of(frame)
        # Before each run: a handler or its module may have set a handler of its own.
        signal.signal(signal.SIGTERM, self._on_sigterm)
        self._was_asked_to_stop = False
        # The last resort, should the parent be stopped or stuck: the kernel ends this process, whatever it holds.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, frame["alarm_seconds"] or 0)
        try:
            self._is_at_work = True
            try:
                value = job.function(context, **frame["payload"])
            finally:
                # From here on nothing may be interrupted: half a report would be taken for nonsense.
                self._is_at_work = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except HandlerStopped as error:
            # The parent, if it asked for this, knows better why.
            return {"outcome": "stopped", "error_type": "stopped", "error": _text(error), "traceback": _stack()}
        except (Retry, Discard, Snooze) as asked:
            return _asked(asked, job, frame["attempt"])
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the attempt, not the child
            return _failed(error, job, frame["attempt"])
        if isinstance(value, Retry | Discard | Snooze):
            return _asked(value, job, frame["attempt"])
        return {"outcome": "succeeded", "result": _kept(value, frame["result_limit"])}

    def _context_of(self, frame: Frame) -> Context:
        timeout = frame["timeout_seconds"]
        started_at = datetime.fromisoformat(frame["started_at"])
        slot = frame["scheduled_for"]
        return Context(
            run_id=frame["run_id"],
            job_type=frame["job_type"],
            attempt=frame["attempt"],
            max_attempts=frame["max_attempts"],
            scheduled_for=None if slot is None else datetime.fromisoformat(slot),
            lateness=timedelta(seconds=frame["lateness_seconds"]),
            deadline=None if timeout is None else started_at + timedelta(seconds=timeout),
            _ends_at=None if timeout is None else clock.elapsed() + timeout,
            _tell=self._tell,
            _was_asked_to_stop=lambda: self._was_asked_to_stop,
        )

    def _tell(self, progress: Mapping[str, Any]) -> None:
        self._progress = {"kind": "progress", "progress": payload.check_payload(progress)}
        # A handler may tell a million times; the parent needs to know ten times a second at most.
        if clock.elapsed() - self._progress_sent_at >= _PROGRESS_EVERY_SECONDS:
            self._progress_sent_at = clock.elapsed()
            self._send(self._progress)
            self._progress = None

    def _on_sigterm(self, *_: Any) -> None:
        # The first asks, the second (half of kill_after later) interrupts. Between runs there is nothing to stop.
        if not self._is_at_work:
            return
        if self._was_asked_to_stop:
            raise HandlerStopped("the handler did not end after it was asked to")
        self._was_asked_to_stop = True


def _asked(signal_: Retry | Discard | Snooze, job: Job[Any, Any], attempt: int) -> Frame:
    if isinstance(signal_, Snooze):
        return {"outcome": "snoozed", "wait_seconds": signal_.wait.total_seconds(), "error": _text(signal_)}
    named = {"error_type": type(signal_).__name__, "error": _text(signal_)}
    if isinstance(signal_, Discard):
        return {"outcome": "discarded", **named}
    wait = job.policy.backoff.wait(attempt) if signal_.after is None else signal_.after
    return {"outcome": "failed", "wait_seconds": wait.total_seconds(), **named}


def _failed(error: BaseException, job: Job[Any, Any], attempt: int) -> Frame:
    return {
        "outcome": "discarded" if job.is_permanent(error) else "failed",
        "error_type": type(error).__name__,
        "error": _text(error) or type(error).__name__,
        "traceback": _stack(),
        "wait_seconds": job.policy.backoff.wait(attempt).total_seconds(),
    }


def _kept(value: object, limit_bytes: int) -> object:
    """The result as far as both databases can hold it: a return value is a courtesy, never a reason to fail."""
    if value is None:
        return None
    try:
        return payload.check_payload({"result": value}, limit_bytes)["result"]
    except Exception as error:  # noqa: BLE001 - the value may be of a class of the handler's own
        with suppress(Exception):
            sys.stderr.write(f"jobrunner: the return value was not kept: {_text(error)}\n")
        return None


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {_text(error)}"


def _text(error: BaseException) -> str:
    try:
        # Cut here: a message of many megabytes would make a frame that the parent takes for nonsense.
        return str(error)[:_MESSAGE_CHARACTERS]
    except BaseException:  # noqa: BLE001 - the handler's own __str__ may fail in any way
        return "(its message cannot be read)"


def _stack() -> str:
    try:
        text = traceback.format_exc()
    except BaseException:  # noqa: BLE001 - as above: formatting runs the handler's code
        return "(the traceback cannot be formatted)"
    return text if len(text) <= _TRACEBACK_CHARACTERS else "…" + text[-_TRACEBACK_CHARACTERS:]


if __name__ == "__main__":
    main(sys.argv[1:])
