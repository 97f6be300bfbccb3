"""Failpoints: named points at which a test can kill the process or cut its connection. They cost nothing when off.

``JOBRUNNER_FAULT=claim.committed=kill`` kills this process (SIGKILL) when it hits that failpoint for the first time.
``=cut`` breaks its database connection, ``=stop`` stops the process until SIGCONT, and ``=raise`` raises an unexpected
error. Each hit is written to the file ``JOBRUNNER_FAULT_TRACE``, so that a test knows whether it was reached.
"""

from __future__ import annotations

import os
from collections.abc import Callable

_wanted = os.environ.get("JOBRUNNER_FAULT", "")


def are_wanted() -> bool:
    """Whether the environment names a failpoint."""
    return bool(_wanted)


def hit(point: str, cut: Callable[[], None] | None = None) -> None:
    """Hit a failpoint. Does nothing unless the environment names it."""
    if _wanted:
        _act(point, cut)


def _act(point: str, cut: Callable[[], None] | None) -> None:
    global _wanted  # noqa: PLW0603 - one fault per process
    name, _, action = _wanted.partition("=")
    if name != point:
        return
    # It acts once per process, so that a tick that survives can finish its work.
    _wanted = ""
    trace = os.environ.get("JOBRUNNER_FAULT_TRACE")
    if trace:
        descriptor = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, f"{point} {action} {os.getpid()}\n".encode())
        os.close(descriptor)
    if action in ("kill", "stop"):
        import signal

        os.kill(os.getpid(), signal.SIGKILL if action == "kill" else signal.SIGSTOP)
    elif action == "cut" and cut is not None:
        cut()
    elif action == "raise":
        raise RuntimeError(f"the fault {point}")
