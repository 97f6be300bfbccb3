"""Becomes a command: ``python -I -S exec_command.py CHANNEL PARENT ALARM BEFORE FOLDER PROGRAM [ARGUMENT…]``.

A parent with threads must run nothing between fork and exec. So this process sets up what the command must inherit,
and then executes the command. It imports only a few modules of the standard library, so that it starts quickly.
"""

import ctypes
import errno
import os
import signal
import sys
import time
from contextlib import suppress

STARTING = b"\0"
"""The launcher sends this just before it executes the program. If that fails, the reason follows."""
LATE = "its last moment to begin has passed: its host stood still"
_PR_SET_PDEATHSIG = 1
# The same clock as in jobrunner.clock, which this process cannot import.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def main(
    channel: int, parent: int, alarm_seconds: float, begin_before: float, folder: str, arguments: list[str]
) -> None:
    """Wait for the parent, then execute the command. If that fails, send the reason to the parent and exit with 127."""
    os.set_inheritable(channel, False)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent or not os.read(channel, 1):
        os._exit(127)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        # When memory runs out, the kernel kills the command, and not the tick or a database on this host.
        score.write("1000")
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        # The interpreter ignores these signals, and the command would inherit that.
        signal.signal(number, signal.SIG_DFL)
    # If the parent is stopped or stuck, the kernel ends the command at this time. The timer survives the exec.
    signal.setitimer(signal.ITIMER_REAL, alarm_seconds)
    try:
        os.chdir(folder)
    except OSError as error:
        _refuse(channel, f"its folder {folder} cannot be entered: {error.strerror}")
    if time.clock_gettime(_SINCE_BOOT) > begin_before:
        _refuse(channel, LATE)
    os.write(channel, STARTING)
    try:
        os.execvp(arguments[0], arguments)  # noqa: S606 - no shell is intended
    except OSError as error:
        _refuse(channel, f"{arguments[0]} cannot be started: {error.strerror}{_hint(arguments[0], error)}")


def _hint(program: str, error: OSError) -> str:
    if error.errno == errno.ENOEXEC:
        return " (is its first line #!/bin/sh or the like?)"
    if "/" not in program:
        return f" (PATH is {os.environ.get('PATH', 'not set')})"
    if error.errno == errno.ENOENT and os.path.exists(program):
        return " (the program that its first line names is missing)"
    return ""


def _refuse(channel: int, reason: str) -> None:
    os.write(channel, reason.encode("utf-8", "replace")[:4000])
    os._exit(127)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), sys.argv[5], sys.argv[6:])
