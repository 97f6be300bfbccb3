"""All settings as one immutable record. A flag is first, then the environment, the configuration file, the default."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta

from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.jobs import payload_limits
from jobrunner.names import LOG_LEVELS, TESTED, check_job_type
from jobrunner.settings import setting, state_folder
from jobrunner.settings.file_place import path_of_file
from jobrunner.settings.health import Thresholds
from jobrunner.settings.reader import SettingsReader
from jobrunner.settings.setting import Setting
from jobrunner.untyped import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from jobrunner.jobs.commands import Command
    from jobrunner.settings.notify import Notify
    from jobrunner.settings.toml_file import JobFile

LONGEST_LINGER = timedelta(minutes=2)
"""A tick that lingers keeps the code that it started with."""


def _check_1s_to_10m(found: timedelta) -> None:
    if not timedelta(seconds=1) <= found <= timedelta(minutes=10):
        raise UsageError("must lie between 1s and 10m")


def _check_budget(budget: timedelta) -> None:
    if not budget:
        raise UsageError("must be more than 0: a tick without a budget would do nothing")


def _check_linger(linger: timedelta) -> None:
    if linger > LONGEST_LINGER:
        raise UsageError("must be at most 2m: a tick that lingers keeps the code that it started with")


def _check_spread(spread: timedelta) -> None:
    if spread > timedelta(seconds=50):
        raise UsageError("must be at most 50s, so that a tick begins in its own minute")


class Retention(NamedTuple):
    """The settings ``keep_…``: how long what has ended is kept."""

    succeeded: timedelta = setting.duration("7d", "How long a run is kept after it succeeded.")
    cancelled: timedelta = setting.duration("7d", "How long a run is kept after it was cancelled.")
    dead: timedelta = setting.duration("90d", "How long a run is kept after it became dead.")
    ticks: timedelta = setting.duration("7d", "How long the row of a tick is kept.")
    events: timedelta = setting.duration("365d", "How long the audit trail is kept.")


class Config(NamedTuple):
    """All settings. Each default is the row of a setting, from which all else about it is made: ``load`` sets values.

    ``database_url`` None: the embedded database; ``log`` None: no log file. ``schema`` None: the server's search path
    decides. ``state_dir`` None: see ``state_folder``. Paths are absolute.
    ``commands`` are the job types of the configuration file, by name. ``notify`` None: no notification is sent.
    ``keep`` has the fields of ``Retention``.
    A tuple and not a dataclass, whose import alone costs as much as starting Python (docs/adr/0013-idle-tick.md).
    """

    file: str | None
    commands: Mapping[str, Command]
    notify: Notify | None
    keep: Mapping[str, timedelta]
    health: Thresholds
    database_url: str | None = setting.url(
        "`postgresql://…`, `postgres://…` or `sqlite:////absolute/file.db`",
        shown="`DATABASE_URL`, else `~/.local/share/jobrunner/jobrunner.db`",
        on_host=True,
    )
    schema: str | None = setting.schema(
        "On PostgreSQL, the schema that has all of jobrunner's tables, also for the application that enqueues."
        " Without it the search path decides. With an SQLite file it is refused.",
        on_host=True,
    )
    imports: tuple[str, ...] = setting.several(
        "The handler modules, separated by commas, imported in this order.", name="import", on_host=True
    )
    app_dir: str | None = setting.path(
        "The folder that is put first on the import path. The current folder is not on that path.", on_host=True
    )
    application: str = setting.name(
        "The name of this application, if several share a database: `apply` changes only its schedules, and with"
        " `--linger` only a tick of the same application takes over.",
        on_host=True,
    )
    host: str = setting.text(
        "The name of this host. It must differ between hosts.", shown="the system's name", on_host=True
    )
    concurrency: int = setting.number(
        4,
        1,
        1000,
        "The most runs that this host runs at the same time, all ticks together.",
        on_host=True,
        metavar="N",
    )
    budget: timedelta = setting.duration(
        "50s",
        "How long a tick takes new runs. After that it only finishes those that it has started.",
        _check_budget,
        on_host=True,
        metavar="DURATION",
    )
    linger: timedelta = setting.duration(
        "0s",
        "A tick keeps listening for new runs until the next tick takes over, for at most this long and at most 2m"
        " ([how](../adr/0015-linger.md)).",
        _check_linger,
        on_host=True,
    )
    listeners: int = setting.number(
        50,
        1,
        100_000,
        "On how many hosts ticks listen at the same time, of those with the same application and `--type`. On further"
        " hosts a tick with `--linger` ends as a plain one, so that not every host keeps a session of the server.",
    )
    spread: timedelta = setting.duration(
        "0s",
        "The ticks of each host begin at an instant of their own within this time, at most 50s, so that those of many"
        " hosts do not ask the server in the same second. A tick that is started on a terminal does not wait.",
        _check_spread,
        on_host=True,
        metavar="DURATION",
    )
    lease: timedelta = setting.duration(
        "60s", "How long a run belongs to a tick that has died; at most 10m.", _check_1s_to_10m, on_host=True
    )
    grace: timedelta = setting.duration(
        "10s",
        "How long handlers may go on after SIGTERM. After that their runs go back to the queue.",
        on_host=True,
        metavar="DURATION",
    )
    log: str | None = setting.path("The file that the log is appended to, as JSON lines.", on_host=True)
    log_level: str = setting.one_of(
        LOG_LEVELS,
        "What is logged: every step, only problems, or only those of the ticks themselves. `-v` shows all.",
    )
    batch: int = setting.number(100_000, 1, 10_000_000, "The most runs that one tick claims.", metavar="N")
    strict: bool = setting.switch(
        "Commit each result before the same child starts another run. Otherwise the results of short runs are written"
        " in groups."
    )
    heartbeat: timedelta = setting.duration(
        "", "How often leases are renewed; at most a third of the lease.", shown="a quarter of the lease"
    )
    state_dir: str | None = setting.path(
        "Where ticks note their process groups, so that the processes of a killed tick are found, and which database"
        " they use. It must belong to this user only.",
        shown="`~/.local/state/jobrunner`, else a folder of the user's in `/run/user` or `/tmp`",
    )
    metrics_file: str | None = setting.path(
        "At its end each tick replaces this file by [metrics](../howto/monitoring.md#prometheus), for the textfile"
        " collector of Prometheus' node_exporter."
    )
    start_limit: timedelta = setting.duration("30s", "How long the import of the handlers may take.")
    deploy_grace: timedelta = setting.duration(
        "10m",
        "How long a run that does not fit the code is tried again before it is dead; these tries are not counted"
        " ([why](../adr/0022-a-deploy-is-a-normal-state.md)).",
    )
    patience: timedelta = setting.duration(
        "8s",
        "How long a command waits for a lock in the database, from 1s to 10m."
        " [Its other limits](../howto/unreachable.md#time-limits) follow from this one."
        " The limits of a tick follow from its lease.",
        _check_1s_to_10m,
    )
    payload_limit: int = setting.number(
        payload_limits.DEFAULT_LIMIT_BYTES, 2, payload_limits.LARGEST_LIMIT_BYTES, "The largest payload, in bytes."
    )
    keep_types: Mapping[str, timedelta] = setting.durations(
        "Job types whose runs are kept for another time: `report=1d,audit=730d`, or a table in `[settings]`:"
        ' `keep_types = { report = "1d" }` (see below).',
        check_job_type,
    )


_GROUPS: Mapping[str, Any] = {"keep": Retention, "health": Thresholds}


def _table() -> Iterator[tuple[str, Setting]]:
    """Each setting with its name. A field of a group has the group's name before its own."""
    for group, fields in (("", Config), *_GROUPS.items()):
        for field, row in fields._field_defaults.items():
            found = row.name or (f"{group}_{field}" if group else field)
            yield found, row._replace(name=found)


SETTINGS: Mapping[str, Setting] = dict(_table())
"""All settings by name, in the order in which they are documented."""


def values(config: Config) -> dict[str, Any]:
    """The value of each setting, by its name."""
    groups = {"keep": config.keep, "health": config.health._asdict()}
    given = {"import": config.imports} | config._asdict()
    given |= {f"{group}_{field}": value for group, fields in groups.items() for field, value in fields.items()}
    return {each: given[each] for each in SETTINGS}


def load(environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Config:
    """Read the settings; a flag that is None was not given. Raises ConfigurationError naming the setting."""
    return load_with_origins(environ, flags)[0]


def load_with_origins(
    environ: Mapping[str, str], flags: Mapping[str, Any] | None = None
) -> tuple[Config, Mapping[str, str]]:
    """The settings, and the origin of each that is not a default: an option, a variable, or a key of the file."""
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    file = _job_file(environ)
    reader = SettingsReader(environ, given, file, SETTINGS)
    read = {each: reader.read(each) for each in SETTINGS}
    lease, heartbeat = read["lease"], read["heartbeat"]
    if heartbeat is not None and not timedelta(0) < heartbeat <= lease / 3:
        raise reader.wrong(
            "heartbeat", "must be at most a third of JOBRUNNER_LEASE, so that one missed heartbeat loses no run"
        )
    fields: dict[str, Any] = {
        "imports": read.pop("import"),
        **{
            group: {field: read.pop(f"{group}_{field}") for field in of_group._fields}
            for group, of_group in _GROUPS.items()
        },
        **read,
        "heartbeat": lease / 4 if heartbeat is None else heartbeat,
        "host": read["host"][:200] or os.uname().nodename[:200] or "localhost",
        "database_url": _or_database_url(read["database_url"], environ),
    }
    config = Config(
        file=None if file is None else str(file.path),
        commands={} if file is None else file.commands_by_each_name,
        # A run of a test tells no receiver and no monitor: they are the real ones.
        notify=None if file is None or file.notify is None or TESTED in environ else _notify(file.path, file.notify),
        health=Thresholds(**fields.pop("health")),
        **fields,
    )
    reader.close()
    return config, reader.origins


class EnqueueSettings(NamedTuple):
    """The only settings that an application needs to enqueue."""

    payload_limit: int
    schema: str | None


def for_enqueue(environ: Mapping[str, str]) -> EnqueueSettings:
    """The settings of an application that enqueues. A mistake in another setting must not stop it."""
    reader = reader_of_application(environ)
    return EnqueueSettings(reader.read("payload_limit"), reader.read("schema"))


def database_url(environ: Mapping[str, str]) -> str:
    """The URL of the configured database, or else of the default SQLite file, for an application."""
    return (
        _or_database_url(reader_of_application(environ).read("database_url"), environ)
        or f"sqlite:///{default_database_file()}"
    )


def reader_of_application(environ: Mapping[str, str]) -> SettingsReader:
    """What reads single settings, for an application. Those that it does not read are not checked."""
    path = path_of_file(environ)
    if path is None:
        return SettingsReader(environ, {}, None, SETTINGS)
    from pathlib import Path

    from jobrunner.settings import toml_file

    return SettingsReader(environ, {}, toml_file.read_settings(Path(path)), SETTINGS)


def _or_database_url(url: str | None, environ: Mapping[str, str]) -> str | None:
    return url or environ.get("DATABASE_URL") or None


def _notify(file: Path, table: Mapping[str, Any]) -> Notify:
    from jobrunner.settings import notify

    try:
        return notify.read(table, file.parent)
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from None


def application_of(config: Config) -> str:
    """The name of the application: the configured one, else the folder and the modules of its handlers."""
    return config.application or " ".join([config.app_dir or "", *config.imports]).strip()


def _job_file(environ: Mapping[str, str]) -> JobFile | None:
    if (path := path_of_file(environ)) is None:
        return None
    from pathlib import Path

    from jobrunner.settings import toml_file

    return toml_file.read(Path(path))


def url_of(config: Config) -> str:
    """The URL of the configured database, or else of the default SQLite file."""
    return config.database_url or f"sqlite:///{default_database_file()}"


def default_database_file() -> str:
    """The embedded database: the same file for every environment and current folder."""
    home = state_folder.home()
    if home is None:
        raise ConfigurationError(
            f"user {os.getuid()} has no home folder for the embedded database; set JOBRUNNER_DATABASE_URL"
        )
    return os.path.join(home, ".local/share/jobrunner/jobrunner.db")
