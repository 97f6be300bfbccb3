"""Which of a tick's runs have surely not been begun: a page of memory that its processes share, and that outlives them.

The tick notes each run when it claims it, and whoever begins the run changes one byte first. The page is a file, so
what was stored is there after a SIGKILL of them all; and its lock is held by whoever has the page in memory, so who
gets the lock knows that nobody is left to begin anything. Only what is noted as waiting counts: where a note is
missing, for whatever reason, the run counts as begun.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from jobrunner.model import Lease
from jobrunner.settings.state_folder import files_in

_ENTRY = struct.Struct("<B7xQ16s")
"""State, id of the run, token of its lease."""
_ENTRY_BYTES = _ENTRY.size
_ENTRIES = 4096
_HEADER_BYTES = 64
_BYTES = _HEADER_BYTES + _ENTRIES * _ENTRY_BYTES
_FREE, _WAITING, _BEGUN = range(3)
_ALL = 0
"""In the place of an id: all runs that were claimed with the token."""


class BegunPage:
    """The tick's own page. ``folder`` None, or one where none can be made: nothing is noted.

    ``descriptor`` is what a child is given.
    """

    def __init__(self, folder: Path | None, name: str = "", boot: str = "") -> None:
        self.descriptor: int | None = None
        self._memory: mmap.mmap | None = None
        self._path = None if folder is None else folder / f"tick-{name}.page"
        self._slots: dict[Lease, int] = {}
        self._free = list(range(_ENTRIES))
        if self._path is not None:
            with suppress(OSError, ValueError):
                self._make(self._path, boot)

    def _make(self, path: Path, boot: str) -> None:
        # Not under its name before it is locked: else it would be taken for a dead tick's.
        temporary = path.with_suffix(".new-page")
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = boot.encode()[:_HEADER_BYTES].ljust(_BYTES, b"\0")
            # Written and not only made longer: memory without a place on the disk is a SIGBUS when the disk is full.
            if os.write(descriptor, content) != _BYTES:
                raise OSError("no space")
            memory = mmap.mmap(descriptor, _BYTES)
            temporary.replace(path)
        except BaseException:
            os.close(descriptor)
            temporary.unlink(missing_ok=True)
            raise
        self.descriptor, self._memory = descriptor, memory

    def note(self, leases: Iterable[Lease]) -> None:
        """These runs are this tick's, and have not been begun."""
        if self._memory is None:
            return
        memory, slots, free = self._memory, self._slots, self._free
        for lease in leases:
            if not free:
                return
            slot = slots[lease] = free.pop()
            at = _HEADER_BYTES + slot * _ENTRY_BYTES
            _ENTRY.pack_into(memory, at, _FREE, lease.run_id, bytes.fromhex(lease.token))
            memory[at] = _WAITING

    def note_claim(self, token: str) -> None:
        """A claim is about to be sent: until ``forget_claim`` none of its runs has been begun."""
        self.note([Lease(_ALL, token)])

    def forget_claim(self, token: str) -> None:
        """Its runs are known, and noted each for itself; or there are none."""
        self.forget(Lease(_ALL, token))

    def slot_of(self, lease: Lease) -> int | None:
        """Where whoever begins the run says so."""
        return self._slots.get(lease)

    def begun(self, lease: Lease) -> None:
        """The run begins now."""
        if self._memory is not None and (slot := self._slots.get(lease)) is not None:
            self._memory[_place(slot)] = _BEGUN

    def forget(self, lease: Lease) -> None:
        """The run has ended, or is this tick's no more."""
        slot = self._slots.pop(lease, None)
        if slot is not None and self._memory is not None:
            self._memory[_place(slot)] = _FREE
            self._free.append(slot)

    def close(self) -> None:
        """Leave nothing behind."""
        if self._path is not None and self._memory is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


class BegunMarks:
    """The page as a child sees it. ``descriptor`` None: there is none.

    In memory, where no handler that closes descriptors can take it away, or put a file of its own in its place.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._memory: mmap.mmap | None = None
        if descriptor is not None:
            with suppress(OSError, ValueError):
                self._memory = mmap.mmap(descriptor, _BYTES)
            os.close(descriptor)

    def begin(self, slot: int | None) -> None:
        """The run of this slot begins now."""
        if self._memory is not None and slot is not None:
            self._memory[_place(slot)] = _BEGUN


@dataclass(frozen=True, slots=True)
class Abandoned:
    """What a tick that is gone has left: the ids of runs never begun, by the token of their claim; None: all of it."""

    never_begun: dict[str, list[int] | None]
    path: Path

    def forget(self) -> None:
        """All that can be learned from it has been acted on."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def is_any_abandoned(folder: Path) -> bool:
    """Whether ``abandoned`` would find anything."""
    return any(True for _ in abandoned(folder, ""))


def abandoned(folder: Path, boot: str) -> Iterator[Abandoned]:
    """The pages of ticks that are gone with all their children; nobody else has each while it is looked at.

    One from before this host's last start tells nothing: what was stored last may never have reached the disk.
    """
    for path in files_in(folder, "tick-*.page"):
        with suppress(OSError), open(path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            content = file.read(_BYTES + 1)
            is_of_now = len(content) == _BYTES and content[:_HEADER_BYTES].rstrip(b"\0").decode("latin-1") == boot
            yield Abandoned(_read(content) if is_of_now and boot else {}, path)


def _read(content: bytes) -> dict[str, list[int] | None]:
    found: dict[str, list[int] | None] = {}
    for state, run_id, token in _ENTRY.iter_unpack(content[_HEADER_BYTES:]):
        if state == _WAITING and run_id == _ALL:
            found[token.hex()] = None
        elif state == _WAITING and (known := found.setdefault(token.hex(), [])) is not None:
            known.append(run_id)
    return found


def _place(slot: int) -> int:
    return _HEADER_BYTES + slot * _ENTRY_BYTES
