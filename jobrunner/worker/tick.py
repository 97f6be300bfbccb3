"""One tick, from start to exit. Start reading here.

Ticks overlap, on one host and across hosts. No lock keeps them apart: guarded writes in the database do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from jobrunner import clock
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.log import Log, internal_error
from jobrunner.settings import state_folder
from jobrunner.settings.config import Config, url_of
from jobrunner.store.drivers.database import Database
from jobrunner.store.queue.ticks import ticks
from jobrunner.worker.context import TickContext
from jobrunner.worker.counting import count_ends
from jobrunner.worker.housekeeping import do_housekeeping
from jobrunner.worker.listening import Listening
from jobrunner.worker.loop import Loop
from jobrunner.worker.notices import note_late, tell
from jobrunner.worker.processes import TickProcesses
from jobrunner.worker.pruning import prune_on
from jobrunner.worker.tick_record import open_row, report_host
from jobrunner.worker.watchdog import Watchdog

if TYPE_CHECKING:
    from jobrunner.worker.pinging import Pinging


def tick(
    config: Config,
    database: Database,
    watchdog: Watchdog,
    log: Log,
    types: Collection[str] | None = None,
    processes: TickProcesses | None = None,
) -> Counter[str]:
    """Recover, expand, prune, run what is due, prune on; record the tick; return the counts of what was done.

    ``types`` None means all job types of this host. Opens its own transactions; ``watchdog`` ends calls that hang.
    ``processes`` may have a child already; they are closed here. The caller has checked that the schema fits this code.
    Raises DatabaseUnavailable and HandlersUnavailable after it has finalized all that it could.
    """
    processes = processes or TickProcesses(config)
    try:
        with processes.stop.noting():
            pinging = _pinging(config, database, log)
            context = TickContext(
                config, database, watchdog, log, processes.owner, processes.stop, types, pinging=pinging
            )
            return Tick(context, processes).run()
    finally:
        processes.close()


def _pinging(config: Config, database: Database, log: Log) -> Pinging | None:
    notify = config.notify
    if notify is None or not (notify.pings() or notify.tick_ping):
        return None
    from jobrunner.worker.pinging import Pinging

    return Pinging(database, log, notify)


class Tick:
    """The row of one tick in job_ticks, and the work of the tick."""

    def __init__(self, context: TickContext, processes: TickProcesses) -> None:
        self._context = context
        self._processes = processes
        self._listening: Listening | None = None

    def run(self) -> Counter[str]:
        """Open the row, work, close the row. A row that stays open shows that its tick was killed."""
        began_at = clock.elapsed()
        context = self._context
        open_row(context)
        self._note()
        self._context.database.hit("tick.opened")
        problem: JobrunnerError | None = None
        try:
            self._work()
        except JobrunnerError as error:
            problem = error
        except Exception as error:  # noqa: BLE001 - the row is closed, and one line names the error
            problem = internal_error(self._context.log, "tick", error, "this tick, and its runs were returned")
        if not isinstance(problem, DatabaseUnavailable):
            count_ends(self._context)
            prune_on(self._context)
        # Tried in any case: a database that was away may be back, and an open row looks like a killed tick.
        self._close(problem)
        if context.config.metrics_file is not None:
            from jobrunner.worker import metrics

            metrics.write_after_tick(context.config, context.database, context.log)
        # Last, because a receiver may take its time.
        if self._context.pinging is not None:
            self._context.pinging.tick_ended(problem)
        tell(self._context)
        if self._context.pinging is not None:
            self._context.pinging.close()
        reason = {} if problem is None else {"error": str(problem)}
        if context.config.linger and problem is None:
            # A tick that was relieved, and one that was not.
            reason["ended_by"] = context.record.ended_by
        self._context.log.info(
            "tick",
            result="failed" if problem else "done",
            seconds=round(clock.elapsed() - began_at, 3),
            **+self._context.counts,
            **reason,
        )
        if problem is not None:
            raise problem
        return self._context.counts

    def _note(self) -> None:
        config, location = self._context.config, self._context.database.location
        folders = state_folder.for_state(config.state_dir)
        state_folder.note_tick(folders, url_of(config), config.schema, config.host, lambda: location.label)

    def _work(self) -> None:
        context = self._context
        held = do_housekeeping(context)
        note_late(context)
        is_anything_due = partial(ticks.is_anything_due, host=context.owner.host)
        # A schedule may give each host a run: then it must be known what this one can run.
        must_report = context.record.has_templates and context.record.reported is None
        if context.config.linger or must_report or context.database.read(is_anything_due):
            if not context.config.imports:
                # Otherwise the first handshake says what this host can run.
                report_host(context, ())
            if context.config.imports or context.config.commands:
                self._run_what_is_due()
        if held is not None:
            raise held

    def _run_what_is_due(self) -> None:
        context, config = self._context, self._context.config
        supervisor = self._processes.open()
        if not self._processes.is_noted:
            context.log.warning("state", result="unusable")
        if config.linger:
            self._listening = Listening(context, supervisor)
        with context.stop.waking(supervisor.wake_descriptor):
            try:
                Loop(context, supervisor, self._listening).run()
            finally:
                self._processes.end()

    def _close(self, problem: JobrunnerError | None) -> None:
        trouble = None if self._listening is None else self._listening.trouble
        error = trouble if problem is None else str(problem)
        self._context.database.hit("tick.before_close")
        ended_by = self._context.record.ended_by if error is None else "error"
        end = ticks.TickEnd(+self._context.counts, error, ended_by)
        # If the row cannot be closed, the work is done all the same, and the open row shows it.
        with suppress(DatabaseUnavailable):
            if not self._context.database.write(partial(ticks.close_tick, row=self._context.row, end=end)):
                self._context.log.warning("tick row", result="it is gone, as after a promotion or a restore")
