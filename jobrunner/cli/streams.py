"""The standard streams, whatever they are: closed, full, without a reader, or short of letters."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import NoReturn, TextIO


def read_as_utf8() -> None:
    """Start again in Python's UTF-8 mode where it took the system for one that knows ASCII only.

    That is LC_ALL=C with PYTHONUTF8=0: arguments and paths with other letters would be unreadable. What the
    handlers get as their environment stays as it is.
    """
    if sys.getfilesystemencoding() == "ascii" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - itself


def mend() -> None:
    """Make the standard streams fit for anything: closed ones (``>&-``), and an encoding without all letters."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Left closed, its number would go to the next file opened, which a print would then write into.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # ASCII is what Python takes a system for that does not say; hardly any terminal is so.
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="backslashreplace")


def say(text: str) -> None:
    """To stderr. Where that takes nothing, nobody can be told, and the exit code stands alone."""
    try:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - to stderr
    except OSError:
        drop(sys.stderr)


def complain(message: str, code: int) -> int:
    """Say what is wrong, on one line, and return the exit code."""
    from jobrunner.text import one_line, visible

    # A message may quote what a user, a module or a server has said, at any length.
    say(f"jobrunner: {visible(one_line(message, 1000))}")
    return code


def drop(stream: TextIO) -> None:
    """Let everything from here on go nowhere: what is still buffered would complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def leave(code: int) -> NoReturn:
    """End the process with this code, and no other."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            drop(stream)
    if sys.flags.inspect:
        # PYTHONINSPECT would show the end as a traceback and wait at a prompt.
        os._exit(code)
    sys.exit(code)
