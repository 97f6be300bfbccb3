"""The crontab line that runs a tick of this installation each minute."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from jobrunner.cli import environment, options
from jobrunner.crontab import tick_line
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.settings.config import SETTINGS, Config
from jobrunner.settings.reader import PREFIX
from jobrunner.text import storable

_PATHS = ("JOBRUNNER_APP_DIR", "JOBRUNNER_CONFIG", "JOBRUNNER_LOG", "JOBRUNNER_STATE_DIR")
_DATABASE_URLS = ("JOBRUNNER_DATABASE_URL", "DATABASE_URL")


LOG = click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file that the tick appends its log to.",
)


class Installation:
    """What the line is made of. ``identity`` stands at its end, by which it is found again."""

    def __init__(self, context: click.Context) -> None:
        self._env_file = options.env_file(context)
        self._config = environment.load()
        self._from_file = _variables(self._env_file)
        is_named = "JOBRUNNER_CONFIG" in os.environ and "JOBRUNNER_CONFIG" not in self._from_file
        self._configuration = self._config.file if is_named else None
        self.identity = str(self._env_file or self._configuration or "default")

    def line(self, log: Path | None) -> str:
        """The line, with absolute paths. Raises ConfigurationError if its ticks would have other settings than this."""
        _check_reaches_cron(self._config, self._env_file, self._from_file)
        words = [*_program(), "tick"]
        paths = (("--env-file", self._env_file), ("--config", self._configuration), ("--log", _log(log)))
        for flag, path in paths:
            words += [] if path is None else [flag, str(path)]
        return tick_line.tick_line(words, self.identity, sets_path="PATH" not in self._from_file)


def _variables(env_file: str | None) -> dict[str, str]:
    from jobrunner.settings.env_file import read_env_file

    return {} if env_file is None else read_env_file(env_file)


def _check_reaches_cron(config: Config, env_file: str | None, from_file: dict[str, str]) -> None:
    """Refuse a line whose ticks would have other settings than this command, such as another database."""
    settings = {f"{PREFIX}{name.upper()}" for name in SETTINGS}
    if config.database_url and config.database_url == os.environ.get("DATABASE_URL"):
        settings.add("DATABASE_URL")
    lost = sorted(name for name in settings - set(from_file) if os.environ.get(name, "").strip())
    if lost:
        how = f" with: {environment.prints_env_file}" if environment.prints_env_file else ""
        raise ConfigurationError(
            f"cron would not know {', '.join(lost)}, which only this environment sets; write it into an env file (mode"
            f" 0600){how}, and give that file with --env-file"
        )
    for name in _PATHS:
        if (value := from_file.get(name)) and not Path(value).is_absolute():
            raise ConfigurationError(
                f"env file {env_file}: {name} is not an absolute path; cron starts in the home folder"
            )
    for name in _DATABASE_URLS:
        url = from_file.get(name, "")
        if url.startswith("sqlite:///") and not url.startswith(("sqlite:////", "sqlite:///:")):
            raise ConfigurationError(
                f"env file {env_file}: {name} is not an absolute path; cron starts in the home folder"
            )


def _program() -> list[str]:
    """The words that start this installation, with an absolute path."""
    called = Path(sys.argv[0]).absolute()
    # Under a framework's command there is no such file: its first argument is only a name.
    is_script = called.name != "__main__.py" and called.is_file()
    words = [str(called)] if is_script else [sys.executable, "-m", "jobrunner"]
    if any(storable(word) != word for word in words):
        raise ConfigurationError("the path of jobrunner is not UTF-8, and cannot stand in a crontab")
    return words


def _log(path: Path | None) -> Path | None:
    if path is None:
        return None
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--log: there is no folder {path.absolute().parent}; make it first")
    return path.absolute()
