"""Named places at which a test may kill the process or cut its connection. Free when off.

``JOBRUNNER_FAULT=claim.committed=kill`` kills this process (SIGKILL) the first time that it passes there; ``=cut``
breaks its database connection, ``=stop`` has it stand still until SIGCONT, and ``=raise`` raises what nobody expects.
Each passing is noted in the file
``JOBRUNNER_FAULT_TRACE``, so that a test can tell a point that was survived from one that was never reached.
"""

from __future__ import annotations

import os
from collections.abc import Callable

POINTS = (
    "tick.opened",
    "recover.before_commit",
    "recover.committed",
    "deadline.before_commit",
    "deadline.committed",
    "expand.before_commit",
    "expand.committed",
    "prune.before_commit",
    "prune.committed",
    "claim.before_commit",
    "claim.committed",
    "attempt.handed_over",
    "heartbeat.before_commit",
    "heartbeat.committed",
    "attempt.ended",
    "finalize.before_commit",
    "finalize.committed",
    "tick.before_close",
)
"""In the order in which a tick passes them. Those in a child cannot cut: a child has no connection of ours."""

COMMAND_POINTS = ("command.settings_loaded", "change.before_commit")
"""Where a command has nothing but its settings yet; and where a person's command has written all that it changes about
a schedule, and nothing of it counts yet."""

CHILD_POINTS = ("child.received", "child.handler_returned", "loop.received", "loop.handler_returned")

_wanted = os.environ.get("JOBRUNNER_FAULT", "")


def are_wanted() -> bool:
    """Whether the environment names a fault point."""
    return bool(_wanted)


def hit(point: str, cut: Callable[[], None] | None = None) -> None:
    """Pass a fault point. Does nothing unless the environment names it."""
    if _wanted:
        _act(point, cut)


def _act(point: str, cut: Callable[[], None] | None) -> None:
    global _wanted  # noqa: PLW0603 - one fault per process
    name, _, action = _wanted.partition("=")
    if name != point:
        return
    # Once per process: a tick that survives the fault must be able to finish its work.
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
