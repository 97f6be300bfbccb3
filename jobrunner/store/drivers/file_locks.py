"""Which process holds a lock of an SQLite file, as far as the system tells: Linux does, in /proc/locks.

Nothing is opened: to close a file would give up the locks that this process has on it.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from jobrunner.text import one_line, visible

_WAL_WRITE_LOCK = 120
"""The byte of the file ``-shm`` that a writer locks (https://www.sqlite.org/walformat.html)."""
_RESERVED_LOCK, _LAST_SHARED_LOCK = 0x40000001, 0x400001FF
"""The bytes of the file itself: a writer locks the first, if there is no write-ahead log, or all to be alone."""


class Writer(NamedTuple):
    """A process that holds a lock. ``is_ours``: it is a command of jobrunner, as a tick: that takes moments."""

    pid: int
    name: str
    user: str
    is_ours: bool

    def __str__(self) -> str:
        """In words."""
        return f"process {self.pid} ({self.name}) of the user {self.user}"


def writer(file: str) -> Writer | None:
    """Another process that holds the write lock now. None: nobody does, or the system does not tell."""
    places = (f"{file}-shm", _WAL_WRITE_LOCK, _WAL_WRITE_LOCK), (file, _RESERVED_LOCK, _LAST_SHARED_LOCK)
    return next((each for path, first, last in places for each in holders(path, first, last, ("WRITE",))), None)


def holders(path: str, first_byte: int, last_byte: int, kinds: Collection[str]) -> Iterator[Writer]:
    """Other processes that hold a lock on some of these bytes now, as far as the system tells: READ or WRITE."""
    try:
        inode = os.stat(path).st_ino
        with open("/proc/locks", encoding="ascii", errors="replace") as listed:
            lines = listed.read().splitlines()
    except OSError:
        return
    for line in lines:
        words = line.split()
        # As in "1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 120 120". A line with "->" is of one who waits.
        if len(words) != 8 or words[1] != "POSIX" or words[3] not in kinds:
            continue
        pid, found, first, last = words[4], words[5].rpartition(":")[2], words[6], words[7]
        if found != str(inode) or not first.isdigit() or int(first) > last_byte:
            continue
        if last.isdigit() and int(last) < first_byte:
            continue
        if pid.isdigit() and int(pid) not in (0, os.getpid()):
            yield _described(int(pid))


def _described(pid: int) -> Writer:
    name, user, words = "?", "?", []
    with suppress(OSError, KeyError):
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as named:
            name = visible(one_line(named.read(), 40))
        # Not shown: an argument may be a secret.
        with open(f"/proc/{pid}/cmdline", "rb") as command:
            words = command.read().split(b"\0")
        user = str(os.stat(f"/proc/{pid}").st_uid)
        user = pwd.getpwuid(int(user)).pw_name
    return Writer(pid, name, user, any(os.path.basename(word) == b"jobrunner" for word in words[:4]))
