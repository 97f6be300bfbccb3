"""The environment of a command: reads the env file into it, and loads the settings from it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from jobrunner import failpoints
from jobrunner.errors import ConfigurationError, UnknownVariable, UsageError
from jobrunner.settings import config as settings
from jobrunner.settings.config import Config
from jobrunner.settings.paths import absolute
from jobrunner.text import storable
from jobrunner.untyped import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_ENV_FILE = "JOBRUNNER_ENV_FILE"
_CONFIG = "JOBRUNNER_CONFIG"
_loaded: Config | None = None
prints_env_file = ""
"""The command that prints an env file with the variables of this one: that of the framework which called jobrunner."""
_env_file: tuple[str | None, frozenset[str]] = (None, frozenset())
_before_env_file: Mapping[str, str] | None = None


def add_env_file(named: str | None) -> str | None:
    """Read the variables of this file, or else of the file that the environment names. Returns the file's path.

    A second call changes nothing. Raises ConfigurationError before it changes any variable.
    """
    global _env_file, _before_env_file  # noqa: PLW0603 - a process has one environment
    variable = os.environ.get(_ENV_FILE, "").strip()
    path = named or variable or None
    if path is not None:
        from jobrunner.settings.env_file import read_env_file

        # The bytes of the file, because the locale may have another encoding.
        variables = read_env_file(path)
        _before_env_file = _before_env_file or dict(os.environ)
        os.environb.update({name.encode(): value.encode() for name, value in variables.items()})
        _env_file = (absolute(path), frozenset(variables))
    # Children inherit the variables. A child that starts jobrunner must be able to set others.
    os.environ.pop(_ENV_FILE, None)
    return None if path is None else absolute(path)


def for_another() -> dict[str, str]:
    """The environment for another command, which reads the env file by itself: a later one has what it says then."""
    return dict(os.environ if _before_env_file is None else _before_env_file)


def name_config(path: str) -> None:
    """Use this configuration file, also in children. Call it after the env file is read, because a flag wins."""
    os.environ[_CONFIG] = absolute(path)


def env_file() -> tuple[str | None, frozenset[str]]:
    """The env file that was read into the environment, and the names of its variables."""
    return _env_file


def examine() -> tuple[Config | None, Mapping[str, str], list[str]]:
    """The settings as far as they can be read, the origins of those that are given, and what is wrong with them."""
    global _loaded
    environ, problems = dict(os.environ), list[str]()
    while True:
        try:
            _check_utf8(environ)
            _loaded, origins = settings.load_with_origins(environ)
            return _loaded, origins, problems
        except UnknownVariable as error:
            problems.append(str(error))
            del environ[error.variable]
        except (ConfigurationError, UsageError) as error:
            return None, {}, [*problems, str(error)]


def load(flags: Mapping[str, Any] | None = None) -> Config:
    """The settings of this process."""
    global _loaded  # noqa: PLW0603 - a process has one environment
    _check_utf8(os.environ)
    _loaded = settings.load(os.environ, flags)
    failpoints.hit("command.settings_loaded")
    return _loaded


def _check_utf8(environ: Mapping[str, str]) -> None:
    for name, value in environ.items():
        if name.startswith("JOBRUNNER_") and storable(value) != value:
            raise ConfigurationError(f"{name} is not UTF-8")


def log_file() -> str | None:
    """The log file of this command. None means no log file, or that its settings could not be loaded."""
    return None if _loaded is None else _loaded.log


def database_url(config: Config) -> str:
    """The URL of the configured database, or else of the default SQLite file."""
    return settings.url_of(config)
