"""Commands as forks of a process that has imported everything already: see `harness.starter`."""

import atexit
import functools
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import fork_setup, starter

PLAIN_LOCALE = {"LANG": "C.UTF-8"}


def can_be_warm(command: str, words: list[str], environment: Mapping[str, str]) -> bool:
    """Whether a copy of the starter is the same to a test as the script."""
    return (
        hasattr(os, "pidfd_open")
        and command == str(Path(sys.executable).with_name("jobrunner"))
        and environment.get("LANG") == PLAIN_LOCALE["LANG"]
        and fork_setup.is_plain(environment)
        and sum(len(word) + 1 for word in [sys.executable, command, *words]) < fork_setup.RESERVED_BYTES / 4
        and sum(len(name) + len(value) + 2 for name, value in environment.items()) < fork_setup.RESERVED_BYTES / 4
    )


class WarmProcess(subprocess.Popen[Any]):
    """A command that was forked from the starter: to a test the same as one that was started as a script.

    The starter is its parent and waits for it. How it ended comes through a socket.
    """

    _report: socket.socket

    def _execute_child(self, args: list[str], *others: Any) -> None:
        folder, environment = others[4:6]
        pipes = others[9:15]
        stdin, _, _, stdout, _, stderr = pipes
        self._report, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = {"words": args, "environment": environment, "folder": str(folder)}
        with theirs:
            socket.send_fds(
                _starter().channel, [json.dumps(request).encode()], [theirs.fileno(), stdin, stdout, stderr]
            )
        self.pid = int(self._report.recv(100))
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
    """The one of this process. It ends when the channel closes, and so with this process."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, starter.LONGEST_REQUEST_BYTES)
        with theirs:
            self.process = subprocess.Popen(
                # -P: what lies beside the starter is not on a command's import path.
                [sys.executable, "-P", starter.__file__, str(theirs.fileno()), "x" * fork_setup.RESERVED_BYTES],
                env={"PATH": os.defpath, **PLAIN_LOCALE, fork_setup.RESERVED: "x" * fork_setup.RESERVED_BYTES},
                cwd="/",
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def close(self) -> None:
        self.channel.close()
        self.process.wait(10)


@functools.cache
def _starter() -> _Starter:
    return _Starter()


@atexit.register
def close() -> None:
    """End the starter, if there is one; the next command gets a new one."""
    if _starter.cache_info().currsize:
        _starter().close()
        _starter.cache_clear()
