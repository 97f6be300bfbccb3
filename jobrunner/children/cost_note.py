"""What a child notes when it begins a run, so that its parent can tell what the run has cost if the child dies.

It stands in the file that both share, behind the run of the event loop: the id of the run, the processor time that the
child had used by then, and the memory of the largest program that it had waited for.
"""

from __future__ import annotations

import mmap
import os
import struct
from contextlib import suppress
from typing import NamedTuple

_OFFSET = 8
_NOTE = struct.Struct("<qdq")
SHARED_BYTES = _OFFSET + _NOTE.size
"""The length of the shared file."""
_UNKNOWN = -1


class Begun(NamedTuple):
    """``largest_program`` is in the unit of ``ru_maxrss``. None means that the peak of this run cannot be known."""

    run_id: int
    processor_seconds: float
    largest_program: int | None


class CostNote:
    """The child's side. It does nothing if the file could not be made."""

    def __init__(self, descriptor: int) -> None:
        self._cell: mmap.mmap | None = None
        with suppress(OSError, ValueError):
            self._cell = mmap.mmap(descriptor, SHARED_BYTES)

    def write(self, run_id: int, processor_seconds: float, largest_program: int | None) -> None:
        """Note that a run begins."""
        if self._cell is not None:
            largest = _UNKNOWN if largest_program is None else largest_program
            _NOTE.pack_into(self._cell, _OFFSET, run_id, processor_seconds, largest)

    def clear(self) -> None:
        """Note that the run has ended."""
        if self._cell is not None:
            _NOTE.pack_into(self._cell, _OFFSET, 0, 0.0, _UNKNOWN)


def begun(descriptor: int) -> Begun | None:
    """What a child noted last. None means that no plain run was at work."""
    data = os.pread(descriptor, _NOTE.size, _OFFSET)
    if len(data) < _NOTE.size:
        return None
    run_id, processor_seconds, largest = _NOTE.unpack(data)
    return Begun(run_id, processor_seconds, None if largest < 0 else largest) if run_id else None
