"""Writes a file as a whole: who reads it sees the old one or the new one, also after a crash or a power cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex


def draft_of(path: Path) -> Path:
    """A name for the draft of a file: beside it, with its ending, hidden, and another one for each call."""
    return path.with_name(f".{path.stem}-{token_hex(8)}{path.suffix}")


def replace_file(
    path: Path,
    data: bytes,
    draft: Path,
    *,
    check: Callable[[Path], None] = lambda _: None,
    mode: int = 0o600,
    keeps_mode: bool = True,
) -> None:
    """Write the draft, which must lie in the folder of the file, and rename it. After any error the file is unchanged.

    ``check`` may refuse the draft by an error. A new file has this ``mode``; ``keeps_mode``: one that is there keeps
    its mode and, if this user may give it away, its owner. ``synchronize_folder`` makes the new name last.
    """
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        check(draft)
        if keeps_mode and path.exists():
            found = path.stat()
            draft.chmod(found.st_mode & 0o7777)
            with suppress(PermissionError):
                os.chown(draft, found.st_uid, found.st_gid)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def synchronize_folder(folder: Path) -> None:
    """Have the names of a folder written to the disk, such as that of a file that was just made."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
