"""What every command begins with: the settings, the database, and what this host can run."""

from __future__ import annotations

import getpass
import os
import secrets
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import click

from jobrunner import config as settings
from jobrunner.config import Config
from jobrunner.errors import DatabaseUnavailable, HandlersUnavailable
from jobrunner.execute.groups import GroupFile
from jobrunner.execute.process import ChildPlan
from jobrunner.execute.supervisor import StartFailed, discover_policies
from jobrunner.model import Owner, Policy
from jobrunner.store import migrate
from jobrunner.store.database import Database
from jobrunner.store.location import locate

_PATIENCE = timedelta(seconds=30)


def load(flags: Mapping[str, Any] | None = None) -> Config:
    """The settings of this process."""
    return settings.load(os.environ, flags)


def unopened(config: Config, patience: timedelta = _PATIENCE) -> Database:
    """The database that is configured, whether it exists or not."""
    url = config.database_url or f"sqlite:///{settings.default_database_file()}"
    return Database(locate(url), patience=patience)


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
            click.echo(f"jobrunner: created the database {file}", err=True)
    database.read(migrate.check_schema)
    return database


def policies(config: Config) -> list[Policy]:
    """What this host can run, asked of a child: a handler module may print, hang or exit while it is imported.

    Raises HandlersUnavailable.
    """
    if not config.imports:
        return []
    mark = secrets.token_hex(4)
    owner = Owner(config.host, f"{config.host}:{os.getpid()}:{mark}")
    groups = GroupFile(config.state_dir, owner, mark)
    try:
        plan = ChildPlan(config.imports, config.app_dir, mark)
        found = discover_policies(plan, groups, config.start_limit.total_seconds())
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
    return f"{name}@{load().host}"


def on_terminal() -> bool:
    """Whether a person looks at stderr."""
    return sys.stderr.isatty()
