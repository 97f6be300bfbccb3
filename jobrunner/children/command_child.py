"""A command that works on one run: the parent's side."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobrunner.children.inside.exec_command import STARTING
from jobrunner.children.process import Process, describe_exit, nameless_file
from jobrunner.children.process_groups import MARK

_LAUNCHER = str(Path(__file__).with_name("inside") / "exec_command.py")
_REFUSAL_BYTES = 4096


class CommandLine(NamedTuple):
    """What to start. It is not started after ``begin_before``, on the clock of ``clock.elapsed``.

    After ``alarm_seconds`` the kernel ends the command, in case its parent stalls; 0 means never.
    """

    arguments: Sequence[bytes]
    cwd: Path
    env: Mapping[bytes, bytes]
    stdin: bytes
    alarm_seconds: float
    begin_before: float


class CommandProcess(Process):
    """A command, started by a launcher that becomes the command. It dies with its parent.

    If the launcher cannot start the command, it reports why.
    """

    def __init__(self, line: CommandLine, mark: str) -> None:
        ours, theirs = socket.socketpair()
        try:
            # A file, not a pipe: the parent must not wait for a command that does not read its input.
            with nameless_file("jobrunner-stdin") as stdin:
                stdin.write(line.stdin)
                stdin.seek(0)
                options = [str(theirs.fileno()), str(os.getpid()), str(line.alarm_seconds), str(line.begin_before)]
                super().__init__(
                    # Without site packages the interpreter starts in a few milliseconds.
                    [sys.executable, "-I", "-S", _LAUNCHER, *options, os.fsencode(line.cwd), *line.arguments],
                    env={**line.env, MARK.encode(): mark.encode()},
                    pass_fds=(theirs.fileno(),),
                    stdin=stdin,
                )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self._launcher = ours

    def go(self) -> None:
        """Let the launcher go on, because its process group has been noted."""
        with suppress(OSError):
            self._launcher.send(b"\n")

    def refusal(self) -> str | None:
        """Why the program was not started. None means that it was. Call it once, after the process has ended."""
        message = b""
        with suppress(OSError):
            message = self._launcher.recv(_REFUSAL_BYTES)
        if not message:
            # Then the exit status is that of the launcher.
            return f"the launcher of the command {describe_exit(self.exit_status)}"
        return message.removeprefix(STARTING).decode("utf-8", "replace") or None

    def stacks(self) -> str | None:
        return None

    def ask_for_stacks(self) -> None:
        """Do nothing: the signal would end a program that has no handler for it."""

    def close(self) -> None:
        super().close()
        self._launcher.close()
