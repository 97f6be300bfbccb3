"""A command at work for one run, as its parent sees it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from jobrunner.children.inside.exec_command import STARTING
from jobrunner.children.process import Process, describe_exit, nameless_file
from jobrunner.children.process_groups import MARK

_LAUNCHER = str(Path(__file__).with_name("inside") / "exec_command.py")
_REFUSAL_BYTES = 4096


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What to start, but not after ``begin_before``, on the clock of ``clock.elapsed``.

    ``alarm_seconds`` 0: the kernel is not asked to end it should its parent stand still.
    """

    arguments: Sequence[bytes]
    cwd: Path
    env: Mapping[bytes, bytes]
    stdin: bytes
    alarm_seconds: float
    begin_before: float


class CommandProcess(Process):
    """A program in the place of its launcher, which dies with its parent and tells why it could not start it."""

    def __init__(self, line: CommandLine, mark: str) -> None:
        ours, theirs = socket.socketpair()
        try:
            # A file, not a pipe: one that does not read its input must not make anybody wait.
            with nameless_file("jobrunner-stdin") as stdin:
                stdin.write(line.stdin)
                stdin.seek(0)
                options = [str(theirs.fileno()), str(os.getpid()), str(line.alarm_seconds), str(line.begin_before)]
                super().__init__(
                    # Alone and without the site's packages: it is up in a few milliseconds.
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
        """Let the launcher go on: its group has been noted."""
        with suppress(OSError):
            self._launcher.send(b"\n")

    def refusal(self) -> str | None:
        """Why the program was not started; None: it was. To be asked once, after its end."""
        said = b""
        with suppress(OSError):
            said = self._launcher.recv(_REFUSAL_BYTES)
        if not said:
            # Not the program's exit status then, whatever it is.
            return f"the launcher of the command {describe_exit(self.exit_status)}"
        return said.removeprefix(STARTING).decode("utf-8", "replace") or None

    def stacks(self) -> str | None:
        return None

    def ask_for_stacks(self) -> None:
        """Nothing: the signal for it would end a program that does not know it."""

    def close(self) -> None:
        super().close()
        self._launcher.close()
