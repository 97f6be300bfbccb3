"""All settings as one immutable record. A flag is first, then the environment, the configuration file, the default."""

# Without annotations as texts: for so many fields typing would compile each of them in every process.

import os
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.jobs import payload_limits
from jobrunner.names import TESTED, check_job_type
from jobrunner.settings import health, state_folder
from jobrunner.settings.health import Thresholds
from jobrunner.settings.paths import absolute
from jobrunner.settings.reader import SettingsReader

if TYPE_CHECKING:
    from pathlib import Path

    from jobrunner.jobs.commands import Command
    from jobrunner.settings.notify import Notify
    from jobrunner.settings.toml_file import JobFile

_FILE_NAME = "jobrunner.toml"
_LONGEST_LINGERING = timedelta(minutes=2)
_LONGEST_LEASE = timedelta(minutes=10)
_LONGEST_PATIENCE = timedelta(minutes=10)


class Config(NamedTuple):
    """All settings. ``database_url`` None: the embedded database; ``log`` None: no log file.

    ``schema`` is the schema of PostgreSQL that holds our tables; None: the server's search path decides.

    ``commands`` are the job types of the configuration file, by name. ``notify`` None: nobody is told of anything.
    ``state_dir`` None: see ``state_folder``. Paths are absolute.
    A tuple and not a dataclass, whose import alone costs as much as starting Python (docs/adr/0013-idle-tick.md).
    """

    file: str | None
    commands: "Mapping[str, Command]"
    notify: "Notify | None"
    database_url: str | None
    schema: str | None
    imports: tuple[str, ...]
    application: str
    app_dir: str | None
    host: str
    lease: timedelta
    heartbeat: timedelta
    budget: timedelta
    linger: timedelta
    grace: timedelta
    start_limit: timedelta
    deploy_grace: timedelta
    patience: timedelta
    concurrency: int
    batch: int
    strict: bool
    log: str | None
    state_dir: str | None
    metrics_file: str | None
    payload_limit: int
    keep: Mapping[str, timedelta]
    keep_types: Mapping[str, timedelta]
    health: Thresholds


def load(environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Config:
    """Read the settings; a flag that is None was not given. Raises ConfigurationError naming the setting."""
    return load_with_origins(environ, flags)[0]


def load_with_origins(
    environ: Mapping[str, str], flags: Mapping[str, Any] | None = None
) -> tuple[Config, Mapping[str, str]]:
    """The settings, and the origin of each that is not a default: an option, a variable, or a key of the file."""
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    file = _job_file(environ)
    reader = SettingsReader(environ, given, file)
    lease = reader.duration("lease", "60s", _check_lease)
    heartbeat = reader.duration("heartbeat", lease / 4, partial(_check_heartbeat, lease=lease))
    config = Config(
        file=None if file is None else str(file.path),
        commands={} if file is None else file.commands,
        # A run of a test tells no receiver and no monitor: they are the real ones.
        notify=None if file is None or file.notify is None or TESTED in environ else _notify(file.path, file.notify),
        database_url=_database_url(reader, environ),
        schema=_schema(reader),
        imports=tuple(name.strip() for name in reader.text("import").split(",") if name.strip()),
        application=reader.name("application"),
        app_dir=reader.path("app_dir"),
        host=reader.text("host")[:200] or os.uname().nodename[:200] or "localhost",
        lease=lease,
        heartbeat=heartbeat,
        budget=reader.duration("budget", "50s", _check_budget),
        linger=reader.duration("linger", "0s", _check_linger),
        grace=reader.duration("grace", "10s"),
        start_limit=reader.duration("start_limit", "30s"),
        deploy_grace=reader.duration("deploy_grace", "10m"),
        patience=reader.duration("patience", "8s", _check_patience),
        concurrency=reader.number("concurrency", 4, 1, 1000),
        batch=reader.number("batch", 100_000, 1, 10_000_000),
        strict=reader.switch("strict"),
        log=reader.path("log"),
        state_dir=reader.path("state_dir"),
        metrics_file=reader.path("metrics_file"),
        payload_limit=_payload_limit(reader),
        keep={
            "succeeded": reader.duration("keep_succeeded", "7d"),
            "cancelled": reader.duration("keep_cancelled", "7d"),
            "dead": reader.duration("keep_dead", "90d"),
            "ticks": reader.duration("keep_ticks", "7d"),
            "events": reader.duration("keep_events", "365d"),
        },
        keep_types=reader.durations("keep_types", check_job_type),
        health=health.read(reader),
    )
    reader.close()
    return config, reader.origins


class EnqueueSettings(NamedTuple):
    """The only settings that an application needs to enqueue."""

    payload_limit: int
    schema: str | None


def for_enqueue(environ: Mapping[str, str]) -> EnqueueSettings:
    """The settings of an application that enqueues. A mistake in another setting must not stop it."""
    reader = _reader_of_application(environ)
    return EnqueueSettings(_payload_limit(reader), _schema(reader))


def _schema(reader: SettingsReader) -> str | None:
    return reader.schema("schema")


def database_url(environ: Mapping[str, str]) -> str:
    """The URL of the configured database, or else of the default SQLite file, for an application."""
    return _database_url(_reader_of_application(environ), environ) or f"sqlite:///{default_database_file()}"


def _reader_of_application(environ: Mapping[str, str]) -> SettingsReader:
    path = _job_file_path(environ)
    if path is None:
        return SettingsReader(environ, {}, None)
    from pathlib import Path

    from jobrunner.settings import toml_file

    return SettingsReader(environ, {}, toml_file.read_settings(Path(path)))


def _database_url(reader: SettingsReader, environ: Mapping[str, str]) -> str | None:
    return reader.url("database_url") or environ.get("DATABASE_URL") or None


def _payload_limit(reader: SettingsReader) -> int:
    return reader.number("payload_limit", payload_limits.DEFAULT_LIMIT_BYTES, 2, payload_limits.LARGEST_LIMIT_BYTES)


def _notify(file: "Path", table: Mapping[str, Any]) -> "Notify":
    from jobrunner.settings import notify

    try:
        return notify.read(table, file.parent)
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from None


def application_of(config: Config) -> str:
    """The name of the application: the configured one, else the folder and the modules of its handlers."""
    return config.application or " ".join([config.app_dir or "", *config.imports]).strip()


def _check_lease(lease: timedelta) -> None:
    if not timedelta(seconds=1) <= lease <= _LONGEST_LEASE:
        raise UsageError("must lie between 1s and 10m")


def _check_patience(patience: timedelta) -> None:
    if not timedelta(seconds=1) <= patience <= _LONGEST_PATIENCE:
        raise UsageError("must lie between 1s and 10m")


def _check_budget(budget: timedelta) -> None:
    if not budget:
        raise UsageError("must be more than 0: a tick without a budget would do nothing")


def _check_linger(linger: timedelta) -> None:
    if linger > _LONGEST_LINGERING:
        raise UsageError("must be at most 2m: a tick that lingers keeps the code that it started with")


def _check_heartbeat(heartbeat: timedelta, lease: timedelta) -> None:
    if not timedelta(0) < heartbeat <= lease / 3:
        raise UsageError("must be at most a third of JOBRUNNER_LEASE, so that one missed heartbeat loses no run")


def _job_file(environ: Mapping[str, str]) -> "JobFile | None":
    if (path := _job_file_path(environ)) is None:
        return None
    from pathlib import Path

    from jobrunner.settings import toml_file

    return toml_file.read(Path(path))


def _job_file_path(environ: Mapping[str, str]) -> str | None:
    """The file that is named, else the one in the application folder. Cron chooses the current folder: not used."""
    if named := environ.get("JOBRUNNER_CONFIG", "").strip():
        return absolute(named)
    if app_dir := environ.get("JOBRUNNER_APP_DIR", "").strip():
        path = os.path.join(absolute(app_dir), _FILE_NAME)
        return None if _is_missing(path) else path
    return None


def _is_missing(path: str) -> bool:
    # Only these two errors mean that there is no file. Any other is reported when the file is read.
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


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
