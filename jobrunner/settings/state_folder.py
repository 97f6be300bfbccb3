"""Folders that belong to this user only, and the notes in them of which databases the user's ticks have used.

An idle tick imports this, so that it imports little.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress

from jobrunner.settings.paths import StrPath, absolute
from jobrunner.untyped import NamedTuple

TICK_PAGES = ("tick-", ".page")
"""How the names of the pages of ``children.begun_page`` begin and end."""
TICK_NOTES = ("tick-", ".json")
"""And those of the notes of ``children.process_groups``."""
_LAST_TICKS = ("last-", ".json")
_FORGET_SECONDS = 30 * 86400
_PRIME = 2**61 - 1


def home() -> str | None:
    """The user's home from the password database; cron, sudo and a login shell set different values of HOME."""
    try:
        named = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
    return absolute(named) if os.path.isabs(named) else None


def for_state(configured: str | None) -> list[str]:
    """The folders for a tick's notes about its processes. A tick writes to the first usable one, and reads all of them.

    They depend on the user only: cron has none of the variables of a login session, and a tick under cron must find the
    notes of a tick that ran in a shell.
    """
    if configured is not None:
        return [configured]
    user, found = os.getuid(), home()
    others = [f"/run/user/{user}/jobrunner", f"/tmp/jobrunner-{user}"]  # noqa: S108 - used only if is_private
    return others if found is None else [os.path.join(found, ".local/state/jobrunner"), *others]


def make_private(folder: StrPath) -> None:
    """Make the folder and its missing parents with mode 0700, whatever the umask is. Raises OSError.

    If others could write one of the parents, they could replace the folder.
    """
    above = os.path.dirname(folder)
    if above != os.fspath(folder):
        make_private(above)
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        if not os.path.isdir(folder):
            raise


def files_in(folder: StrPath, begin: str, end: str) -> list[str]:
    """The sorted paths of a folder's files whose names begin and end so; none if the folder cannot be read."""
    try:
        names = os.listdir(folder)
    except OSError:  # it is missing, or no file descriptor is left; the next step of the tick reports that
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.startswith(begin) and name.endswith(end)]


def is_private(folder: StrPath) -> bool:
    """Whether the folder exists, is no link, belongs to this user, and nobody else may write it."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


class LastTick(NamedTuple):
    """When a tick of this user last used a database, and under which host name. ``at``: seconds since the epoch."""

    database: str
    host: str
    at: float


def note_tick(folders: Sequence[str], url: str, schema: str | None, host: str, label: Callable[[], str]) -> None:
    """Note that a tick has used the database of this URL, whose name for people is ``label``, under this host name.

    There is a file for each database and host name. Its time of change is that of the last tick, because that is
    cheaper than to write it. Without a folder nothing is noted.
    """
    with suppress(OSError):
        folder = next(filter(is_private, folders), None) or _made(folders)
        if folder is None:
            return
        path = _note_of(folder, url, schema, host)
        try:
            os.utime(path)
        except FileNotFoundError:
            _write_note(path, LastTick(label(), host, 0.0))


def is_changed(folders: Sequence[str], url: str, schema: str | None, host: str, file: str) -> bool:
    """Whether this database file was written or replaced since such a tick was noted, or none was."""
    try:
        folder = next(filter(is_private, folders))
        return os.stat(file).st_ctime_ns > os.stat(_note_of(folder, url, schema, host)).st_mtime_ns
    except (OSError, StopIteration):
        return True


def _note_of(folder: str, url: str, schema: str | None, host: str) -> str:
    # Not the password, not even in a number.
    address = url.partition("?")[0].rpartition("@")[2]
    return os.path.join(folder, f"last-{number_of(address, schema, host):016x}.json")


def number_of(*names: str | None) -> int:
    """A number for these names, for the name of a file. No hash function is imported."""
    return int.from_bytes("\n".join(map(str, names)).encode("utf-8", "replace")) % _PRIME


def _made(folders: Sequence[str]) -> str | None:
    for folder in folders:
        with suppress(OSError):
            make_private(folder)
        if is_private(folder):
            return folder
    return None


def _write_note(path: str, tick: LastTick) -> None:
    import json

    new = f"{path.removesuffix('.json')}.{os.getpid()}"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump({"database": tick.database, "host": tick.host}, file)
    os.replace(new, path)
    for other in files_in(os.path.dirname(path), *_LAST_TICKS):
        if os.path.getmtime(other) < os.path.getmtime(path) - _FORGET_SECONDS:
            os.unlink(other)


def last_ticks(folders: Sequence[str]) -> list[LastTick]:
    """The last ticks of this user on this host, one for each database and host name, the newest first."""
    import json

    found = []
    for path in (path for folder in filter(is_private, folders) for path in files_in(folder, *_LAST_TICKS)):
        with suppress(OSError, ValueError, KeyError, TypeError), open(path, encoding="utf-8") as file:
            note = json.load(file)
            found.append(LastTick(str(note["database"]), str(note["host"]), os.fstat(file.fileno()).st_mtime))
    return sorted(found, key=lambda each: -each.at)
