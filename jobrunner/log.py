"""The log: one line per event, JSON in a file, readable on a terminal, nothing where nobody asked for it."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Protocol, TextIO

from jobrunner import clock
from jobrunner.errors import ConfigurationError, InternalError
from jobrunner.text import first_line_of, one_line, storable, visible

_NO_FILE = "that is a pipe or a socket; name a file"


class Log(Protocol):
    """Takes one event and its fields. ``warning`` and ``error`` are for what an operator should look at."""

    def info(self, event: str, **fields: Any) -> Any:
        """A step of normal work."""

    def warning(self, event: str, **fields: Any) -> Any:
        """Survived, but somebody should know."""

    def error(self, event: str, **fields: Any) -> Any:
        """Something of the tick itself is wrong."""


class Silence:
    """The log of a cron job without a log file: cron would mail every line. structlog is not even imported."""

    def info(self, event: str, **fields: Any) -> None:
        """Say nothing."""

    warning = error = info


def open_log(path: Path | None, *, on_stderr: bool) -> Log:
    """A log that appends JSON lines to ``path`` (created 0600), else writes to stderr if asked, else is silent.

    Raises ConfigurationError when the file cannot be opened: a log that is silently lost helps nobody.
    """
    if path is None and not on_stderr:
        return Silence()
    import structlog

    renderer: Any
    if path is not None:
        stream: TextIO = _open(path)
        renderer = _render_json
    else:
        stream = sys.stderr
        renderer = _render_line
    log: Log = structlog.wrap_logger(
        structlog.WriteLogger(_Unbreakable(stream)),  # type: ignore[arg-type]  # it only writes and flushes
        processors=[structlog.processors.add_log_level, _stamp, _clean, renderer],
        wrapper_class=structlog.BoundLogger,
    )
    return log


def internal_error(log: Log, event: str, error: Exception, ended: str) -> InternalError:
    """What is told of an error that nobody has thought of: one line that names the place. Its stack goes to the log.

    ``ended`` is what it has brought to its end.
    """
    import traceback

    stack = traceback.extract_tb(error.__traceback__)
    told = one_line(first_line_of(error), 300)
    log.error(event, result="internal error", error=told, stack="".join(stack.format()))
    where = f"{os.path.basename(stack[-1].filename)}:{stack[-1].lineno}" if stack else "nowhere"
    return InternalError(f"an internal error ended {ended}: {told} ({where})")


class PlainLog:
    """Writes what the log file of ``open_log`` would hold, for the one line of an idle tick: structlog takes longer to
    import than such a tick to do everything else (docs/adr/0013-idle-tick.md).

    Raises ConfigurationError when the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._stream = _Unbreakable(_open(path))

    def info(self, event: str, **fields: Any) -> None:
        """A step of normal work."""
        line: MutableMapping[str, Any] = {**fields, "event": event, "level": "info"}
        for process in (_stamp, _clean):
            line = process(None, "info", line)
        self._stream.write(_render_json(None, "info", line) + "\n")
        self._stream.flush()


class _Unbreakable:
    """A full disk under the log must not end a tick that still has leases to keep."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        try:
            self._stream.write(text)
        except (OSError, ValueError):
            return

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            return


def _open(path: Path) -> TextIO:
    try:
        # Without waiting: to open a FIFO lasts until somebody reads, which may be never.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
    except OSError as error:
        # ENXIO is a socket, or a FIFO that nobody reads.
        reason = _NO_FILE if error.errno == errno.ENXIO else error.strerror
        raise ConfigurationError(f"cannot write the log file {path}: {reason}") from None
    if not _takes_lines(descriptor):
        os.close(descriptor)
        raise ConfigurationError(f"cannot write the log file {path}: {_NO_FILE}")
    os.set_blocking(descriptor, True)
    # Binary-exact lines: overlapping ticks append to the same file, one write per line.
    return open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1)


def _takes_lines(descriptor: int) -> bool:
    opened = os.fstat(descriptor)
    if stat.S_ISREG(opened.st_mode) or stat.S_ISCHR(opened.st_mode):
        return True
    # A pipe is read by nobody knows whom, unless it is /dev/stdout or /dev/stderr: containers log through these.
    return any(os.path.samestat(opened, os.fstat(number)) for number in (1, 2))


def _stamp(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    event["at"] = clock.utc_now().isoformat(timespec="milliseconds")
    return event


def _clean(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = storable(value)
    return event


def _render_json(_: Any, __: str, event: MutableMapping[str, Any]) -> str:
    return json.dumps(event, default=str)


def _render_line(_: Any, __: str, event: MutableMapping[str, Any]) -> str:
    at, level, what = event.pop("at"), event.pop("level"), event.pop("event")
    fields = " ".join(f"{name}={visible(str(value))}" for name, value in event.items())
    return f"{at[11:19]} {level:7} {visible(what):10} {fields}".rstrip()
