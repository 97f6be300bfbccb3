"""Puts the memory of a process into huge pages: to fork it, and to end the fork, then takes half of the time."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

_BYTES = 2 << 20
_MADV_COLLAPSE = 25


def collapse() -> None:
    """What the kernel refuses, or all of it before Linux 6.1, stays as it is."""
    libc = ctypes.CDLL(None)
    for start, end in _own_memory():
        for place in range(-(-start // _BYTES) * _BYTES, end - _BYTES + 1, _BYTES):
            libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(_BYTES), _MADV_COLLAPSE)


def _own_memory() -> Iterator[tuple[int, int]]:
    """Where the objects of Python lie: writable, private, and of no file."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, access, _, _, _, *name = line.split()
        if access == "rw-p" and name in ([], ["[heap]"]):
            start, end = addresses.split("-")
            yield int(start, 16), int(end, 16)
