"""Files and folders: who may read and write them, and where they lie."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from jobrunner.admin.doctor.checks import Check, ok, warning, wrong

_NETWORK = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|glusterfs|gfs2?|lustre|ncpfs|nfs4?|ocfs2|orangefs|prl_fs|smb3|smbfs|vboxsf"
    r"|fuse\.(ceph|glusterfs|s3fs|sshfs)"
)
_LARGE_LOG_BYTES = 100 * 2**20
_OCTAL = re.compile(r"\\([0-7]{3})")


def of_database(file: Path) -> Iterator[Check]:
    """An SQLite file, the files beside it, and its folder."""
    problems = [
        check for path in (file, _beside(file, "-wal"), _beside(file, "-shm")) for check in _of_file(path, file)
    ]
    folder = file.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        problems.append(
            wrong(
                "files",
                f"this user may not write in {folder}: SQLite needs files beside its own",
                f"chown {_me()} {folder}",
            )
        )
    elif _mode(folder) & stat.S_IWOTH and not _mode(folder) & stat.S_ISVTX:
        problems.append(
            wrong("files", f"everybody may write in {folder}, and so replace the database", f"chmod o-w {folder}")
        )
    log = _beside(file, "-wal")
    if log.exists() and log.stat().st_size > _LARGE_LOG_BYTES:
        size = log.stat().st_size // 2**20
        problems.append(
            warning(
                "files",
                f"{log} has {size} MiB: a process keeps a read transaction open",
                f"find it, and end its transaction: lsof {file}",
            )
        )
    yield from problems or [ok("files", f"{file} and its folder belong to this user")]
    kind = file_system(os.path.realpath(file), _mounts())
    if _NETWORK.fullmatch(kind or ""):
        yield wrong(
            "file system",
            f"{file} lies on {kind}, where SQLite's log and locks do not work between hosts",
            f"move {file} to a local disk, or name a server with JOBRUNNER_DATABASE_URL",
        )
    else:
        yield ok("file system", f"{kind or 'unknown'}, not a network file system that we know")


def _of_file(path: Path, database: Path) -> Iterator[Check]:
    try:
        found = path.stat()
    except OSError:
        return
    mode = stat.S_IMODE(found.st_mode)
    if not os.access(path, os.R_OK | os.W_OK):
        yield wrong(
            "files", f"this user may not write {path}, which belongs to user {found.st_uid}", f"chown {_me()} {path}"
        )
    elif path != database and found.st_uid != database.stat().st_uid:
        # A command that another user, such as root, has run: the next tick of the owner may fail.
        owner = database.stat().st_uid
        yield wrong(
            "files", f"{path} belongs to user {found.st_uid}, the database to user {owner}", f"chown {owner} {path}"
        )
    if mode & stat.S_IWOTH:
        yield wrong("files", f"everybody may write {path}", f"chmod o-w {path}")
    elif mode & stat.S_IROTH and path == database:
        yield warning("files", f"everybody may read {path}, with all payloads", f"chmod o-r {path}")


def with_secrets(path: Path, text: str) -> Iterator[Check]:
    """A configuration file with this text, if it has a password in a URL."""
    mode = _mode(path)
    if mode & stat.S_IROTH and re.search(r"://[^/@\s]*:[^/@\s]+@", text):
        yield warning("secrets", f"everybody may read {path}, and it has a password in a URL", f"chmod o-r {path}")


def file_system(path: str, mounts: str) -> str | None:
    """The kind of the file system that has this path, from the text of /proc/self/mountinfo."""
    best, kind = "", None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        place = _OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4])
        # A later mount on the same place hides the earlier one.
        if (place == "/" or path == place or path.startswith(f"{place}/")) and len(place) >= len(best):
            best, kind = place, after.split(" ")[0]
    return kind


def _mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _me() -> str:
    return str(os.getuid())
