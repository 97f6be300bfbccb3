"""The standard streams of a child: whatever a run has done to them, the next one finds them as they were."""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress
from typing import Any

_NAMES = {"stdout": 1, "stderr": 2}
_LOWEST_COPY = 10


class Streams:
    """``mark`` is what tells the parent that up to here the output was one run's."""

    def __init__(self) -> None:
        self.mark = b""
        # One of its own: a handler may close or replace the standard streams.
        self._output_end = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _LOWEST_COPY)
        self._kept: dict[str, Any] = {}
        self._copies: dict[int, tuple[int, tuple[int, int] | None]] = {}

    def keep(self) -> None:
        """From here on they are to stay as they are: the handlers' modules may have had their reasons."""
        self._kept = {name: getattr(sys, name) for name in _NAMES}
        for number in _NAMES.values():
            with suppress(OSError):
                self._copies[number] = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _LOWEST_COPY), _file_of(number)

    def end_of_run(self) -> None:
        """Write the mark, and put back what the run has closed or replaced."""
        for name in _NAMES:
            with suppress(Exception):
                getattr(sys, name).flush()
        for name, stream in self._kept.items():
            setattr(sys, name, stream)
        for number, (copy, file) in self._copies.items():
            if _file_of(number) != file:
                with suppress(OSError):
                    os.dup2(copy, number)
        with suppress(OSError):
            # Shared with all that the run has started: part of a mark would be no mark.
            os.set_blocking(self._output_end, True)
            os.write(self._output_end, self.mark)


def _file_of(number: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino
