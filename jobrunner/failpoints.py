"""Failpoints: named points at which a test can kill the process or cut its connection. They cost nothing when off.

``JOBRUNNER_FAULT=claim.committed=kill`` kills this process (SIGKILL) when it hits that failpoint for the first time.
``=cut`` breaks its database connection, ``=stop`` stops the process until SIGCONT, and ``=raise`` raises an unexpected
error. Each hit is written to the file ``JOBRUNNER_FAULT_TRACE``, so that a test knows whether it was reached.
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
"""In the order in which a tick hits them."""

COMMAND_POINTS = ("command.settings_loaded", "bulk.committed", "change.before_commit")
"""When a command has loaded its settings; when a batch of a change of many runs is committed; and when a command has
written all changes of a schedule, before COMMIT."""

ARCHIVE_POINTS = ("archive.before_link", "archive.written", "archive.before_commit", "archive.deleted")
"""When the file is on the disk under a temporary name; under its own; and around the deletion of each batch."""

RESTORE_POINTS = ("restore.step",)
"""When a part of a backup is written over an SQLite database, and not committed if it is not the last part."""

CHILD_POINTS = ("child.received", "child.handler_returned", "loop.received", "loop.handler_returned")
"""They cannot cut: a child has no connection to the database."""

EFFECT_POINTS = (
    "effect.intend_before_commit",
    "effect.intended",
    "effect.called",
    "effect.outcome_before_commit",
    "effect.applied",
    "transaction.before_end",
    "transaction.before_commit",
    "transaction.committed",
)
"""In a child, around the call of a guarded effect and at the end of a handler's own transaction."""

NOTICE_POINTS = ("notices.taken", "notices.sent")
"""At the end of a tick: when no other tick tells what this one has taken; and when it has told it."""

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
