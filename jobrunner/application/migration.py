"""Creates jobrunner's tables in the caller's own transaction, such as that of another migration."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobrunner.store.callers.borrowed import Transaction


def migrate(connection: Transaction) -> bool:
    """Create jobrunner's tables, or bring them to this version. Returns whether anything changed.

    ``connection`` is what ``jobrunner.enqueue`` takes. Nothing is committed: the tables exist if and only if the
    caller's transaction commits. On a connection of Django outside of ``atomic()`` this is a transaction of its own.
    At a deploy use the command ``jobrunner migrate``, which does the same on a connection of its own.
    """
    from jobrunner.store.upkeep.migrate import migrate_in

    return migrate_in(connection)
