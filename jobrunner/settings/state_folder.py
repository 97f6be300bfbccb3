"""Folders that belong to this user only, and the notes in them of which databases the user's ticks have used.

An idle tick imports this, so that it imports little.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_LAST_TICKS = "last-*.json"
_FORGET_SECONDS = 30 * 86400
_PRIME = 2**61 - 1


def home() -> Path | None:
    """The user's home from the password database; cron, sudo and a login shell set different values of HOME."""
    try:
        named = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
    return Path(named) if named and Path(named).is_absolute() else None


def for_state(configured: Path | None) -> list[Path]:
    """The folders for a tick's notes about its processes. A tick writes to the first usable one, and reads all of them.

    They depend on the user only: cron has none of the variables of a login session, and a tick under cron must find the
    notes of a tick that ran in a shell.
    """
    if configured is not None:
        return [configured]
    user, found = os.getuid(), home()
    others = [Path(f"/run/user/{user}/jobrunner"), Path(f"/tmp/jobrunner-{user}")]  # noqa: S108 - checked by its user
    return others if found is None else [found / ".local" / "state" / "jobrunner", *others]


def make_private(folder: Path) -> None:
    """Make the folder and its missing parents with mode 0700, whatever the umask is. Raises OSError.

    If others could write one of the parents, they could replace the folder.
    """
    for each in (*reversed(folder.parents), folder):
        each.mkdir(mode=0o700, exist_ok=True)


def files_in(folder: Path, pattern: str) -> list[Path]:
    """The sorted files of a folder whose names match; none if the folder cannot be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:  # no file descriptor is left; the next step of the tick reports that
        return []


def is_private(folder: Path) -> bool:
    """Whether the folder exists, is no link, belongs to this user, and nobody else may write it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


class LastTick(NamedTuple):
    """When a tick of this user last used a database, and under which host name. ``at``: seconds since the epoch."""

    database: str
    host: str
    at: float


def note_tick(folders: Sequence[Path], url: str, schema: str | None, host: str, label: Callable[[], str]) -> None:
    """Note that a tick has used the database of this URL, whose name for people is ``label``, under this host name.

    There is a file for each database and host name. Its time of change is that of the last tick, because that is
    cheaper than to write it. Without a folder nothing is noted.
    """
    # Not the password, not even in a number. No hash function is imported.
    address = url.partition("?")[0].rpartition("@")[2]
    number = int.from_bytes(f"{address}\n{schema}\n{host}".encode("utf-8", "replace")) % _PRIME
    with suppress(OSError):
        folder = next(filter(is_private, folders), None) or _made(folders)
        if folder is None:
            return
        path = folder / f"last-{number:016x}.json"
        try:
            os.utime(path)
        except FileNotFoundError:
            _write_note(path, LastTick(label(), host, 0.0))


def _made(folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        with suppress(OSError):
            make_private(folder)
        if is_private(folder):
            return folder
    return None


def _write_note(path: Path, tick: LastTick) -> None:
    import json

    new = path.with_suffix(f".{os.getpid()}")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump({"database": tick.database, "host": tick.host}, file)
    new.replace(path)
    for other in files_in(path.parent, _LAST_TICKS):
        if other.stat().st_mtime < path.stat().st_mtime - _FORGET_SECONDS:
            other.unlink()


def last_ticks(folders: Sequence[Path]) -> list[LastTick]:
    """The last ticks of this user on this host, one for each database and host name, the newest first."""
    import json

    found = []
    for path in (path for folder in filter(is_private, folders) for path in files_in(folder, _LAST_TICKS)):
        with suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(path.read_text(encoding="utf-8"))
            found.append(LastTick(str(note["database"]), str(note["host"]), path.stat().st_mtime))
    return sorted(found, key=lambda each: -each.at)
