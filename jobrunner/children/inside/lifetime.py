"""How a child ends with its parent, and before a database when memory runs out."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from contextlib import suppress

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies. Ends it at once if the parent has died already."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        # When memory runs out, the kernel kills the handler, and not the tick or a database on this host.
        score.write("1000")
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
