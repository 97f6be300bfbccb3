"""Recovery: what a dead or cut-off tick left behind is dealt with before anything is claimed."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import chain

from jobrunner import clock
from jobrunner.children.begun_page import abandoned
from jobrunner.children.process_groups import boot_id, kill_leftovers
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.log import Log
from jobrunner.settings import state_folder
from jobrunner.settings.config import Config
from jobrunner.store import claims, finalize
from jobrunner.store.database import Database
from jobrunner.store.finalize import Ended
from jobrunner.text import first_line_of
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.run_log import log_ended

_LARGEST_PORTION = 500
_MOST_CUTS = 3
"""Runs that are cut although they are alone: then it is not the run that is slow, and the tick has other work."""


def recover(config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
    """End every attempt whose lease has expired, whatever its type; first kill what is left of it on this host."""
    expired = database.read(finalize.expired_runs)
    # Before the runs are claimable again: the old handler must not be at work beside the new one.
    owners = {run.owner for run in expired if run.host == config.host and run.owner is not None}
    held = database.read(partial(finalize.held_runs, owners=owners)) if owners else set[int]()
    live = held.difference(run.run_id for run in expired)
    killed = kill_leftovers(state_folder.for_state(config.state_dir), owners, live)
    if killed:
        log.warning("leftovers", result="killed", processes=killed)
    _give_back_never_begun(config, database, log, counts)
    # Of these runs only: the handler of one whose lease ends at this moment has not been stopped.
    _Recovery(config, database, log, counts).recover([run.run_id for run in expired])


def _give_back_never_begun(config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
    """What a killed tick of this host held and nobody had begun: uncharged, and not only when its lease ends."""
    private = filter(state_folder.is_private, state_folder.for_state(config.state_dir))
    for left in chain.from_iterable(abandoned(folder, boot_id()) for folder in private):
        given = [
            database.write(partial(claims.give_back, token=token, run_ids=run_ids))
            for token, run_ids in left.never_begun.items()
        ]
        if not any(each.locked for each in given):
            left.forget()
        if given_back := sum(each.runs for each in given):
            counts["released"] += given_back
            log.warning("released", result="held by a tick that was killed, and never begun", runs=given_back)


class _Recovery:
    """In portions. After one that cannot be written they go one by one; one that cannot is stepped over."""

    def __init__(self, config: Config, database: Database, log: Log, counts: Counter[str]) -> None:
        self._database = database
        self._log = log
        self._counts = counts
        self._portion = BatchSize(_LARGEST_PORTION, config.lease)
        self._cuts = 0

    def recover(self, left: list[int]) -> None:
        while left:
            some, left = left[: self._portion.size], left[self._portion.size :]
            began_at = clock.elapsed()
            try:
                self._end(some)
            except DatabaseUnavailable as error:
                if not self._portion.is_cut(error, clock.elapsed() - began_at):
                    raise
                if self._portion.was_cut():
                    left = some + left
                    continue
                self._step_over(some[0], error)
                self._cuts += 1
                if self._cuts == _MOST_CUTS:
                    raise
            except JobrunnerError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the row is, it must not keep the others back
                if self._portion.was_cut():
                    left = some + left
                    continue
                self._end_bare(some, error)
            else:
                self._portion.took(clock.elapsed() - began_at)

    def _end(self, some: list[int], *, with_output: bool = True) -> None:
        work = partial(finalize.recover, limit=len(some), only=some, with_output=with_output)
        recovered: list[Ended] = self._database.write(work)
        self._database.hit("recover.committed")
        for ended in recovered:
            log_ended(self._log, ended, recovered=True)
        self._counts["recovered"] += len(recovered)

    def _end_bare(self, some: list[int], error: Exception) -> None:
        self._log.error("recovery", result="without what it has said", run_id=some[0], error=first_line_of(error))
        try:
            self._end(some, with_output=False)
        except JobrunnerError:
            raise
        except Exception as again:  # noqa: BLE001 - as above; it waits for a person
            self._step_over(some[0], again)

    def _step_over(self, run_id: int, error: Exception) -> None:
        self._log.error("recovered", run_id=run_id, result="cannot be written", error=first_line_of(error))
