"""Arranges the memory of a process that will be forked often, so that its forks copy few pages.

A fork shares each page until one side writes to it. Then the kernel copies the page, which takes some microseconds on a
virtual machine, and there are thousands.
"""

import ctypes
from collections.abc import Iterator
from pathlib import Path

_HUGE_BYTES = 2 << 20
_MADV_COLLAPSE = 25
_LARGEST_BYTES = 127 << 10
"""The C library maps larger blocks by themselves, outside of the heap."""


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
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    for start, end in _own_memory(["[heap]"]):
        # The largest first: a smaller block would be cut from a larger hole.
        for size in range(_LARGEST_BYTES, 0, -16):
            while start <= ((place := libc.malloc(size)) or 0) < end:
                pass
            libc.free(place)


def _collapse(libc: ctypes.CDLL) -> None:
    """Use huge pages: to fork, and to end the fork, then takes half of the time. Linux before 6.1 refuses it."""
    for start, end in (*_own_memory([]), *_own_memory(["[heap]"])):
        for place in range(-(-start // _HUGE_BYTES) * _HUGE_BYTES, end - _HUGE_BYTES + 1, _HUGE_BYTES):
            libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(_HUGE_BYTES), _MADV_COLLAPSE)


def _own_memory(named: list[str]) -> Iterator[tuple[int, int]]:
    """Where the objects of Python lie: writable, private, and of no file. Of such memory the heap alone has a name."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, access, _, _, _, *name = line.split()
        if access == "rw-p" and name == named:
            start, end = addresses.split("-")
            yield int(start, 16), int(end, 16)
