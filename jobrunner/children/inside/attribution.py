"""Attributes output to runs: in a child with many runs at once, the context of a write says which run it belongs to."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

sink: ContextVar[Callable[[bytes], None] | None] = ContextVar("jobrunner_sink", default=None)
"""Takes the output of the run of this context. None means that it goes to the child's own output."""


class _Attributed(io.RawIOBase):
    """The lowest layer of a standard stream, so that output by ``sys.stdout.buffer`` and loggers is attributed, too."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: Any) -> int:
        taker = sink.get()
        if taker is not None:
            taker(bytes(data))
            return len(data)
        left = memoryview(data).cast("B")
        while left:
            # A signal may end a write early, and the caller of a raw stream does not check how much was written.
            left = left[os.write(self._descriptor, left) :]
        return len(data)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Do nothing, because other runs write here, too."""

    def fileno(self) -> int:
        return self._descriptor


def install() -> None:
    """Replace both standard streams. Call it before a module of the user can keep a reference to them.

    The streams write UTF-8, which the parent reads, whatever the locale of cron is.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            raw: Any = _Attributed(stream.fileno())
            replaced = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)
            setattr(sys, name, replaced)
            setattr(sys, f"__{name}__", replaced)
