"""Recovery: ends or returns the runs of dead and cut-off ticks, before this tick claims anything."""

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
"""Writes of a single run that were cut. After so many, the database is slow and not the run, so recovery ends."""


def recover(context: TickContext) -> None:
    """End every attempt whose lease has expired, of any type. First kill its leftover processes on this host."""
    expired = context.database.read(expiries.expired_runs)
    # Before the runs are claimable again, because the old handler must not work at the same time as the new one.
    owners = {run.owner for run in expired if run.host == context.config.host and run.owner is not None}
    held = context.database.read(partial(expiries.held_runs, owners=owners)) if owners else set[int]()
    live = held.difference(run.run_id for run in expired)
    killed = kill_leftovers(state_folder.for_state(context.config.state_dir), owners, live)
    if killed:
        context.log.warning("leftovers", result="killed", processes=killed)
    _return_never_begun(context)
    # Only these runs: if the lease of another run expires now, its handler has not been killed.
    _Recovery(context).recover([run.run_id for run in expired])


def _return_never_begun(context: TickContext) -> None:
    """Return the runs that a killed tick of this host had claimed and not begun: at once and uncharged."""
    private = filter(state_folder.is_private, state_folder.for_state(context.config.state_dir))
    for left in chain.from_iterable(abandoned(folder, boot_id()) for folder in private):
        returned = [
            context.database.write(partial(claims.return_unstarted, token=token, run_ids=run_ids))
            for token, run_ids in left.never_begun.items()
        ]
        if not any(each.locked for each in returned):
            left.forget()
        if runs := sum(each.runs for each in returned):
            context.counts["released"] += runs
            context.log.warning("released", result="unstarted runs of a killed tick", runs=runs)


class _Recovery:
    """Recovers in batches. If a batch cannot be written, its runs are tried one by one, and bad ones are skipped."""

    def __init__(self, context: TickContext) -> None:
        self._database = context.database
        self._log = context.log
        self._counts = context.counts
        self._pinging = context.pinging
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
                self._skip(some[0], error)
                self._cuts += 1
                if self._cuts == _MOST_CUTS:
                    raise
            except JobrunnerError:
                raise
            except Exception as error:  # noqa: BLE001 - one bad row must not stop the recovery of the others
                if self._batch_size.was_cut():
                    left = some + left
                    continue
                self._end_without_output(some, error)
            else:
                self._batch_size.took(clock.elapsed() - began_at)

    def _end(self, some: list[int], *, with_output: bool = True) -> None:
        work = partial(expiries.recover, limit=len(some), only=some, with_output=with_output)
        recovered: list[Ended] = self._database.write(work)
        self._database.hit("recover.committed")
        for ended in recovered:
            log_ended(self._log, ended, recovered=True)
        self._counts["recovered"] += len(recovered)
        if self._pinging is not None:
            self._pinging.recovered(recovered)

    def _end_without_output(self, some: list[int], error: Exception) -> None:
        self._log.error("recovery", result="without its output", run_id=some[0], error=first_line_of(error))
        try:
            self._end(some, with_output=False)
        except JobrunnerError:
            raise
        except Exception as again:  # noqa: BLE001 - as above; a person must look at this row
            self._skip(some[0], again)

    def _skip(self, run_id: int, error: Exception) -> None:
        self._log.error("recovered", run_id=run_id, result="cannot be written", error=first_line_of(error))
