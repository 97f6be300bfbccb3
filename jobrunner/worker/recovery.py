"""Recovery: ends or returns the runs of dead and cut-off ticks, before this tick claims anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

from jobrunner import clock
from jobrunner.children.begun_page import Abandoned, abandoned, has_page
from jobrunner.children.proc import boot_id
from jobrunner.children.process_groups import DeadTick, has_note, kill_leftovers
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.model import Owner
from jobrunner.settings import state_folder
from jobrunner.store.drivers.database import Connection
from jobrunner.store.queue import claims, expiries
from jobrunner.store.queue.claims import Returned
from jobrunner.store.queue.finalize import Ended
from jobrunner.text import first_line_of
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.context import TickContext
from jobrunner.worker.run_log import log_ended

_LARGEST_BATCH = 500
_MOST_CUTS = 3
"""Writes of a single run that were cut. After so many, the database is slow and not the run, so recovery ends."""
_MOST_FAILURES = 3
"""Dead ticks that could not be dealt with. After so many, the others are left to the next tick: each may take long."""


def recover(context: TickContext) -> None:
    """End every attempt whose lease has expired or whose tick is dead, of any type.

    First kill their leftover processes on this host.
    """
    expired = context.database.read(expiries.expired_runs)
    # Before the runs are claimable again, because the old handler must not work at the same time as the new one.
    owners = {run.owner for run in expired if run.host == context.config.host and run.owner is not None}
    held = context.database.read(partial(expiries.held_runs, owners=owners)) if owners else set[int]()
    live = held.difference(run.run_id for run in expired)
    folders = state_folder.for_state(context.config.state_dir)
    leftovers = kill_leftovers(folders, owners, live)
    if leftovers.killed:
        context.log.warning("leftovers", result="killed", processes=leftovers.killed)
    dead = _DeadTicks(context)
    dead.end([folder for folder in folders if state_folder.is_private(folder)], leftovers.dead)
    # Only these runs: if the lease of another run expires now, its handler has not been killed.
    _Recovery(context).recover([run.run_id for run in expired])
    if dead.trouble is not None:
        raise dead.trouble


class _DeadTicks:
    """Gives back what the dead ticks of this host hold, without waiting for the ends of their leases.

    One that cannot be dealt with now keeps neither the others waiting nor the runs whose leases have expired. The next
    tick tries it again. ``trouble`` is then the first error of the database.
    """

    def __init__(self, context: TickContext) -> None:
        self.trouble: DatabaseUnavailable | None = None
        self._context = context
        self._database = context.database
        self._failures = 0

    def end(self, folders: Sequence[str], dead: Sequence[DeadTick]) -> None:
        """End or return the runs of each tick that has left a page in these folders, or is ``dead`` by its note.

        Each page is locked meanwhile, so two ticks never do this for the same dead one at the same time.
        """
        ticks = {tick.mark: tick for tick in dead}
        for left in chain.from_iterable(abandoned(folder, boot_id()) for folder in folders):
            tick = ticks.pop(left.mark, None)
            if self._is_done(left.owner, partial(self._end_one, tick, left)):
                left.forget()
                if tick is not None:
                    tick.forget()
        for tick in ticks.values():
            # If another process has its page, that is a tick that does this now, or what a handler has left.
            has_a_page = any(has_page(folder, tick.mark) for folder in folders)
            work = partial(self._holds_nothing, tick) if has_a_page else partial(self._end_one, tick, None)
            if self._is_done(tick.owner, work):
                tick.forget()

    def _is_done(self, owner: Owner, work: Callable[[], bool]) -> bool:
        if self._failures == _MOST_FAILURES:
            return False
        log = self._context.log
        try:
            return work()
        except DatabaseUnavailable as error:
            log.warning("dead tick", worker=owner.name, result="the next tick tries it again", error=str(error))
            self.trouble = self.trouble or error
        except JobrunnerError:
            raise
        except Exception as error:  # noqa: BLE001 - one bad row must not stop the recovery of the others
            log.error("dead tick", worker=owner.name, result="cannot be written", error=first_line_of(error))
        self._failures += 1
        return False

    def _holds_nothing(self, tick: DeadTick) -> bool:
        """Whether a tick of this database holds no run any more. Then its note need not be read by each tick."""
        if not self._database.read(partial(expiries.is_tick, owner=tick.owner)):
            return False
        return not self._database.read(partial(expiries.held_runs, owners=[tick.owner.name]))

    def _end_one(self, tick: DeadTick | None, left: Abandoned | None) -> bool:
        """End or return the runs of one tick; whether its page and its note are not needed any more."""
        returned = Returned(0, frozenset()) if left is None else self._return_never_begun(left)
        if tick is None:
            return left is not None and self._is_used_up(left, returned)
        held_runs = partial(expiries.held_runs, owners=[tick.owner.name])
        held = self._database.read(held_runs)
        if not held:
            return left is None or self._is_known(left, returned)
        # A run that has never begun, and whose row is locked now, is returned by a later tick.
        _Recovery(self._context, tick.owner).recover(sorted(held - returned.locked))
        return not self._database.read(held_runs)

    def _is_used_up(self, left: Abandoned, returned: Returned) -> bool:
        """Whether a page is not needed any more whose tick was not proven dead by its note.

        Some of its processes may be left, so what has begun waits for its lease.
        """
        if returned.locked or has_note(left.path.parent, left.mark):
            # The tick has died since its note was read. The page makes the next tick look at it.
            return False
        return not left.never_begun or self._is_known(left, returned)

    def _is_known(self, left: Abandoned, returned: Returned) -> bool:
        """Whether this is the database of the tick, or the page is older than a day, so that no lease is left.

        What belongs to another database is left to the ticks of that one.
        """
        if returned.runs > 0 or left.is_old():
            return True
        return self._database.read(partial(expiries.is_tick, owner=left.owner))

    def _return_never_begun(self, left: Abandoned) -> Returned:
        """Return the runs that a killed tick had claimed and not begun: at once and uncharged."""

        def give_back(connection: Connection, token: str, run_ids: list[int] | None) -> Returned:
            if run_ids is None:
                # The COMMIT of its claim may be under way still. It is over when this transaction has its lock.
                claims.lock_permits(connection, left.owner.host)
            return claims.return_unstarted(connection, token, run_ids)

        returned = [
            self._database.write(partial(give_back, token=token, run_ids=run_ids))
            for token, run_ids in left.never_begun.items()
        ]
        if runs := sum(each.runs for each in returned):
            self._context.counts["released"] += runs
            self._context.log.warning("released", result="unstarted runs of a killed tick", runs=runs)
        return Returned(runs, frozenset(run_id for each in returned for run_id in each.locked))


class _Recovery:
    """Recovers in batches. If a batch cannot be written, its runs are tried one by one, and bad ones are skipped.

    ``dead`` is the owner of the runs if it is certainly dead. None: only runs whose lease has expired are ended.
    """

    def __init__(self, context: TickContext, dead: Owner | None = None) -> None:
        self._dead = dead
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
        if self._dead is None:
            work = partial(expiries.recover, limit=len(some), only=some, with_output=with_output)
        else:
            work = partial(expiries.recover_of, owner=self._dead, run_ids=some, with_output=with_output)
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
        except Exception as again:  # noqa: BLE001 - as above; an operator must look at this row
            self._skip(some[0], again)

    def _skip(self, run_id: int, error: Exception) -> None:
        self._log.error("recovered", run_id=run_id, result="cannot be written", error=first_line_of(error))
