"""The environment that a command works in: what an env file adds to it, and the settings that it holds."""

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
    """Take the variables of the file that is named, else of the one that the environment names; tell which it was.

    To do so again changes nothing. Raises ConfigurationError before anything is taken.
    """
    variable = os.environ.get(_ENV_FILE, "").strip()
    path = named or (Path(variable) if variable else None)
    if path is not None:
        from jobrunner.settings.env_file import read_env_file

        # As the bytes of the file, whatever encoding the locale has.
        os.environb.update({name.encode(): value.encode() for name, value in read_env_file(path).items()})
    # Children inherit what the file says, and must be able to say otherwise to a jobrunner that they start.
    os.environ.pop(_ENV_FILE, None)
    return None if path is None else path.absolute()


def name_config(path: Path) -> None:
    """Use this configuration file. After the env file, which may name another: a flag wins. Children see the same."""
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
    """Where this command logs to, as far as its settings could be loaded."""
    return None if _loaded is None else _loaded.log


def database_url(config: Config) -> str:
    """The database that is configured, else the embedded default."""
    return config.database_url or f"sqlite:///{settings.default_database_file()}"
