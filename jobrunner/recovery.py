"""Recovery: what a dead or cut-off tick left behind is dealt with before anything is claimed."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import chain

from jobrunner import folders
from jobrunner.config import Config
from jobrunner.errors import JobrunnerError
from jobrunner.execute.begun import abandoned
from jobrunner.execute.groups import boot_id, kill_leftovers
from jobrunner.log import Log
from jobrunner.report import log_ended
from jobrunner.store import claims, endings
from jobrunner.store.database import Database
from jobrunner.store.endings import Ended

_BATCH = 100


def recover(config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
    """End every attempt whose lease has expired, whatever its type; first kill what is left of it on this host."""
    owners = database.read(endings.expired_owners)
    # Before the runs are claimable again: the old handler must not be at work beside the new one.
    killed = kill_leftovers(folders.for_state(config.state_dir), [name for host, name in owners if host == config.host])
    if killed:
        log.warning("leftovers", result="killed", processes=killed)
    _give_back_never_begun(config, database, log, counts)
    # Of these owners only: the handlers of one whose lease ends at this moment have not been stopped.
    names = [name for _, name in owners]
    while owners:
        try:
            recovered = database.write(lambda connection: endings.recover(connection, _BATCH, owners=names))
        except JobrunnerError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the row is, it must not keep the others back
            log.error("recovery", result="one by one", error=_first_line(error))
            recovered = _one_by_one(database, names, log)
            owners = []
        database.reach("recover.committed")
        for ended in recovered:
            log_ended(log, ended, recovered=True)
        counts["recovered"] += len(recovered)
        if len(recovered) < _BATCH:
            return


def _give_back_never_begun(config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
    """What a killed tick of this host held and nobody had begun: uncharged, and not only when its lease ends."""
    private = filter(folders.is_private, folders.for_state(config.state_dir))
    for left in chain.from_iterable(abandoned(folder, boot_id()) for folder in private):
        given_back = 0
        for token, run_ids in left.never_begun.items():
            given_back += database.write(partial(claims.give_back, token=token, run_ids=run_ids))
        left.forget()
        if given_back:
            counts["released"] += given_back
            log.warning("released", result="held by a tick that was killed, and never begun", runs=given_back)


def _one_by_one(database: Database, owners: list[str], log: Log) -> list[Ended]:
    """One of them cannot be written as it is: alone and bare perhaps, else it waits for a person."""
    recovered = []
    for run_id in database.read(endings.expired_runs):
        recover_it = partial(endings.recover, limit=1, owners=owners, only=run_id)
        try:
            recovered += database.write(recover_it)
        except JobrunnerError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            log.error("recovered", run_id=run_id, result="cannot be written", error=_first_line(error))
    return recovered


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]
