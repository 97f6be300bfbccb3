"""What every command begins with: the settings, the database, and what this host can run."""

from __future__ import annotations

import getpass
import os
import secrets
import sys
from datetime import timedelta

import click

from jobrunner import names
from jobrunner.cli import environment, streams
from jobrunner.config import Config
from jobrunner.errors import DatabaseUnavailable, HandlersUnavailable, UsageError
from jobrunner.execute.groups import GroupFile
from jobrunner.execute.interpreter import ChildPlan
from jobrunner.execute.supervisor import Ready, StartFailed, discover
from jobrunner.model import Declaration, Owner, Policy
from jobrunner.store import migrate
from jobrunner.store.database import Database
from jobrunner.store.location import locate
from jobrunner.text import one_line

_PATIENCE = timedelta(seconds=30)


def unopened(config: Config, patience: timedelta = _PATIENCE) -> Database:
    """The database that is configured, whether it exists or not; closed when the command ends."""
    database = Database(locate(environment.database_url(config)), patience=patience)
    click.get_current_context().call_on_close(database.close)
    return database


def open_database(config: Config, patience: timedelta = _PATIENCE) -> Database:
    """The database, ready to use. Only the embedded default is created unasked, and that is told on stderr.

    Raises DatabaseUnavailable when it cannot be reached, SchemaMismatch when it must be migrated.
    """
    database = unopened(config, patience)
    if database.location.is_missing():
        file = database.location.file
        if config.database_url is not None:
            raise DatabaseUnavailable(f"there is no database at {file}; create it with: jobrunner migrate")
        if migrate.create_file(database):
            streams.say(f"jobrunner: created the database {file}")
    database.read(migrate.check_schema)
    return database


def policies(config: Config) -> list[Policy]:
    """What this host can run: its commands, and what its handler modules say.

    Raises HandlersUnavailable.
    """
    handlers = _greeting(config).policies if config.imports else []
    return sorted([*command_policies(config), *handlers], key=lambda policy: policy.job_type)


def command_policies(config: Config) -> list[Policy]:
    """The job types that are commands; known without starting anything."""
    return [command.policy for command in config.commands.values()]


def schedules_of_handlers(config: Config) -> tuple[list[Policy], list[Declaration]]:
    """What the handler modules say: their policies, and when each is to run by itself. Raises HandlersUnavailable."""
    from jobrunner import schedule

    greeting = _greeting(config, schedules=True)
    try:
        declared = [schedule.from_data(data, payload_limit=config.payload_limit) for data in greeting.schedules]
    except UsageError as error:
        raise HandlersUnavailable(f"a schedule of a handler cannot be used: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError):
        raise HandlersUnavailable("starting failed: its greeting makes no sense") from None
    return greeting.policies, declared


def _greeting(config: Config, *, schedules: bool = False) -> Ready:
    # Asked of a child: a handler module may print, hang or exit while it is imported.
    mark = secrets.token_hex(4)
    owner = Owner(config.host, names.worker(config.host, mark))
    groups = GroupFile(config.state_dir, owner, mark)
    try:
        plan = ChildPlan(config.imports, config.app_dir, mark, tuple(config.commands), schedules)
        found = discover(plan, groups, config.start_limit.total_seconds())
    except OSError as error:
        raise HandlersUnavailable(f"no child process can be started: {error.strerror}") from None
    finally:
        groups.close()
    if isinstance(found, StartFailed):
        raise HandlersUnavailable(found.reason)
    return found


def actor() -> str:
    """Who is at the keyboard, for the audit trail."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    # The name may come from LOGNAME, which anybody may have set to anything.
    return f"{one_line(name, 80)}@{environment.load().host}"


def on_terminal() -> bool:
    """Whether a person looks at stderr."""
    return sys.stderr.isatty()
