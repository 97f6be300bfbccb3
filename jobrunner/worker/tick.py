"""One tick, from start to exit. Start here.

Ticks overlap, on one host and across hosts, and nothing depends on a lock around them: the database judges.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial

import jobrunner
from jobrunner import clock, names
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.process_groups import GroupFile, boot_id
from jobrunner.children.python_child import ChildPlan
from jobrunner.children.supervisor import Supervisor
from jobrunner.errors import DatabaseHeld, DatabaseUnavailable, HandlersUnavailable, JobrunnerError
from jobrunner.log import Log, internal_error
from jobrunner.model import Owner
from jobrunner.settings import state_folder
from jobrunner.settings.config import Config
from jobrunner.store import migrate, ticks
from jobrunner.store.database import Database
from jobrunner.text import first_line_of
from jobrunner.worker import deadlines, expansion, recovery
from jobrunner.worker.batch_size import BatchSize
from jobrunner.worker.listen import Listening
from jobrunner.worker.loop import Drain
from jobrunner.worker.stop_signals import StopRequest, listening
from jobrunner.worker.watchdog import Watchdog

_PRUNE_SECONDS = 1.0
_FIRST_PRUNED, _MOST_PRUNED = 50, 500


def tick(
    config: Config, database: Database, watch: Watchdog, log: Log, types: Collection[str] | None = None
) -> Counter[str]:
    """Recover, expand, prune, drain; leave a trail; return what was done. ``types`` None: all of this host's.

    Opens its own transactions, which ``watch`` has an eye on. Raises SchemaMismatch before anything is written,
    DatabaseUnavailable and HandlersUnavailable after what could be finalized was.
    """
    with listening() as stop:
        database.read(migrate.check_schema)
        return Tick(config, database, log, types, stop, watch).run()


class Tick:
    """What one tick carries along."""

    def __init__(
        self,
        config: Config,
        database: Database,
        log: Log,
        types: Collection[str] | None,
        stop: StopRequest,
        watch: Watchdog,
    ) -> None:
        self._config = config
        self._database = database
        self._log = log
        self._types = types
        self._stop = stop
        self._watch = watch
        self._mark = secrets.token_hex(4)
        self._owner = Owner(config.host, names.worker(config.host, self._mark))
        self._counts: Counter[str] = Counter()
        self._lingering: Listening | None = None

    def run(self) -> Counter[str]:
        """Work between the two writes of the trail; an open row is a tick that was killed."""
        began_at = clock.elapsed()
        tick_id = self._database.write(
            lambda connection: ticks.open_tick(connection, self._owner, jobrunner.__version__)
        )
        self._database.hit("tick.opened")
        problem: JobrunnerError | None = None
        try:
            self._work(tick_id)
        except JobrunnerError as error:
            problem = error
        except Exception as error:  # noqa: BLE001 - the trail is closed, and one line says what it was
            problem = internal_error(self._log, "tick", error, "this tick, its runs were given back")
        self._close(tick_id, problem)
        told = {} if problem is None else {"error": str(problem)}
        self._log.info(
            "tick",
            result="failed" if problem else "done",
            seconds=round(clock.elapsed() - began_at, 3),
            **+self._counts,
            **told,
        )
        if problem is not None:
            raise problem
        return self._counts

    def _work(self, tick_id: int) -> None:
        held = self._prepare()
        can_work = self._config.imports or self._config.commands
        if can_work and (self._config.linger or self._database.read(ticks.is_anything_due)):
            self._drain(tick_id)
        if held is not None:
            raise held

    def _prepare(self) -> DatabaseHeld | None:
        """What comes before the drain. One row that somebody holds keeps its own step from its end, and no other."""
        common = self._config, self._database, self._log, self._counts
        steps: dict[str, Callable[[], None]] = {
            "recover": lambda: recovery.recover(*common),
            # Before the expansion: what is given up is in no slot's way.
            "deadlines": lambda: deadlines.end_overdue(*common),
            "expand": lambda: expansion.expand(*common),
            # Before the drain, which a busy tick never leaves early: a busy queue's tables grow the fastest.
            "prune": self._prune,
        }
        held = None
        for name, take in steps.items():
            try:
                take()
            except DatabaseHeld as error:
                if held is not None:
                    # A whole table, it seems: no reason to wait for it again and again.
                    raise
                held = error
                self._log.warning("held up", step=name, error=str(error))
        return held

    def _prune(self) -> None:
        if not self._database.write(ticks.take_prune_turn):
            return
        ends_at = clock.elapsed() + _PRUNE_SECONDS
        portion = BatchSize(_MOST_PRUNED, self._config.lease, first=_FIRST_PRUNED)
        kept: set[int] = set()
        while (began_at := clock.elapsed()) < ends_at:
            work = partial(ticks.prune, keep=self._config.keep, limit=portion.size, besides=frozenset(kept))
            try:
                pruned = self._database.write(work)
            except Exception as error:
                is_database_away = isinstance(error, JobrunnerError) and not portion.is_cut(
                    error, clock.elapsed() - began_at
                )
                if is_database_away:
                    raise
                # Whatever cannot be deleted: there is other work, and the next try is in ten minutes.
                self._log.error("prune", result="given up", error=first_line_of(error))
                return
            self._database.hit("prune.committed")
            portion.took(clock.elapsed() - began_at)
            self._counts["pruned"] += pruned.deleted
            if pruned.kept and not kept:
                self._log.warning("prune", result="kept", run_id=min(pruned.kept), error=pruned.reason)
            kept.update(pruned.kept)
            self._counts["kept"] = len(kept)
            if not pruned.deleted and not pruned.kept:
                return

    def _drain(self, tick_id: int) -> None:
        config = self._config
        groups = GroupFile(state_folder.for_state(config.state_dir), self._owner, self._mark)
        if not groups.is_usable:
            self._log.warning("state", result="unusable")
        page = BegunPage(groups.folder, self._mark, boot_id())
        plan = ChildPlan(
            config.imports,
            config.app_dir,
            self._mark,
            tuple(config.commands),
            page=page,
            result_limit=config.payload_limit,
        )
        try:
            supervisor = Supervisor(plan, groups, config.start_limit.total_seconds())
        except OSError as error:
            raise HandlersUnavailable(f"no child process can be started: {error.strerror}") from None
        if config.linger:
            self._lingering = Listening(
                config, self._owner, self._database, self._log, self._types, tick_id, self._counts
            )
        drain = Drain(
            config,
            self._owner,
            self._database,
            supervisor,
            self._log,
            self._stop,
            self._types,
            self._watch,
            self._lingering,
        )
        with self._stop.waking(supervisor.wake_descriptor):
            try:
                drain.run()
            finally:
                self._counts.update(drain.counts)
                supervisor.close()
                groups.close()
                page.close()

    def _close(self, tick_id: int, problem: JobrunnerError | None) -> None:
        trouble = None if self._lingering is None else self._lingering.trouble
        error = trouble if problem is None else str(problem)
        self._database.hit("tick.before_close")
        # A tick that cannot close its trail has done its work all the same: the open row tells.
        with suppress(DatabaseUnavailable):
            self._database.write(lambda connection: ticks.close_tick(connection, tick_id, +self._counts, error))
