"""The log: one line per event, as JSON in a file or as text on a terminal. Without either there is no log."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress

from jobrunner import clock
from jobrunner.errors import ConfigurationError, InternalError
from jobrunner.names import LOG_LEVELS
from jobrunner.text import first_line_of, one_line, storable, visible, visible_block
from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Protocol, TextIO
else:
    Protocol = object

_NO_FILE = "that is a pipe or a socket; name a file"
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}


class Log(Protocol):
    """Writes one event and its fields. An operator should look at each ``warning`` and ``error``.

    ``is_silent``: it writes nothing, so that the fields need not be made.
    """

    is_silent: bool

    def info(self, event: str, **fields: Any) -> Any:
        """A step of normal work."""

    def warning(self, event: str, **fields: Any) -> Any:
        """A problem that the tick survived."""

    def error(self, event: str, **fields: Any) -> Any:
        """A problem of the tick itself."""


class Silence:
    """The log of a cron job without a log file. It writes nothing, because cron would mail every line."""

    is_silent = True

    def info(self, event: str, **fields: Any) -> None:
        """Write nothing."""

    warning = error = info


class LineLog:
    """Writes each event of this level or above as one line, as ``render`` makes it of the fields."""

    is_silent = False

    def __init__(self, stream: TextIO, render: Callable[[dict[str, Any]], str], level: str = LOG_LEVELS[0]) -> None:
        self._stream = stream
        self._render = render
        self._written = LOG_LEVELS[LOG_LEVELS.index(level) :]

    def info(self, event: str, **fields: Any) -> None:
        """See Log."""
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """See Log."""
        self._write("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        """See Log."""
        self._write("error", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if level not in self._written:
            return
        given = {**fields, "event": event, "level": level, "at": clock.utc_now().isoformat(timespec="milliseconds")}
        line = self._render(
            {name: storable(value) if isinstance(value, str) else value for name, value in given.items()}
        )
        # A full disk must not end a tick, which still has leases to renew.
        with suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()


def open_log(path: str | None, *, on_stderr: bool, level: str = LOG_LEVELS[0]) -> Log:
    """A log that appends JSON lines to ``path`` (created 0600). Without a path it writes to stderr, or nothing.

    Events below ``level`` are left out.

    Raises ConfigurationError if the file cannot be opened, because a log must not be lost without a message.
    """
    if path is not None:
        return LineLog(_open(path), _render_json, level)
    return LineLog(sys.stderr, _render_line, level) if on_stderr else Silence()


def internal_error(log: Log, event: str, error: Exception, ended: str) -> InternalError:
    """Turn an unexpected error into one line that names its source line, and log its stack.

    ``ended`` is what the error has ended.
    """
    import traceback

    stack = traceback.extract_tb(error.__traceback__)
    text = one_line(first_line_of(error), 300)
    log.error(event, result="internal error", error=text, stack="".join(stack.format()))
    where = f"{os.path.basename(stack[-1].filename)}:{stack[-1].lineno}" if stack else "nowhere"
    return InternalError(f"an internal error ended {ended}: {text} ({where})")


def _open(path: str) -> TextIO:
    try:
        if (number := _STREAMS.get(path)) is not None:
            # What systemd gives is a socket, and another user's pipe may be closed to us: only the open stream will do.
            return open(os.dup(number), "w", encoding="utf-8", errors="backslashreplace", buffering=1)
        # O_NONBLOCK, because the open of a FIFO waits until another process reads it, perhaps forever.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
    except OSError as error:
        # ENXIO means a socket, or a FIFO without a reader.
        reason = _NO_FILE if error.errno == errno.ENXIO else error.strerror
        raise ConfigurationError(f"cannot write the log file {path}: {reason}") from None
    if not _takes_lines(descriptor):
        os.close(descriptor)
        raise ConfigurationError(f"cannot write the log file {path}: {_NO_FILE}")
    os.set_blocking(descriptor, True)
    # One write per line, because overlapping ticks append to the same file.
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1)


def _takes_lines(descriptor: int) -> bool:
    opened = os.fstat(descriptor)
    if stat.S_ISREG(opened.st_mode) or stat.S_ISCHR(opened.st_mode):
        return True
    # Of the pipes only /dev/stdout and /dev/stderr are accepted: containers log through these.
    return any(os.path.samestat(opened, os.fstat(number)) for number in (1, 2))


def _render_json(event: dict[str, Any]) -> str:
    return json.dumps(event, default=str)


def _render_line(event: dict[str, Any]) -> str:
    at, level, what = event.pop("at"), event.pop("level"), event.pop("event")
    texts = {name: str(value) for name, value in event.items()}
    fields = " ".join(f"{name}={visible(text)}" for name, text in texts.items() if "\n" not in text)
    # Such as a traceback, which nobody can read in one line.
    blocks = [f"\n{visible_block(text.rstrip())}".replace("\n", "\n    ") for text in texts.values() if "\n" in text]
    return f"{at[11:19]} {level:7} {visible(what):10} {fields}".rstrip() + "".join(blocks)
