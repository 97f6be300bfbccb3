"""The children of a warm command, which run the handlers: forks, too, and yet its own children.

A command has threads and connections when it starts its first child, and must not be forked then. So a helper is forked
before the command begins; it forks the children, with the command as their parent (CLONE_PARENT).
"""

import ctypes
import json
import os
import platform
import runpy
import signal
import socket
import subprocess
import sys
from typing import Any

from harness import fork_setup

_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
_CLONE_PARENT = 0x8000
_LONGEST_REQUEST_BYTES = 1 << 20
_MOST_DESCRIPTORS = 32
_MODULE = "jobrunner.children.inside.main"
_COMMAND = [sys.executable, "-P", "-m", _MODULE]


def start() -> socket.socket:
    """Fork the helper; what to ask it through."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # While Python's own path is as it is for a module.
    if os.fork() == 0:
        fork_setup.die_with_parent()
        ours.close()
        _serve(theirs)
    theirs.close()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST_REQUEST_BYTES)
    return ours


def use(channel: socket.socket) -> None:
    """Have the children of this command forked."""

    class WarmChild(subprocess.Popen[bytes]):
        def _execute_child(self, args: Any, *others: Any) -> None:
            pass_fds, environment, pipes = others[3], others[5], others[9:15]
            if list(args[:4]) != _COMMAND or not fork_setup.is_plain(environment):
                super()._execute_child(args, *others)  # type: ignore[misc] # CPython's own, in no stub
                return
            stdin, _, _, stdout, _, stderr = pipes
            wanted = {0: stdin, 1: stdout, 2: stderr, **{number: number for number in pass_fds}}
            request = {"arguments": args[4:], "environment": dict(environment), "numbers": list(wanted)}
            socket.send_fds(channel, [json.dumps(request).encode()], list(wanted.values()))
            self.pid = int(channel.recv(100))
            self._child_created = True
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined] # CPython's own, in no stub

    process: Any = sys.modules["jobrunner.children.process"]
    real = process.subprocess

    class Subprocess:
        Popen = WarmChild

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

    if _CLONE is not None:
        process.subprocess = Subprocess()


def _serve(channel: socket.socket) -> None:
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, _LONGEST_REQUEST_BYTES, _MOST_DESCRIPTORS)
        if not message:
            os._exit(0)
        pid = _fork_sibling()
        if pid == 0:
            _become(json.loads(message), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(b"%d" % pid)


def _fork_sibling() -> int:
    """As os.fork, but with this process's parent as the parent."""
    python, kernel = ctypes.pythonapi, ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    pid: int = kernel.syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return pid


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    arguments: list[str] = request["arguments"]
    wanted = dict(zip(request["numbers"], descriptors, strict=True))
    fork_setup.take([*_COMMAND, *arguments], request["environment"], wanted)
    sys.argv = [str(sys.modules[_MODULE].__file__), *arguments]
    # Imported by the starter, to be run here.
    del sys.modules[_MODULE]
    runpy.run_module(_MODULE, run_name="__main__", alter_sys=True)
    sys.exit()
