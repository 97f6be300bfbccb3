"""Paths as texts. An idle tick imports this in place of ``pathlib``, which takes a tenth of its time."""

from __future__ import annotations

import os

StrPath = str | os.PathLike[str]


def absolute(path: str) -> str:
    """The absolute path, without needless dots and slashes. It keeps ``..``, because a folder before it may be a link.

    It is what ``pathlib.Path.absolute`` gives.
    """
    joined = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
    return "/" + "/".join(part for part in joined.split("/") if part not in ("", "."))
