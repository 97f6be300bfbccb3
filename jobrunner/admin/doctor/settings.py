"""The settings: each value, and where it comes from."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from jobrunner.durations import format_duration
from jobrunner.errors import DatabaseUnavailable, JobrunnerError
from jobrunner.settings import config as settings
from jobrunner.settings.config import Config
from jobrunner.store.drivers.location import locate

_SECRET = re.compile("password|secret|token|credential", re.IGNORECASE)
_URL = re.compile(r"([\w+.-]+://)(?:[^/@\s]*@)?([^/\s?#]*)\S*")


@dataclass(frozen=True)
class Setting:
    """A setting, its value without secrets, and its origin: an option, a variable, a key of a file, or ``default``."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True)
class EnvFile:
    """The env file of this command and the names of its variables."""

    path: str | None
    names: Collection[str]


def listed(config: Config, origins: Mapping[str, str], env_file: EnvFile) -> list[Setting]:
    """All settings in the order in which they are documented, the files first."""
    found = []
    if env_file.path is not None:
        found.append(Setting("env_file", str(env_file.path), "--env-file or JOBRUNNER_ENV_FILE"))
    if config.file is not None:
        found.append(Setting("config", str(config.file), "--config, JOBRUNNER_CONFIG or JOBRUNNER_APP_DIR"))
    if config.notify is not None:
        # Not more: a command or a URL may hold what is secret.
        found.append(Setting("notify", f"receivers {_text(sorted(config.notify.receivers))}", f"{config.file}: notify"))
    for name, value in settings.values(config).items():
        origin = origins.get(name, "default")
        if name == "database_url":
            if config.database_url is not None and name not in origins:
                origin = "DATABASE_URL"
            shown = _database(config)
        else:
            shown = _masked(name, _text(value))
        if origin in env_file.names:
            origin = f"{origin} in the env file"
        found.append(Setting(name, shown, origin))
    return found


def _database(config: Config) -> str:
    try:
        return locate(settings.url_of(config)).label
    except DatabaseUnavailable:
        return "(cannot be read)"
    except JobrunnerError as error:
        return str(error)


def _text(value: object) -> str:
    if value is None or value == "" or value == ():
        return "-"
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_text(each)}" for key, each in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


def _masked(name: str, text: str) -> str:
    """Without what may be a secret: also the path of a URL, which is one for many receivers of web hooks."""
    return "(hidden)" if _SECRET.search(name) and text != "-" else _URL.sub(r"\1\2/…", text)
