"""The process groups that this host's ticks have started, noted where the next tick finds them.

A killed child's own children survive it. Before a run whose owner is gone may be claimed again, what is left of
that owner's groups on this host is killed. Processes are found by group and by a mark in their environment, so
that a process id used again by somebody else is never hit. Needs /proc; elsewhere nothing is noted.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from jobrunner import clock
from jobrunner.execute.at_work import is_surely_on
from jobrunner.folders import make_private
from jobrunner.model import Owner

MARK = "JOBRUNNER_TICK"
_GIVE_UP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Noted:
    path: Path
    owner: str
    boot: str
    pid: int
    started: str
    mark: str
    groups: tuple[int, ...]

    def is_alive(self) -> bool:
        return self.boot == boot_id() and _started(self.pid) == self.started


class GroupFile:
    """This tick's own note: written whenever a group appears or is gone, removed at the end."""

    def __init__(self, folder: Path, owner: Owner, mark: str) -> None:
        self._path = folder / f"tick-{os.getpid()}-{mark}.json"
        self._owner = owner
        self._mark = mark
        self._groups: set[int] = set()
        self._usable = is_private_folder(folder)

    @property
    def is_usable(self) -> bool:
        """False: the folder cannot be written or is not ours alone; leftovers of a crash will not be found."""
        return self._usable

    def add(self, group: int) -> None:
        """Note a group right after its leader was started."""
        self._groups.add(group)
        self._write()

    def remove(self, group: int) -> None:
        """Forget a group that is gone."""
        self._groups.discard(group)
        self._write()

    def close(self) -> None:
        """Remove the note: the tick leaves nothing behind."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        if not self._usable:
            return
        note = {
            "owner": self._owner.name,
            "boot": boot_id(),
            "pid": os.getpid(),
            "started": _started(os.getpid()),
            "mark": self._mark,
            "groups": sorted(self._groups),
        }
        temporary = self._path.with_suffix(".new")
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(note, file)
            temporary.replace(self._path)
        except OSError:
            self._usable = False


def kill_leftovers(folder: Path, owners: Collection[str] = (), live: Collection[int] = ()) -> int:
    """Kill what dead ticks left at work on this host, and the groups of the named owners, dead or stalled.

    Of an owner that lives, groups are spared that are surely idle or at one of the runs ``live``. Returns how many
    processes were killed, after they are gone.
    """
    if not folder.is_dir() or not is_private_folder(folder):
        return 0
    killed = 0
    for noted in _notes(folder):
        alive = noted.is_alive()
        if alive and noted.owner not in owners:
            continue
        if noted.boot == boot_id():
            doomed = [each for each in noted.groups if not (alive and is_surely_on(each, live))]
            killed += _kill_groups(replace(noted, groups=tuple(doomed)))
        if not alive:
            with suppress(OSError):
                noted.path.unlink(missing_ok=True)
    return killed


def _notes(folder: Path) -> Iterator[_Noted]:
    for path in sorted(folder.glob("tick-*.json")):
        # Half-written or from another version: nothing can be read from it, and nothing is risked.
        with suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(path.read_text())
            yield _Noted(
                path,
                str(note["owner"]),
                str(note["boot"]),
                int(note["pid"]),
                str(note["started"]),
                str(note["mark"]),
                tuple(int(group) for group in note["groups"]),
            )


def _kill_groups(noted: _Noted) -> int:
    killed: set[int] = set()
    give_up_at = clock.elapsed() + _GIVE_UP_SECONDS
    # Again until none is left: a group may fork while it is being killed.
    while (members := _members(noted)) and clock.elapsed() < give_up_at:
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.01)
    return len(killed)


def _members(noted: _Noted) -> list[int]:
    groups = set(noted.groups)
    wanted = f"{MARK}={noted.mark}".encode()
    found = []
    for entry in os.scandir("/proc") if groups else ():
        if not entry.name.isdigit():
            continue
        with suppress(OSError, IndexError, ValueError):
            fields = _stat_fields(int(entry.name))
            if fields[0] == "Z" or int(fields[2]) not in groups:
                continue
            if wanted in Path(f"/proc/{entry.name}/environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def _stat_fields(pid: int) -> list[str]:
    # After the name, which may hold blanks and brackets: state, parent, group, session, ...
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _started(pid: int) -> str:
    try:
        return _stat_fields(pid)[19]
    except (OSError, IndexError):
        return ""


def boot_id() -> str:
    """What this start of the host is known by; "" where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def is_private_folder(folder: Path) -> bool:
    """Whether the folder exists (made if need be), is ours and nobody else may write it: it names what to kill."""
    if not boot_id():
        return False
    try:
        make_private(folder)
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
