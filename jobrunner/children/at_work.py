"""Which run a child works on: told as the name of its process, which anybody on the host can read at any moment.

Recovery does, before it kills; so does an operator, with ``ps`` or ``top``. A command serves one run, and its
environment names it. Elsewhere than on Linux nothing is told.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from pathlib import Path

_PR_SET_NAME = 15
# A name has 15 bytes: of a run beyond the 10^12th nothing is known.
_AT_WORK, _IDLE = b"jr ", b"jr idle"
_OF_COMMAND = b"JOBRUNNER_RUN_ID="


def tell(run_id: int | None) -> None:
    """The main thread of this process works on that run from here on; None: on none."""
    if (set_name := _prctl()) is not None:
        set_name(_PR_SET_NAME, _IDLE if run_id is None else b"%s%d" % (_AT_WORK, run_id), 0, 0, 0)


@cache
def _prctl() -> Callable[..., int] | None:
    with suppress(OSError, AttributeError):
        prctl: Callable[..., int] = ctypes.CDLL(None).prctl
        return prctl
    return None


def is_surely_on(pid: int, runs: Collection[int]) -> bool:
    """Whether a child or command of ours works on one of these runs, or on none. False: on another, or nobody knows."""
    try:
        name = Path(f"/proc/{pid}/comm").read_bytes().rstrip(b"\n")
        environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    told = [entry.removeprefix(_OF_COMMAND) for entry in environ if entry.startswith(_OF_COMMAND)]
    if not told:
        if name == _IDLE:
            return True
        told = [name.removeprefix(_AT_WORK)] if name.startswith(_AT_WORK) else []
    return len(told) == 1 and told[0].isdigit() and int(told[0]) in runs
