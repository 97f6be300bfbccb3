"""Notes the process groups that the ticks of this host have started, in files that the next tick reads.

When a child is killed, the processes that it started go on. So before a run of a dead owner may be claimed again, the
rest of that owner's groups on this host is killed. The processes are found by group or session. A mark in their
environment shows that they are ours; if they have none (``env -i``), other traits do. So a foreign process that has
got the same id is not killed. This needs /proc; on other systems nothing is noted.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobrunner import clock, names
from jobrunner.children.checkpoint_file import folders_beside, remove
from jobrunner.children.proc import boot_id, is_running, namespace, started, stat_fields
from jobrunner.children.process_title import is_surely_on
from jobrunner.model import Owner
from jobrunner.settings.paths import StrPath
from jobrunner.settings.state_folder import TICK_NOTES, files_in, is_private, make_private

MARK = names.TICK_MARK
_GIVE_UP_SECONDS = 2.0
_FORGET_SECONDS = 30 * 86400.0
_OOM_SCORE = "1000"
"""Every child and command sets this value for itself; the processes that it starts inherit it."""


class _Noted(NamedTuple):
    """The note of one tick. ``groups`` holds the start time of the leader of each group."""

    path: Path
    owner: Owner
    node: str
    boot: str
    namespace: str
    pid: int
    started: str
    mark: str
    groups: Mapping[int, str]

    def is_alive(self) -> bool:
        return self.boot == boot_id() and is_running(self.pid, self.started)

    def is_of_others(self) -> bool:
        """Whether its processes cannot be seen from here: those of another host, or of another container."""
        return self.node != os.uname().nodename or self.namespace not in ("", namespace())


class DeadTick(NamedTuple):
    """A tick of this host whose process is gone and whose groups have ended: certainly nobody works on its runs.

    ``path`` is its note. Call ``forget`` when it holds no more runs.
    """

    owner: Owner
    mark: str
    path: Path

    def forget(self) -> None:
        """Remove its note, and the checkpoint files of its commands."""
        remove(folders_beside(self.path))
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


class Leftovers(NamedTuple):
    """How many processes were killed, and the ticks that are certainly dead."""

    killed: int
    dead: Sequence[DeadTick]


class GroupFile:
    """The note of this tick. It is written whenever a group appears or is gone, and removed at the end."""

    def __init__(self, folders: Sequence[StrPath], owner: Owner, mark: str) -> None:
        folder = next(filter(_is_usable, folders), None)
        self._path = None if folder is None else Path(folder) / f"tick-{os.getpid()}-{mark}.json"
        self._owner = owner
        self._mark = mark
        self._groups: dict[int, str] = {}
        # Before the tick claims anything: so the next tick knows who it was, whatever has been started by then.
        self._write()

    @property
    def is_usable(self) -> bool:
        """Whether there is a writable folder for this user alone. Without one, the next tick finds no leftovers."""
        return self._path is not None

    @property
    def folder(self) -> Path | None:
        """The folder of the note. None means that there is no note."""
        return None if self._path is None else self._path.parent

    @property
    def checkpoint_folders(self) -> Path | None:
        """Where the checkpoint files of its commands belong. None means that there is no note."""
        return None if self._path is None else folders_beside(self._path)

    def add(self, *groups: int) -> None:
        """Note groups right after their leaders were started."""
        self._groups.update((group, started(group)) for group in groups)
        self._write()

    def remove(self, group: int) -> None:
        """Forget a group that is gone."""
        self._groups.pop(group, None)
        self._write()

    def close(self) -> None:
        """Remove the note."""
        if self._path is not None:
            remove(folders_beside(self._path))
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        if self._path is None:
            return
        note = {
            "owner": self._owner.name,
            "host": self._owner.host,
            "node": os.uname().nodename,
            "boot": boot_id(),
            "namespace": namespace(),
            "pid": os.getpid(),
            "started": started(os.getpid()),
            "mark": self._mark,
            "groups": sorted(self._groups.items()),
        }
        temporary = self._path.with_suffix(".new")
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(note, file)
            temporary.replace(self._path)
        except OSError:
            self._path = None


def state_problem(folders: Sequence[StrPath]) -> str | None:
    """A text for the operator if no folder for the notes is usable, else None."""
    if not boot_id() or any(map(_is_usable, folders)):
        return None
    tried = ", ".join(str(folder) for folder in folders)
    return (
        f"no folder for state is writable and private to this user ({tried}): processes that a killed tick leaves"
        " behind are not stopped before their runs begin again, and its runs wait until their leases are over; set"
        " JOBRUNNER_STATE_DIR"
    )


def killed_ticks(folders: Iterable[StrPath]) -> list[str]:
    """The names of the noted ticks of this boot of this host whose process is gone. Changes nothing."""
    notes = [note for folder in folders if is_private(folder) for note in _notes(folder)]
    seen = [note for note in notes if note.boot == boot_id() and not note.is_of_others()]
    return [note.owner.name for note in seen if not note.is_alive()]


def has_note(folder: StrPath, mark: str) -> bool:
    """Whether there is a note of the tick with this mark that the next tick can read as dead."""
    return any(note.mark == mark and not note.is_of_others() for note in _notes(folder))


def kill_leftovers(folders: Iterable[StrPath], owners: Collection[str] = (), live: Collection[int] = ()) -> Leftovers:
    """Kill the leftover processes of dead ticks on this host, and the groups of ``owners``, dead or stalled.

    If an owner is alive, its groups that are certainly idle or work on a run in ``live`` are not killed. Returns after
    the processes are gone.
    """
    killed, dead = 0, []
    for noted in [note for folder in folders if is_private(folder) for note in _notes(folder)]:
        if noted.is_of_others():
            # Several hosts, or containers of one kernel, share this folder. The host of the note handles it.
            _forget_if_old(noted.path)
            continue
        alive = noted.is_alive()
        if alive and noted.owner.name not in owners:
            continue
        have_ended = False
        if noted.boot == boot_id():
            doomed = {pid: at for pid, at in noted.groups.items() if not (alive and is_surely_on(pid, live))}
            processes, have_ended = _kill_groups(noted._replace(groups=doomed))
            killed += processes
        if alive:
            continue
        tick = DeadTick(noted.owner, noted.mark, noted.path)
        if have_ended and noted.namespace:
            dead.append(tick)
        else:
            # What it held is recovered when the leases are over.
            tick.forget()
    return Leftovers(killed, dead)


def _forget_if_old(path: Path) -> None:
    with suppress(OSError):
        if clock.utc_now().timestamp() - path.stat().st_mtime > _FORGET_SECONDS:
            remove(folders_beside(path))
            path.unlink(missing_ok=True)


def _notes(folder: StrPath) -> Iterator[_Noted]:
    for path in map(Path, files_in(folder, *TICK_NOTES)):
        # A note that is incomplete or from another version cannot be read and is skipped.
        with suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(path.read_text())
            yield _Noted(
                path,
                Owner(str(note.get("host", "")), str(note["owner"])),
                str(note["node"]),
                str(note["boot"]),
                str(note.get("namespace", "")),
                int(note["pid"]),
                str(note["started"]),
                str(note["mark"]),
                {int(group): str(started) for group, started in note["groups"]},
            )


def _kill_groups(noted: _Noted) -> tuple[int, bool]:
    """How many processes were killed, and whether certainly none is left."""
    killed: set[int] = set()
    give_up_at = clock.elapsed() + _GIVE_UP_SECONDS
    # Repeated until none is left, because a group may fork while it is being killed.
    while (members := _members(noted)).ours and clock.elapsed() < give_up_at:
        for pid in members.ours:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        clock.sleep(0.01)
    return len(killed), not members.ours and not members.is_any_hidden


class _Members(NamedTuple):
    """The processes of noted groups. ``is_any_hidden``: one more may be of them, and its mark cannot be read.

    It has the rights of another user, as what ``sudo`` runs.
    """

    ours: list[int]
    is_any_hidden: bool


def _members(noted: _Noted) -> _Members:
    found, is_any_hidden = [], False
    for entry in os.scandir("/proc") if noted.groups else ():
        if not entry.name.isdigit():
            continue
        # The process may be gone by now, or belong to another user.
        with suppress(OSError, IndexError, ValueError):
            fields = stat_fields(int(entry.name))
            leader = next((int(each) for each in fields[2:4] if int(each) in noted.groups), None)
            if fields[0] == "Z" or leader is None:
                continue
            try:
                if _is_ours(int(entry.name), leader, noted):
                    found.append(int(entry.name))
            except PermissionError:
                is_any_hidden |= started(leader) in ("", noted.groups[leader])
    return _Members(found, is_any_hidden)


def _is_ours(pid: int, leader: int, noted: _Noted) -> bool:
    """Whether a process of a noted group or session belongs to the tick, and not to a later group of the same number.

    A process without a mark is ours if the leader is still the noted one. If no leader is left, it is ours if it has
    inherited our value of ``oom_score_adj``.
    """
    process = Path(f"/proc/{pid}")
    marks = [each for each in (process / "environ").read_bytes().split(b"\0") if each.startswith(f"{MARK}=".encode())]
    if marks:
        return f"{MARK}={noted.mark}".encode() in marks
    if leaders_start := started(leader):
        return leaders_start == noted.groups[leader]
    is_same_user = process.stat().st_uid == os.getuid()
    return is_same_user and (process / "oom_score_adj").read_text().strip() == _OOM_SCORE


def _is_usable(folder: StrPath) -> bool:
    """Whether the folder is for this user alone and can be written. Creates it. Its notes name processes to kill."""
    with suppress(OSError):
        make_private(folder)
    # Asks for the effective user with its capabilities; plain access() asks for the real user.
    may_write = os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)
    return bool(boot_id()) and is_private(folder) and may_write
