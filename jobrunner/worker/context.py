"""What all parts of one tick share, as one object, so that constructors have few arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobrunner.log import Log
from jobrunner.model import Owner
from jobrunner.settings.config import Config
from jobrunner.store.database import Database
from jobrunner.worker.stop_signals import StopRequest
from jobrunner.worker.watchdog import Watchdog

if TYPE_CHECKING:
    from jobrunner.worker.pinging import Pinging


@dataclass(frozen=True, slots=True)
class TickContext:
    """``database`` is for the main thread; ``watchdog`` watches its calls. ``counts`` is what the tick has done so far.

    ``types`` are the job types that the tick may claim. None means all that this host can run. ``pinging`` None: no
    monitor is pinged.
    """

    config: Config
    database: Database
    watchdog: Watchdog
    log: Log
    owner: Owner
    stop: StopRequest = field(default_factory=StopRequest)
    types: Collection[str] | None = None
    counts: Counter[str] = field(default_factory=Counter)
    pinging: Pinging | None = None
