"""What the commands share: the database, and the job types that this host can run."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import zip_longest

import click

from jobrunner import names
from jobrunner.children.begun_page import BegunPage
from jobrunner.children.discovery import discovering
from jobrunner.children.events import Ready, StartFailed
from jobrunner.children.process_groups import GroupFile
from jobrunner.children.python_child import ChildPlan
from jobrunner.cli import environment, options, startup
from jobrunner.cli.caller import caller
from jobrunner.errors import HandlersNotAsked, HandlersUnavailable, PayloadMismatch, UnknownJobType, UsageError
from jobrunner.jobs.payload import Payload, check_match
from jobrunner.model import Actor, Declaration, Owner, Policy
from jobrunner.settings import state_folder
from jobrunner.settings.config import Config
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import Location, locate
from jobrunner.store.drivers.waits import Waits, of_bulk
from jobrunner.text import nearest, one_line
from jobrunner.worker.watchdog import watching


def unopened(config: Config, waits: Waits | None = None) -> Database:
    """The configured database, which need not exist, with a watchdog. Both are closed when the command ends."""
    return watched(locate(environment.database_url(config), config.schema), waits or Waits.of(config.patience))


def watched(location: Location, waits: Waits) -> Database:
    """The database there, as ``unopened``."""
    asks = caller()
    database = Database(location, patience=waits) if asks is None else asks.opens(location, waits)
    context = click.get_current_context()
    context.call_on_close(database.close)
    # On a host with too many processes an operator must still be able to look. A tick could not work there.
    context.with_resource(watching(database, is_required=False))
    return database


def check_answers(config: Config) -> None:
    """Raise DatabaseUnavailable unless the database answers. A missing SQLite file is no error."""
    database = unopened(config)
    if not database.location.is_missing():
        database.read(lambda _: None)
    database.close()


def open_database(config: Config, *, creates: bool = False, for_many_rows: bool = False) -> Database:
    """The database, ready to use. Raises DatabaseUnavailable, or SchemaMismatch if it must be migrated.

    With ``creates`` the default SQLite file is created if it is missing, and this is reported on stderr. No other
    database is created without a request.
    """
    database = unopened(config)
    startup.make_ready(config, database, creates=creates)
    if for_many_rows:
        database.close()
        database = unopened(config, of_bulk(config.patience))
    return database


def policies(config: Config) -> list[Policy]:
    """The job types that this host can run: its commands and its handlers. Raises HandlersUnavailable."""
    with asking_policies(config) as found:
        return found()


@contextmanager
def asking_policies(config: Config) -> Iterator[Callable[[], list[Policy]]]:
    """The same in two steps: what is given waits for the child that imports the handlers, which starts meanwhile."""
    is_asked = caller() is None
    with ExitStack() as ending:
        handshake = ending.enter_context(_asking(config)) if config.imports and is_asked else None

        def found() -> list[Policy]:
            if config.imports and handshake is None:
                raise HandlersNotAsked("only a command of a user imports the handlers")
            handlers = handshake().policies if handshake else []
            return sorted([*command_policies(config), *handlers], key=lambda policy: policy.job_type)

        yield found


def policy_of(config: Config, job_type: str, hint: str, payload: Payload) -> Policy:
    """The policy of a job type on this host, which must be able to take this payload.

    Raises UnknownJobType with the hint, PayloadMismatch if the payload does not fit, and HandlersUnavailable.
    """
    asked = [(job_type, payload)]
    if job_type in config.commands or not config.imports:
        policies, misfits = command_policies(config), _misfits_of_commands(config, asked)
    else:
        handshake = _handshake(config, payloads=asked)
        policies, misfits = [*command_policies(config), *handshake.policies], list(handshake.misfits)
    known = {policy.job_type: policy for policy in policies}
    if job_type not in known:
        from jobrunner.admin.doctor.handlers import why_none

        there_are = (
            f"it has {', '.join(sorted(known))}{_meant(job_type, known)}" if known else why_none(config.imports)[0]
        )
        raise UnknownJobType(f"this host has no handler for {job_type!r} ({there_are}); {hint}")
    for misfit in misfits:
        if misfit is not None:
            raise PayloadMismatch(one_line(misfit))
    return known[job_type]


def check_payload(config: Config, hint: str, job_type: str, payload: Payload) -> None:
    """Raise what ``policy_of`` raises if this host cannot take the payload."""
    policy_of(config, job_type, hint, payload)


def types_and_misfits(config: Config, asked: Sequence[tuple[str, Payload]]) -> tuple[list[str], list[str | None]]:
    """The job types of this host, and why these payloads do not fit their types. Raises HandlersUnavailable."""
    of_commands = _misfits_of_commands(config, asked)
    commands = [policy.job_type for policy in command_policies(config)]
    if not config.imports:
        return commands, of_commands
    handshake = _handshake(config, payloads=asked)
    reported = zip(of_commands, handshake.misfits, strict=True)
    return [*commands, *(each.job_type for each in handshake.policies)], [one or other for one, other in reported]


def _meant(job_type: str, known: Iterable[str]) -> str:
    near = nearest(job_type, known)
    return "" if near is None else f"; did you mean {near!r}?"


def misfits(config: Config, declared: Sequence[Declaration], of_handlers: Sequence[str | None]) -> Iterator[str]:
    """A line for each declaration whose payload does not fit. ``of_handlers`` are the misfits that a child reported."""
    of_commands = _misfits_of_commands(config, [(each.job_type, each.payload) for each in declared])
    for each, *reported in zip_longest(declared, of_commands, of_handlers[: len(declared)]):
        for misfit in filter(None, reported):
            yield f"schedules.{each.name}: {one_line(misfit)}"


def _misfits_of_commands(config: Config, asked: Sequence[tuple[str, Payload]]) -> list[str | None]:
    """Why a command cannot take its payload. None means that it can, or that the type is no command."""
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
    """The job types that are commands. No process is started to find them."""
    return [command.policy for command in config.commands.values()]


def schedules_of_handlers(
    config: Config, others: Sequence[Declaration]
) -> tuple[list[Policy], list[Declaration], list[str | None]]:
    """The policies and the schedules of the handlers, and why the payloads of ``others`` do not fit their handlers.

    ``others`` are declarations of another source. Raises HandlersUnavailable.
    """
    from jobrunner.schedules import declare

    handshake = _handshake(config, schedules=True, payloads=[(each.job_type, each.payload) for each in others])
    try:
        declared = [declare.from_data(data, payload_limit=config.payload_limit) for data in handshake.schedules]
    except UsageError as error:
        raise HandlersUnavailable(f"a schedule of a handler cannot be used: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError):
        raise HandlersUnavailable("starting failed: its handshake is invalid") from None
    return handshake.policies, declared, list(handshake.misfits)


def _handshake(config: Config, *, schedules: bool = False, payloads: Sequence[tuple[str, Payload]] = ()) -> Ready:
    with _asking(config, schedules=schedules, payloads=payloads) as handshake:
        return handshake()


@contextmanager
def _asking(
    config: Config, *, schedules: bool = False, payloads: Sequence[tuple[str, Payload]] = ()
) -> Iterator[Callable[[], Ready]]:
    # A child imports the handler modules, because a module may print, hang or exit during its import.
    mark = os.urandom(4).hex()
    owner = Owner(config.host, names.worker(config.host, mark))
    plan = ChildPlan(
        config.imports, config.app_dir, mark, BegunPage(None), tuple(config.commands), schedules, tuple(payloads)
    )
    with ExitStack() as ending:
        groups = GroupFile(state_folder.for_state(config.state_dir), owner, mark)
        ending.callback(groups.close)
        found: Callable[[], Ready | StartFailed] | StartFailed
        try:
            found = ending.enter_context(discovering(plan, groups, config.start_limit.total_seconds()))
        except OSError as error:
            found = _no_child(error)

        def handshake() -> Ready:
            try:
                event = found if isinstance(found, StartFailed) else found()
            except OSError as error:
                event = _no_child(error)
            if isinstance(event, StartFailed):
                raise HandlersUnavailable(event.reason, event.detail)
            return event

        yield handshake


def _no_child(error: OSError) -> StartFailed:
    return StartFailed(f"no child process can be started: {error.strerror}")


def actor() -> Actor:
    """Who runs the command, and the reason of the option ``--reason``, for the audit trail.

    It is the user of the operating system, not LOGNAME, which anyone can set. With sudo, the user's name stands
    before it: "ada as root@web1". What calls the command in place of the user stands behind: "ada@web1 (mcp:editor)".
    """
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    person = one_line(os.environ.get("SUDO_USER", ""), 80)
    before = f"{person} as " if person not in ("", user) else ""
    through = "" if (asks := caller()) is None else f" ({asks.name})"
    return Actor(f"{before}{one_line(user, 80)}@{environment.load().host}{through}", options.reason())


def can_ask() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def on_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr.isatty()
