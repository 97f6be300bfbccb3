"""Recovery: what a dead or cut-off tick left behind is dealt with before anything is claimed."""

from __future__ import annotations

from collections import Counter

from jobrunner.config import Config
from jobrunner.execute.groups import kill_leftovers
from jobrunner.log import Log
from jobrunner.report import log_ended
from jobrunner.store import endings
from jobrunner.store.database import Database

_BATCH = 100


def recover(config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
    """End every attempt whose lease has expired, whatever its type; first kill what is left of it on this host."""
    owners = database.read(endings.expired_owners)
    # Before the runs are claimable again: the old handler must not be at work beside the new one.
    killed = kill_leftovers(config.state_dir, [name for host, name in owners if host == config.host])
    if killed:
        log.warning("leftovers", result="killed", processes=killed)
    while owners:
        recovered = database.write(lambda connection: endings.recover(connection, _BATCH))
        database.reach("recover.committed")
        for ended in recovered:
            log_ended(log, ended, recovered=True)
        counts["recovered"] += len(recovered)
        if len(recovered) < _BATCH:
            return
