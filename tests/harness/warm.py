"""Commands, and the workers of xdist, as forks of a process that has imported everything: see `harness.starter`."""

import atexit
import functools
import os
import select
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness import fork_setup, starter, worker
from harness.postgres import short_temporary_folder
from harness.processes import Patient

PLAIN_LOCALE = {"LANG": "C.UTF-8"}
_given: dict[str, str] = {}
"""What the controller tells its workers: where its starter listens."""


def can_fork() -> bool:
    return hasattr(os, "pidfd_open")


def can_be_warm(command: str, words: list[str], environment: Mapping[str, str]) -> bool:
    """Whether a copy of the starter is the same to a test as the script. ``TESTS_COLD=1`` has the script always."""
    return (
        os.environ.get("TESTS_COLD") != "1"
        and can_fork()
        and command == str(Path(sys.executable).with_name("jobrunner"))
        and environment.get("LANG") == PLAIN_LOCALE["LANG"]
        and fork_setup.is_plain(environment)
        and sum(len(word) + 1 for word in [sys.executable, command, *words]) < fork_setup.RESERVED_BYTES / 4
        and sum(len(name) + len(value) + 2 for name, value in environment.items()) < fork_setup.RESERVED_BYTES / 4
    )


class WarmProcess(Patient):
    """A command that was forked from the starter: to a test the same as one that was started as a script.

    The starter is its parent and waits for it. How it ended comes through a socket.
    """

    _report: socket.socket

    def _execute_child(self, args: list[str], *others: Any) -> None:
        folder, environment = others[4:6]
        pipes = others[9:15]
        stdin, _, _, stdout, _, stderr = pipes
        streams = (stdin, stdout, stderr)
        self._report, self.pid = worker.ask(_channel(), args, environment, str(folder), streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined] # CPython's own, in no stub

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        return self._hear_end(0)

    def _wait(self, timeout: float | None) -> int:
        code = self._hear_end(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def _hear_end(self, seconds: float | None) -> int | None:
        with self._waitpid_lock:  # type: ignore[attr-defined] # CPython's own, in no stub
            if self.returncode is None and select.select([self._report], [], [], seconds)[0]:
                self.returncode = int(self._report.recv(100))
                self._report.close()
            return self.returncode


class _Starter:
    """The one of this run of the tests. It ends when this object is closed, and so with this process."""

    def __init__(self) -> None:
        self._lifeline, theirs = socket.socketpair()
        self._folder = tempfile.TemporaryDirectory(prefix="jrwarm-", dir=short_temporary_folder())
        self.place = f"{self._folder.name}/starter"
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.place)
            # Listening already: whoever comes before everything is imported waits.
            listener.listen(64)
            descriptors = (theirs.fileno(), listener.fileno())
            self.process = subprocess.Popen(
                [
                    # -P: what lies beside the starter is not on a command's import path.
                    *(sys.executable, "-P", starter.__file__),
                    *(*map(str, descriptors), "x" * fork_setup.RESERVED_BYTES),
                ],
                env={"PATH": os.defpath, **PLAIN_LOCALE, fork_setup.RESERVED: "x" * fork_setup.RESERVED_BYTES},
                cwd="/",
                stdin=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,
            )

    def close(self) -> None:
        self._lifeline.close()
        self.process.wait(10)
        self._folder.cleanup()


@functools.cache
def _starter() -> _Starter:
    return _Starter()


def _place() -> str:
    """Where the starter listens. A worker's is that of the controller."""
    return _given.get("starter") or _starter().place


def connect() -> socket.socket:
    """A new way to the starter."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(_place())
    return channel


@functools.cache
def _channel() -> socket.socket:
    """What this process asks the starter through."""
    channel = connect()
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, starter.LONGEST_REQUEST_BYTES)
    return channel


def pytest_configure(config: pytest.Config) -> None:
    given = getattr(config, "workerinput", {})
    if "starter" in given:
        _given["starter"] = given["starter"]


def forks_workers() -> bool:
    """Whether a fork is the same to a worker as a Python of its own."""
    return can_fork() and fork_setup.is_plain(os.environ)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list[Any]) -> None:
    if forks_workers():
        for spec in specs:
            spec.python = shlex.join([sys.executable, "-I", "-S", worker.__file__, _place()])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if can_fork():
        node.workerinput["starter"] = _place()


@atexit.register
def close() -> float:
    """End the starter, if this process has one; the next command gets a new one. The processor time of its commands."""
    if _channel.cache_info().currsize:
        _channel().close()
        _channel.cache_clear()
    if not _starter.cache_info().currsize:
        return 0.0
    before = os.times()
    _starter().close()
    _starter.cache_clear()
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])
