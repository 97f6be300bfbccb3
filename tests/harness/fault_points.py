"""The failpoints of the code by name, which tests go through one by one (`jobrunner.failpoints`)."""

from __future__ import annotations

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

MOVE_POINTS = ("move.closed", "move.written", "move.opened")
"""When the old database is closed, when a slice is in the new one, and when that is open and the old one not marked."""

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
