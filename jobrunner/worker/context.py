"""What all parts of one tick share, as one object, so that constructors have few arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING

from jobrunner.log import Log
from jobrunner.model import Owner, TickKind
from jobrunner.settings.config import Config, application_of
from jobrunner.store.drivers.database import Database
from jobrunner.store.queue.ticks.ticks import TickRow
from jobrunner.worker.stop_signals import StopRequest
from jobrunner.worker.watchdog import Watchdog

if TYPE_CHECKING:
    from jobrunner.worker.pinging import Pinging


class TickRecord:
    """What the row of the tick will say. ``reported`` is the digest of what the database knows of this host.

    ``tick_id`` is the id of the row, as soon as there is one. ``ended_by`` is why the tick claimed no more. ``server``
    is the one that the database noted last, ``is_promoted``: it is a standby of that one by now (``servers``).
    """

    def __init__(self) -> None:
        self.tick_id = 0
        self.reported: str | None = None
        self.server: str | None = None
        self.is_promoted = False
        self.has_templates = False
        self.ended_by = "empty"


class TickContext:
    """``database`` is for the main thread; ``watchdog`` watches its calls. ``counts`` is what the tick has done so far.

    ``types`` are the job types that the tick may claim. None means all that this host can run. ``pinging`` None: no
    monitor is pinged.
    """

    def __init__(
        self,
        config: Config,
        database: Database,
        watchdog: Watchdog,
        log: Log,
        owner: Owner,
        stop: StopRequest | None = None,
        types: Collection[str] | None = None,
        *,
        pinging: Pinging | None = None,
    ) -> None:
        self.config = config
        self.database = database
        self.watchdog = watchdog
        self.log = log
        self.owner = owner
        self.stop = stop or StopRequest()
        self.types = types
        self.pinging = pinging
        self.counts: Counter[str] = Counter()
        self.record = TickRecord()

    @property
    def row(self) -> TickRow:
        """The row of this tick."""
        return TickRow(self.record.tick_id, self.owner)

    @property
    def kind(self) -> TickKind:
        """What this tick has in common with those that replace it."""
        types = "" if self.types is None else ",".join(sorted(set(self.types)))
        return TickKind(self.owner.host, application_of(self.config), types)
