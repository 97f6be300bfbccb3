"""The work of the command ``tick``. A plain command line comes here without click, whose import a tick can spare."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

from jobrunner.cli import environment, garbage, idle, startup, streams
from jobrunner.errors import JobrunnerError
from jobrunner.log import open_log
from jobrunner.names import LOG_LEVELS
from jobrunner.settings import state_folder
from jobrunner.settings.config import Config
from jobrunner.store.drivers import waits
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.upkeep import damage
from jobrunner.worker.tick import tick
from jobrunner.worker.watchdog import watching


def run(config: Config, *, types: Collection[str] | None = None, on_stderr: bool = False) -> None:
    """One tick, with its log and its database. Raises what the tick raises."""
    garbage.collect()
    # Who asks for lines on the terminal wants them all.
    level = LOG_LEVELS[0] if config.log is None else config.log_level
    log = open_log(config.log, on_stderr=on_stderr, level=level)
    location = locate(environment.database_url(config), config.schema)
    # Ticks of many hosts begin in the same second.
    database = Database(location, patience=waits.of_tick(config.lease), waits_for_free=True)
    with closing(database), watching(database, is_required=True) as watchdog:
        try:
            startup.make_ready(config, database, creates=True)
            # Otherwise the short look at what is due has done it, or nothing else has written the file.
            if idle.settings_if_due() is None:
                damage.check(database, raw_driver.MOST_BYTES_CHECKED)
        except JobrunnerError as error:
            log.error("tick", result="failed", error=str(error))
            raise
        if problem := startup.problem_of_state(config):
            streams.report_error(problem, 0)
        tick(config, database, watchdog, log, types, idle.take_processes())
    # Its own changes are in the file now, and are no reason for the next tick to check it.
    folders = state_folder.for_state(config.state_dir)
    state_folder.note_tick(
        folders, environment.database_url(config), config.schema, config.host, lambda: location.label
    )
