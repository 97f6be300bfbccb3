"""Recovery: what a dead or cut-off tick left behind is dealt with before anything is claimed."""

from __future__ import annotations

from functools import partial
from itertools import chain

from jobrunner import clock
from jobrunner.children.begun_page import abandoned
from jobrunner.children.process_groups import boot_id, kill_leftovers
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.settings import state_folder
from jobrunner.store import claims, expiries
from jobrunner.store.finalize import Ended
from jobrunner.text import first_line_of
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.context import TickContext
from jobrunner.worker.run_log import log_ended

_LARGEST_BATCH = 500
_MOST_CUTS = 3
"""Runs that are cut although they are alone: then it is not the run that is slow, and the tick has other work."""


def recover(context: TickContext) -> None:
    """End every attempt whose lease has expired, whatever its type; first kill what is left of it on this host."""
    expired = context.database.read(expiries.expired_runs)
    # Before the runs are claimable again: the old handler must not be at work beside the new one.
    owners = {run.owner for run in expired if run.host == context.config.host and run.owner is not None}
    held = context.database.read(partial(expiries.held_runs, owners=owners)) if owners else set[int]()
    live = held.difference(run.run_id for run in expired)
    killed = kill_leftovers(state_folder.for_state(context.config.state_dir), owners, live)
    if killed:
        context.log.warning("leftovers", result="killed", processes=killed)
    _give_back_never_begun(context)
    # Of these runs only: the handler of one whose lease ends at this moment has not been stopped.
    _Recovery(context).recover([run.run_id for run in expired])


def _give_back_never_begun(context: TickContext) -> None:
    """What a killed tick of this host held and nobody had begun: uncharged, and not only when its lease ends."""
    private = filter(state_folder.is_private, state_folder.for_state(context.config.state_dir))
    for left in chain.from_iterable(abandoned(folder, boot_id()) for folder in private):
        given = [
            context.database.write(partial(claims.give_back, token=token, run_ids=run_ids))
            for token, run_ids in left.never_begun.items()
        ]
        if not any(each.locked for each in given):
            left.forget()
        if given_back := sum(each.runs for each in given):
            context.counts["released"] += given_back
            context.log.warning("released", result="held by a tick that was killed, and never begun", runs=given_back)


class _Recovery:
    """In batches. After one that cannot be written they go one by one; one that cannot is stepped over."""

    def __init__(self, context: TickContext) -> None:
        self._database = context.database
        self._log = context.log
        self._counts = context.counts
        self._batch_size = BatchSize(_LARGEST_BATCH, context.config.lease)
        self._cuts = 0

    def recover(self, left: list[int]) -> None:
        while left:
            some, left = left[: self._batch_size.size], left[self._batch_size.size :]
            began_at = clock.elapsed()
            try:
                self._end(some)
            except DatabaseUnavailable as error:
                if not self._batch_size.is_cut(error, clock.elapsed() - began_at):
                    raise
                if self._batch_size.was_cut():
                    left = some + left
                    continue
                self._step_over(some[0], error)
                self._cuts += 1
                if self._cuts == _MOST_CUTS:
                    raise
            except JobrunnerError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the row is, it must not keep the others back
                if self._batch_size.was_cut():
                    left = some + left
                    continue
                self._end_bare(some, error)
            else:
                self._batch_size.took(clock.elapsed() - began_at)

    def _end(self, some: list[int], *, with_output: bool = True) -> None:
        work = partial(expiries.recover, limit=len(some), only=some, with_output=with_output)
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
