"""Runs a command on a terminal and returns what a person sees."""

import os
import re
import termios
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.commands import Commands

STYLES = re.compile(r"\x1b\[[\d;]*m|(?:\r\x1b\[K[^\r]*)*\r\x1b\[K")
"""Colours, and progress that was erased again."""
"""The only sequences that a listing may send to a terminal."""


def read_terminal(ours: int) -> str:
    """All that is shown on a terminal, whose our end this is, until nobody has the other end; then ours is closed."""
    seen = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the last one at the other end is gone
            data = b""
        if not data:
            break
        seen += data
    os.close(ours)
    return seen.decode()


def open_terminal(columns: int, lines: int = 24) -> tuple[int, int]:
    """Our end of a new terminal of this size, and the end of the command."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (lines, columns))
    return ours, theirs


def seen_at(
    jobrunner: "Commands", words: str, columns: int, env: Mapping[str, str | None] | None = None
) -> tuple[int, str]:
    """Exit code of a command, and what it shows on a terminal of so many columns."""
    ours, theirs = open_terminal(columns)
    process = jobrunner.start(*words.split(), env={"TERM": "xterm-256color", **(env or {})}, terminal=theirs)
    os.close(theirs)
    seen = read_terminal(ours)
    return process.wait(30), seen.replace("\r\n", "\n")
