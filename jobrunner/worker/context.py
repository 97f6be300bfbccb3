"""What all parts of one tick share, as one object, so that constructors have few arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from jobrunner.log import Log
from jobrunner.model import Owner, TickKind
from jobrunner.settings.config import Config, application_of
from jobrunner.store.database import Database
from jobrunner.worker.stop_signals import StopRequest
from jobrunner.worker.watchdog import Watchdog


@dataclass(slots=True)
class TickRecord:
    """What the row of the tick will say. ``reported`` is the digest of what the database knows of this host.

    ``ended_by`` is why the tick claimed no more.
    """

    reported: str | None = None
    ended_by: str = "empty"


@dataclass(frozen=True, slots=True)
class TickContext:
    """``database`` is for the main thread; ``watchdog`` watches its calls. ``counts`` is what the tick has done so far.

    ``types`` are the job types that the tick may claim. None means all that this host can run.
    """

    config: Config
    database: Database
    watchdog: Watchdog
    log: Log
    owner: Owner
    stop: StopRequest = field(default_factory=StopRequest)
    types: Collection[str] | None = None
    counts: Counter[str] = field(default_factory=Counter)
    record: TickRecord = field(default_factory=TickRecord)

    @property
    def kind(self) -> TickKind:
        """What this tick has in common with those that replace it."""
        types = "" if self.types is None else ",".join(sorted(set(self.types)))
        return TickKind(self.owner.host, application_of(self.config), types)
