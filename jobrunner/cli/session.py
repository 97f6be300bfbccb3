"""What every command begins with: the settings, the database, and what this host can run."""

from __future__ import annotations

import getpass
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import zip_longest

import click

from jobrunner import names
from jobrunner.children.events import Ready, StartFailed
from jobrunner.children.process_groups import GroupFile, state_problem
from jobrunner.children.python_child import ChildPlan
from jobrunner.children.supervisor import discover
from jobrunner.cli import environment, streams
from jobrunner.errors import DatabaseUnavailable, HandlersUnavailable, PayloadMismatch, UnknownJobType, UsageError
from jobrunner.jobs.payload import Payload, check_match
from jobrunner.model import Declaration, Owner, Policy
from jobrunner.settings import state_folder
from jobrunner.settings.config import Config
from jobrunner.store import migrate, waits
from jobrunner.store.database import Database
from jobrunner.store.location import locate
from jobrunner.store.waits import Waits
from jobrunner.text import one_line
from jobrunner.worker.watchdog import Watchdog, watching


def unopened(
    config: Config, patience: timedelta | Waits = waits.COMMAND, *, for_tick: bool = False
) -> tuple[Database, Watchdog]:
    """The database that is configured, whether it exists or not, and its watch; both end with the command."""
    database = Database(locate(environment.database_url(config)), patience=patience)
    context = click.get_current_context()
    context.call_on_close(database.close)
    # On a host with too many processes a person must be able to look what goes on; a tick could not work there.
    return database, context.with_resource(watching(database, at_any_price=for_tick))


def check_answers(config: Config) -> None:
    """Raise DatabaseUnavailable unless the database answers; one that is not there yet may be created."""
    database, _ = unopened(config)
    if not database.location.is_missing():
        database.read(lambda _: None)
    database.close()


def open_database(config: Config, *, creates: bool = False, for_many_rows: bool = False) -> Database:
    """The database, ready to use. Only the embedded default is created unasked, and that is told on stderr.

    And only with ``creates``: for a command that has something to put into it. Raises DatabaseUnavailable when it
    cannot be reached, SchemaMismatch when it must be migrated.
    """
    database, _ = unopened(config)
    make_ready(config, database, creates=creates)
    if for_many_rows:
        database.close()
        database, _ = unopened(config, waits.BULK)
    return database


def make_ready(config: Config, database: Database, *, creates: bool) -> None:
    """As ``open_database``, for one that is watched already."""
    if database.location.is_missing():
        file = database.location.file
        if config.database_url is not None or not creates:
            raise DatabaseUnavailable(f"there is no database at {file}; create it with: jobrunner migrate")
        if migrate.create_file(database):
            streams.say(f"jobrunner: created the database {file}")
    database.read(migrate.check_schema)


def problem_of_state(config: Config) -> str | None:
    """Why what a killed tick leaves at work would not be found; None: it would be."""
    return state_problem(state_folder.for_state(config.state_dir))


def policies(config: Config) -> list[Policy]:
    """What this host can run: its commands, and what its handler modules say.

    Raises HandlersUnavailable.
    """
    handlers = _greeting(config).policies if config.imports else []
    return sorted([*command_policies(config), *handlers], key=lambda policy: policy.job_type)


def policy_of(config: Config, job_type: str, hint: str, payload: Payload) -> Policy:
    """What this host says of a job type that is to get this payload.

    Raises UnknownJobType with the hint, PayloadMismatch where the payload does not fit, and HandlersUnavailable.
    """
    asked = [(job_type, payload)]
    if job_type in config.commands or not config.imports:
        policies, misfits = command_policies(config), _misfits_of_commands(config, asked)
    else:
        greeting = _greeting(config, payloads=asked)
        policies, misfits = [*command_policies(config), *greeting.policies], greeting.misfits
    known = {policy.job_type: policy for policy in policies}
    if job_type not in known:
        there_are = (
            f"it has {', '.join(sorted(known))}" if known else "JOBRUNNER_IMPORT names none, nor does a jobrunner.toml"
        )
        raise UnknownJobType(f"this host has no handler for {job_type!r} ({there_are}); {hint}")
    for misfit in misfits:
        if misfit is not None:
            raise PayloadMismatch(one_line(misfit))
    return known[job_type]


def misfits(config: Config, declared: Sequence[Declaration], of_handlers: Sequence[str | None]) -> Iterator[str]:
    """A line for each of the declarations whose payload does not fit; ``of_handlers`` is what these said of them."""
    of_commands = _misfits_of_commands(config, [(each.job_type, each.payload) for each in declared])
    for each, *said in zip_longest(declared, of_commands, of_handlers[: len(declared)]):
        for misfit in filter(None, said):
            yield f"schedules.{each.name}: {one_line(misfit)}"


def _misfits_of_commands(config: Config, asked: Sequence[tuple[str, Payload]]) -> list[str | None]:
    """Why a command could not take its payload; None: it could, or it is no command."""
    found: list[str | None] = []
    for job_type, payload in asked:
        try:
            if job_type in config.commands:
                check_match(job_type, config.commands[job_type].check_payload, payload)
            found.append(None)
        except PayloadMismatch as error:
            found.append(str(error))
    return found


def command_policies(config: Config) -> list[Policy]:
    """The job types that are commands; known without starting anything."""
    return [command.policy for command in config.commands.values()]


def schedules_of_handlers(
    config: Config, others: Sequence[Declaration]
) -> tuple[list[Policy], list[Declaration], list[str | None]]:
    """What the handler modules say: their policies, when each is to run by itself, and why payloads do not fit.

    These are those of ``others``, which come from elsewhere. Raises HandlersUnavailable.
    """
    from jobrunner.schedules import declare

    greeting = _greeting(config, schedules=True, payloads=[(each.job_type, each.payload) for each in others])
    try:
        declared = [declare.from_data(data, payload_limit=config.payload_limit) for data in greeting.schedules]
    except UsageError as error:
        raise HandlersUnavailable(f"a schedule of a handler cannot be used: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError):
        raise HandlersUnavailable("starting failed: its greeting makes no sense") from None
    return greeting.policies, declared, greeting.misfits


def _greeting(config: Config, *, schedules: bool = False, payloads: Sequence[tuple[str, Payload]] = ()) -> Ready:
    # Asked of a child: a handler module may print, hang or exit while it is imported.
    mark = secrets.token_hex(4)
    owner = Owner(config.host, names.worker(config.host, mark))
    groups = GroupFile(state_folder.for_state(config.state_dir), owner, mark)
    try:
        plan = ChildPlan(config.imports, config.app_dir, mark, tuple(config.commands), schedules, tuple(payloads))
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
