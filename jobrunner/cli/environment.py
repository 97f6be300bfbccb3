"""The environment of a command: reads the env file into it, and loads the settings from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobrunner import failpoints
from jobrunner.errors import ConfigurationError
from jobrunner.settings import config as settings
from jobrunner.settings.config import Config
from jobrunner.text import storable

_ENV_FILE = "JOBRUNNER_ENV_FILE"
_CONFIG = "JOBRUNNER_CONFIG"
_loaded: Config | None = None


def add_env_file(named: Path | None) -> Path | None:
    """Read the variables of this file, or else of the file that the environment names. Returns the file's path.

    A second call changes nothing. Raises ConfigurationError before it changes any variable.
    """
    variable = os.environ.get(_ENV_FILE, "").strip()
    path = named or (Path(variable) if variable else None)
    if path is not None:
        from jobrunner.settings.env_file import read_env_file

        # The bytes of the file, because the locale may have another encoding.
        os.environb.update({name.encode(): value.encode() for name, value in read_env_file(path).items()})
    # Children inherit the variables. A child that starts jobrunner must be able to set others.
    os.environ.pop(_ENV_FILE, None)
    return None if path is None else path.absolute()


def name_config(path: Path) -> None:
    """Use this configuration file, also in children. Call it after the env file is read, because a flag wins."""
    os.environ[_CONFIG] = str(path.absolute())


def load(flags: Mapping[str, Any] | None = None) -> Config:
    """The settings of this process."""
    global _loaded  # noqa: PLW0603 - a process has one environment
    for name, value in os.environ.items():
        if name.startswith("JOBRUNNER_") and storable(value) != value:
            raise ConfigurationError(f"{name} is not UTF-8")
    _loaded = settings.load(os.environ, flags)
    failpoints.hit("command.settings_loaded")
    return _loaded


def log_file() -> Path | None:
    """The log file of this command. None means no log file, or that its settings could not be loaded."""
    return None if _loaded is None else _loaded.log


def database_url(config: Config) -> str:
    """The URL of the configured database, or else of the default SQLite file."""
    return settings.url_of(config)
