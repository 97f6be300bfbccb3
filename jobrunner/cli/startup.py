"""The database at the start of a command, without click."""

from __future__ import annotations

from jobrunner.children.process_groups import killed_ticks, state_problem
from jobrunner.cli import streams
from jobrunner.errors import DatabaseUnavailable
from jobrunner.settings import state_folder
from jobrunner.settings.config import Config
from jobrunner.store.drivers.database import Database
from jobrunner.store.upkeep.check import check_schema


def make_ready(config: Config, database: Database, *, creates: bool) -> None:
    """Check that the database can be used. A watchdog must watch it already.

    Raises DatabaseUnavailable, or SchemaMismatch if it must be migrated. With ``creates`` the default SQLite file is
    created if it is missing, and this is reported on stderr.
    """
    if database.location.is_missing():
        if config.database_url is not None or not creates:
            raise missing(database)
        from jobrunner.store.upkeep import migrate

        if migrate.create_file(database):
            streams.to_stderr(f"jobrunner: created the database {database.location.file}")
    database.read(check_schema)


def missing(database: Database) -> DatabaseUnavailable:
    """The error for an SQLite file that does not exist."""
    return DatabaseUnavailable(f"there is no database at {database.location.file}; create it with: jobrunner migrate")


def problem_of_state(config: Config) -> str | None:
    """Why the processes that a killed tick leaves would not be found. None means that they would be."""
    return state_problem(state_folder.for_state(config.state_dir))


def killed_here(config: Config) -> list[str]:
    """The names of the ticks of this host that have left a note and no process."""
    return killed_ticks(state_folder.for_state(config.state_dir))
