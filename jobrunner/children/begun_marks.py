"""A child's side of the page that notes which runs have begun: ``begun_page`` says what it is for.

Every child starts with it, so it imports little.
"""

from __future__ import annotations

import mmap
import os
import struct
from contextlib import suppress

ENTRY = struct.Struct("<B7xQ16s")
"""State, id of the run, token of its lease."""
ENTRY_BYTES = ENTRY.size
ENTRIES = 4096
HEADER_BYTES = 2048
"""For the boot, the machine, and the host and the name of the tick."""
BYTES = HEADER_BYTES + ENTRIES * ENTRY_BYTES
BEGUN = 2
"""The state of a run that has begun. The tick writes the other states."""


class BegunMarks:
    """The page as a child uses it. ``descriptor`` None means that there is no page.

    The page is mapped into memory, so a handler that closes or replaces descriptors does not change it.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._memory: mmap.mmap | None = None
        if descriptor is not None:
            with suppress(OSError, ValueError):
                self._memory = mmap.mmap(descriptor, BYTES)
            os.close(descriptor)

    def begin(self, slot: int | None) -> None:
        """Note that the run of this entry begins now."""
        if self._memory is not None and slot is not None:
            self._memory[offset_of(slot)] = BEGUN


def offset_of(entry: int) -> int:
    """Where an entry begins: its state is the first byte."""
    return HEADER_BYTES + entry * ENTRY_BYTES
