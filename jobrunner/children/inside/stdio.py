"""Restores the standard streams of a child after each run, because a run may close or replace them."""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress
from typing import Any

_NAMES = {"stdout": 1, "stderr": 2}
_LOWEST_COPY = 10
# Made once, because it is needed twice for every run.
_whatever_happens = suppress(Exception)


class Streams:
    """The standard streams. ``mark`` is written after each run, so that the parent can separate the outputs."""

    def __init__(self) -> None:
        self.mark = b""
        # A separate descriptor for the mark, because a handler may close or replace the standard streams.
        self._output_end = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _LOWEST_COPY)
        self._kept: dict[str, Any] = {}
        self._copies: dict[int, tuple[int, tuple[int, int] | None]] = {}

    def keep(self) -> None:
        """Remember the streams as they are now. The modules of the handlers may have changed them on purpose."""
        self._kept = {name: getattr(sys, name) for name in _NAMES}
        for number in _NAMES.values():
            with suppress(OSError):
                self._copies[number] = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _LOWEST_COPY), _file_of(number)

    def end_of_run(self) -> None:
        """Restore what the run has closed or replaced, and write the mark."""
        for name, stream in self._kept.items():
            with _whatever_happens:
                getattr(sys, name).flush()
            setattr(sys, name, stream)
        for number, (copy, file) in self._copies.items():
            if _file_of(number) != file:
                with suppress(OSError):
                    os.dup2(copy, number)
        try:
            os.write(self._output_end, self.mark)
        except BlockingIOError:
            # A program that the run has started has made the pipe non-blocking. The mark must be written whole.
            os.set_blocking(self._output_end, True)
            os.write(self._output_end, self.mark)
        except OSError:
            pass


def _file_of(number: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino
