"""Arranges the memory of a process that will be forked often, so that its forks copy few pages.

A fork shares each page until one side writes to it. Then the kernel copies the page, which takes some microseconds on a
virtual machine, and there are thousands.
"""

import ctypes
from collections.abc import Iterator
from pathlib import Path

_HUGE_BYTES = 2 << 20
_MADV_COLLAPSE = 25
_MAPPED_FROM_BYTES = 128 << 10
"""The C library maps larger blocks by themselves."""


def prepare() -> None:
    """Call it last, after ``gc.freeze``. What the kernel or the C library cannot do stays as it is."""
    libc = ctypes.CDLL(None)
    _fill_holes(libc)
    _collapse(libc)


def _fill_holes(libc: ctypes.CDLL) -> None:
    """Take all free blocks of the heap, and keep them.

    What a fork allocates then lies together, at the end of the heap. Without this, each block is on a page of its own,
    and a quarter of the pages that a command copies are copied for that.
    """
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = libc.free.argtypes = [ctypes.c_size_t]
    end = libc.malloc(_MAPPED_FROM_BYTES - 1024)
    if end is None:
        return
    # The largest first: a smaller block would be cut from a larger hole.
    for size in range(_MAPPED_FROM_BYTES - 1024, 0, -16):
        place = libc.malloc(size)
        while place is not None and place < end:
            place = libc.malloc(size)
        libc.free(place or 0)
    libc.free(end)


def _collapse(libc: ctypes.CDLL) -> None:
    """Use huge pages: to fork, and to end the fork, then takes half of the time. Linux before 6.1 refuses it."""
    for start, end in _own_memory():
        for place in range(-(-start // _HUGE_BYTES) * _HUGE_BYTES, end - _HUGE_BYTES + 1, _HUGE_BYTES):
            libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(_HUGE_BYTES), _MADV_COLLAPSE)


def _own_memory() -> Iterator[tuple[int, int]]:
    """Where the objects of Python lie: writable, private, and of no file."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, access, _, _, _, *name = line.split()
        if access == "rw-p" and name in ([], ["[heap]"]):
            start, end = addresses.split("-")
            yield int(start, 16), int(end, 16)
