"""Which process reads the oldest state of an SQLite file, as far as the system tells: Linux does.

The file ``-shm`` says how far the log is copied into the database and from where on each mark reads
(https://www.sqlite.org/walformat.html); /proc/locks says which process holds a mark. The file is read by the descriptor
that SQLite has in this process: to open and close it would give up the locks that this process has on it.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from typing import NamedTuple

from jobrunner.store.drivers.file_locks import Writer, holders

_FIRST_MARK = 123
"""The byte that readers lock for the first mark. The next ones are for the others."""
_INDEX = struct.Struct("=IIIBBHI76xI5I")
"""The version, two that we do not need, whether it is written, the checksums, the page size, how many frames the log
has, how many of them are copied, and the marks.
"""
_VERSION = 3007000
_PAGE_OF_ONE = 65536


class Reader(NamedTuple):
    """A process, and how much of the log is younger than what it reads and waits for it."""

    process: Writer
    bytes_since: int


def oldest(file: str) -> Reader | None:
    """The process that reads the oldest state. None: nobody else reads, or it is not known."""
    index = _index(f"{file}-shm")
    if index is None:
        return None
    version, _, _, is_written, _, page_bytes, frames, copied, *marks = _INDEX.unpack(index)
    if version != _VERSION or not is_written:
        return None
    held = [
        (max(mark, copied), process)
        for number, mark in enumerate(marks)
        if mark <= frames
        for process in holders(f"{file}-shm", _FIRST_MARK + number, _FIRST_MARK + number, ("READ", "WRITE"))
    ]
    if not held:
        return None
    mark, process = min(held, key=lambda each: each[0])
    return Reader(process, (frames - mark) * (_PAGE_OF_ONE if page_bytes == 1 else page_bytes))


def _index(path: str) -> bytes | None:
    with suppress(OSError):
        inode = os.stat(path).st_ino
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.fstat(int(name)).st_ino == inode:
                    found = os.pread(int(name), _INDEX.size, 0)
                    return found if len(found) == _INDEX.size else None
    return None
