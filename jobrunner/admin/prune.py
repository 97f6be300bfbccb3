"""prune and archive for an operator: whole, in batches, where a tick takes a second at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from jobrunner.settings.config import Config
from jobrunner.store.drivers.database import Database
from jobrunner.store.queue.ticks import retention


@dataclass(frozen=True)
class OldRows:
    """A number of rows. ``what`` is the status of the runs of a type, or ``ticks`` or ``events``."""

    what: str
    job_type: str | None
    rows: int
    COLUMNS: ClassVar = "what, type=job_type, rows"


@dataclass(frozen=True)
class Pruned:
    """What was deleted, or with ``dry_run`` would be; and the runs that the database refuses to delete."""

    dry_run: bool
    rows: list[OldRows]
    kept: list[int]


def old(database: Database, config: Config) -> list[OldRows]:
    """What ``prune`` would delete now."""
    found = database.read(lambda connection: retention.count_old(connection, config.keep, config.keep_types))
    return [OldRows(*each) for each in found]


def prune(database: Database, config: Config) -> tuple[list[OldRows], Mapping[int, str | None]]:
    """Delete all that is older than its retention; what was deleted, and the runs that could not be, with a reason."""
    deleted = Counter[tuple[str, str | None]]()
    kept: dict[int, str | None] = {}
    positions: retention.Positions = {}
    while True:
        work = partial(
            retention.prune, keep=config.keep, besides=frozenset(kept), types=config.keep_types, after=positions
        )
        pruned = database.write(work)
        deleted.update(pruned.what)
        kept |= dict.fromkeys(pruned.kept, pruned.reason)
        positions = pruned.positions
        if not pruned.deleted and not pruned.kept:
            return [OldRows(*what, count) for what, count in sorted(deleted.items(), key=str)], kept
