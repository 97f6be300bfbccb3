"""Folders that are this user's alone."""

from __future__ import annotations

from pathlib import Path


def make_private(folder: Path) -> None:
    """Make the folder, and those above it that are missing, mode 0700 whatever the umask. Raises OSError.

    One above that others may write would be enough for them to put another in the folder's place.
    """
    for each in (*reversed(folder.parents), folder):
        each.mkdir(mode=0o700, exist_ok=True)
