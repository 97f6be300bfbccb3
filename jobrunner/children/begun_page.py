"""Notes which runs of a tick have certainly not begun, in a file that its processes share as memory.

The tick notes each run when it claims it. The process that begins the run changes one byte first. The page is a file,
so the notes are still there after all the processes were killed. Every process that has the page in memory holds its
lock. So a process that gets the lock knows that no other is left to begin a run. A run counts as not begun only if it
is noted as waiting; if its note is missing for any reason, it counts as begun.

The page names its tick. So what it says of claims can be used up without the note of ``process_groups``, which may be
gone, or of another container.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobrunner import clock
from jobrunner.children.begun_marks import BEGUN, BYTES, ENTRIES, ENTRY, ENTRY_BYTES, HEADER_BYTES, offset_of
from jobrunner.model import Lease, Owner
from jobrunner.settings.paths import StrPath
from jobrunner.settings.state_folder import TICK_PAGES, files_in

_FREE, _WAITING = 0, 1
_OLD_SECONDS = 86400.0
_ALL = 0
"""This id stands for all runs that were claimed with the token."""
_NOBODY = Owner("", "")
_NAMES = 4
"""In the header: the boot, the machine, the host, and the name of the tick."""


class BegunPage:
    """The tick's own page. Nothing is noted if ``folder`` is None or no file can be made in it.

    ``descriptor`` is for the children; None means that there is no page.
    """

    def __init__(self, folder: Path | None, mark: str = "", boot: str = "", owner: Owner = _NOBODY) -> None:
        self.descriptor: int | None = None
        self._memory: mmap.mmap | None = None
        self._path = None if folder is None else _path_of(folder, mark)
        self._slots: dict[Lease, int] = {}
        self._free = list(range(ENTRIES))
        if self._path is not None:
            with suppress(OSError, ValueError):
                self._make(self._path, "\0".join((boot, os.uname().nodename, *owner)).encode())

    def _make(self, path: Path, header: bytes) -> None:
        if len(header) >= HEADER_BYTES:
            raise ValueError("no space for the names")
        # The file gets its name after it is locked: without the lock another tick would take it for abandoned.
        temporary = path.with_suffix(".new-page")
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = header.ljust(BYTES, b"\0")
            # The bytes are written, because a file that was only extended raises SIGBUS when the disk is full.
            if os.write(descriptor, content) != BYTES:
                raise OSError("no space")
            memory = mmap.mmap(descriptor, BYTES)
            temporary.replace(path)
        except BaseException:
            os.close(descriptor)
            temporary.unlink(missing_ok=True)
            raise
        self.descriptor, self._memory = descriptor, memory

    def note(self, leases: Iterable[Lease]) -> None:
        """Note runs that this tick has claimed and that have not begun."""
        if self._memory is None:
            return
        memory, slots, free = self._memory, self._slots, self._free
        for lease in leases:
            if not free:
                return
            slot = slots[lease] = free.pop()
            at = HEADER_BYTES + slot * ENTRY_BYTES
            ENTRY.pack_into(memory, at, _FREE, lease.run_id, bytes.fromhex(lease.token))
            memory[at] = _WAITING

    def note_claim(self, token: str) -> None:
        """Note a claim before it is sent: until ``forget_claim`` none of its runs has begun."""
        self.note([Lease(_ALL, token)])

    def forget_claim(self, token: str) -> None:
        """Forget a claim, because each of its runs is noted or there are none."""
        self.forget(Lease(_ALL, token))

    def slot_of(self, lease: Lease) -> int | None:
        """The entry in which a child notes that it begins the run. None means that there is no entry."""
        return self._slots.get(lease)

    def begun(self, lease: Lease) -> None:
        """Note that the run begins now."""
        if self._memory is not None and (slot := self._slots.get(lease)) is not None:
            self._memory[offset_of(slot)] = BEGUN

    def forget(self, lease: Lease) -> None:
        """Forget a run that has ended or no longer belongs to this tick."""
        slot = self._slots.pop(lease, None)
        if slot is not None and self._memory is not None:
            self._memory[offset_of(slot)] = _FREE
            self._free.append(slot)

    def close(self) -> None:
        """Remove the file."""
        if self._path is not None and self._memory is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


class Abandoned(NamedTuple):
    """The page of a tick that has died: the ids of runs never begun, by the token of their claim.

    None in place of the ids means all runs of the claim, whose COMMIT may be under way. ``owner`` is the tick.
    """

    never_begun: dict[str, list[int] | None]
    owner: Owner
    path: Path

    @property
    def mark(self) -> str:
        begin, end = TICK_PAGES
        return self.path.name.removeprefix(begin).removesuffix(end)

    def is_old(self) -> bool:
        """Whether it was written more than a day ago."""
        with suppress(OSError):
            return clock.utc_now().timestamp() - self.path.stat().st_mtime > _OLD_SECONDS
        return True

    def forget(self) -> None:
        """Remove the page, because what it says is not needed any more."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def is_any_abandoned(folder: StrPath) -> bool:
    """Whether there may be a page for ``abandoned``, or one of another machine."""
    return any(True for _ in abandoned(folder, None))


def abandoned(folder: StrPath, boot: str | None) -> Iterator[Abandoned]:
    """The pages of ticks that have died with all their children. Each page is locked while the caller uses it.

    A page from before this machine's last boot yields no runs, because its last changes may not have reached the disk.
    The page of another machine, which shares the folder, is left to it for a day. ``boot`` is the current one; None:
    all pages are wanted, without their runs.
    """
    for path in files_in(folder, *TICK_PAGES):
        with suppress(OSError), open(path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            content = file.read(BYTES + 1)
            names = content[:HEADER_BYTES].rstrip(b"\0").decode("utf-8", "replace").split("\0")
            its_boot, node, *owner = names if len(names) == _NAMES else ("", "", *_NOBODY)
            page = Abandoned({}, Owner(*owner), Path(path))
            is_of_now = len(content) == BYTES and its_boot == boot
            # Not by the name alone: each container of a machine has a name of its own.
            if boot is not None and not is_of_now and node not in ("", os.uname().nodename) and not page.is_old():
                continue
            yield page._replace(never_begun=_read(content)) if is_of_now else page


def has_page(folder: StrPath, mark: str) -> bool:
    """Whether the tick with this mark has a page."""
    return os.path.exists(_path_of(folder, mark))


def _path_of(folder: StrPath, mark: str) -> Path:
    begin, end = TICK_PAGES
    return Path(folder) / f"{begin}{mark}{end}"


def _read(content: bytes) -> dict[str, list[int] | None]:
    found: dict[str, list[int] | None] = {}
    for state, run_id, token in ENTRY.iter_unpack(content[HEADER_BYTES:]):
        if state == _WAITING and run_id == _ALL:
            found[token.hex()] = None
        elif state == _WAITING and (known := found.setdefault(token.hex(), [])) is not None:
            known.append(run_id)
    return found
