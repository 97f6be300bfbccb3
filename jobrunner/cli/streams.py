"""The standard streams, also if they are closed, full, without a reader, or unable to encode all letters."""

from __future__ import annotations

import atexit
import codecs
import io
import os
import sys

from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn, TextIO


def read_as_utf8() -> None:
    """Start this process again in Python's UTF-8 mode if Python reads the system's texts as ASCII.

    This is so with LC_ALL=C and PYTHONUTF8=0. Arguments and paths with other letters would be unreadable. The
    environment of the handlers does not change.
    """
    if sys.getfilesystemencoding() == "ascii" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - itself


def repair() -> None:
    """Open closed standard streams (``>&-``), and make each able to encode all letters."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The next opened file would get the number of a closed stream, and a print would write into that file.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Python takes ASCII if the system names no encoding, but most terminals can show UTF-8.
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="backslashreplace")


def to_stderr(text: str) -> None:
    """Write a line to stderr. If that fails, only the exit code reports the error."""
    try:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - to stderr
    except OSError:
        drop(sys.stderr)


def report_error(message: str, code: int) -> int:
    """Write an error in one line to stderr, and return the exit code."""
    from jobrunner.text import one_line, visible

    # A message may quote a text of any length from a user, a module or a server.
    to_stderr(f"jobrunner: {visible(one_line(message, 1000))}")
    return code


def drop(stream: TextIO) -> None:
    """Send all further output to /dev/null. Otherwise the flush at exit would fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def end_process(code: int) -> NoReturn:
    """End the process with exactly this exit code.

    What is registered for the exit is done. But Python would then take all modules apart, which is a tenth of the time
    of an idle tick. Nothing waits for that: the database and the files are closed, each thread of ours is a daemon.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public way
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            drop(stream)
    os._exit(code)
