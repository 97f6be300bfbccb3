"""Whose output it is: in a child with many runs at once, what is written goes to the run in whose context it is."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

sink: ContextVar[Callable[[bytes], None] | None] = ContextVar("jobrunner_sink", default=None)
"""Takes the output of the run of this context; None: it goes to the child's own output."""


class _Attributed(io.RawIOBase):
    """The bottom of a standard stream. Below the buffers, so that ``sys.stdout.buffer`` and loggers pass here, too."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: Any) -> int:
        taker = sink.get()
        if taker is not None:
            taker(bytes(data))
            return len(data)
        left = memoryview(data).cast("B")
        while left:
            # A signal may end a write in the middle, and who writes to a raw stream does not look.
            left = left[os.write(self._descriptor, left) :]
        return len(data)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Stay open: others write here, too."""

    def fileno(self) -> int:
        return self._descriptor


def install() -> None:
    """Put it under both standard streams, before any module of the user's can keep them.

    UTF-8, which is what the parent reads, whatever letters the locale of cron knows.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            raw: Any = _Attributed(stream.fileno())
            replaced = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)
            setattr(sys, name, replaced)
            setattr(sys, f"__{name}__", replaced)
