"""Shows which run a child works on, as the name of its process. Every process on the host can read it at any moment.

Recovery reads it before it kills; an operator reads it with ``ps`` or ``top``. A command works on one run only, and its
environment names that run. On systems other than Linux nothing is shown.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache

_PR_SET_NAME = 15
# A name has 15 bytes, so run ids of more than 12 digits are cut off and match no run.
_AT_WORK, _IDLE = b"jr ", b"jr idle"
_OF_COMMAND = b"JOBRUNNER_RUN_ID="


def show(run_id: int | None) -> None:
    """Show that the main thread of this process works on that run. None means that it is idle."""
    if (set_name := _prctl()) is not None:
        set_name(_PR_SET_NAME, _IDLE if run_id is None else b"%s%d" % (_AT_WORK, run_id))


@cache
def _prctl() -> Callable[..., int] | None:
    with suppress(OSError, AttributeError):
        prctl: Callable[..., int] = ctypes.CDLL(None).prctl
        return prctl
    return None


def is_surely_on(pid: int, runs: Collection[int]) -> bool:
    """Whether our child or command is idle or works on one of these runs. False: on another run, or it is not known."""
    try:
        name = _content(f"/proc/{pid}/comm").rstrip(b"\n")
        environ = _content(f"/proc/{pid}/environ").split(b"\0")
    except OSError:
        return False
    run_ids = [entry.removeprefix(_OF_COMMAND) for entry in environ if entry.startswith(_OF_COMMAND)]
    if not run_ids:
        if name == _IDLE:
            return True
        run_ids = [name.removeprefix(_AT_WORK)] if name.startswith(_AT_WORK) else []
    return len(run_ids) == 1 and run_ids[0].isdigit() and int(run_ids[0]) in runs


def _content(file: str) -> bytes:
    # Not with pathlib, whose import takes a twentieth of the start of a child.
    with open(file, "rb") as opened:
        return opened.read()
