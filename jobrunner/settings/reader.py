"""Reads single settings: from a flag, else the environment, else the configuration file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from jobrunner import names
from jobrunner.errors import ConfigurationError, UnknownVariable, UsageError
from jobrunner.settings.paths import absolute
from jobrunner.settings.toml_reader import TableReader, nearest_of
from jobrunner.untyped import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from jobrunner.settings.setting import Setting
    from jobrunner.settings.toml_file import JobFile

PREFIX = "JOBRUNNER_"
# Compiled when it is used first: most ticks have no such setting.
_RELATIVE_SQLITE = r"(?s)(sqlite(?:\+\w+)?:///)([^/:].*)"


class _Found(NamedTuple):
    """The text of a setting ("" for none) and its origin. Relative paths begin at ``folder``, or where it runs."""

    text: str
    origin: str
    folder: str | None = None


class SettingsReader:
    """Reads the settings of a table. ``close`` refuses keys and variables that are not in it.

    ``origins`` are the names of the settings that were given, and where: an option, a variable, or a key of the file.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        flags: Mapping[str, Any],
        file: JobFile | None,
        table: Mapping[str, Setting],
    ) -> None:
        self._environ = environ
        self._flags = flags
        self._file = file
        self._table = table
        self.origins: dict[str, str] = {}

    def read(self, name: str) -> Any:
        """The value of a setting. Raises ConfigurationError, or UsageError for a flag, which names its origin."""
        setting = self._table[name]
        found = self._found(setting)
        if not found.text:
            return setting.value
        self.origins[name] = found.origin
        try:
            return setting.parse(_placed(setting, found))
        except UsageError as error:
            raise self.wrong(name, str(error)) from None

    def wrong(self, name: str, what: str) -> ConfigurationError | UsageError:
        """The error of a setting that was read, for the caller to raise."""
        kind = UsageError if name in self._flags else ConfigurationError
        return kind(f"{self.origins[name]}: {what}")

    def close(self) -> None:
        """Raise ConfigurationError for a key or a variable that is not a setting."""
        if self._file is not None:
            keys = TableReader("settings", self._file.settings)
            for name in self._table:
                keys.take_any(name)
            try:
                keys.close()
            except ConfigurationError as error:
                raise ConfigurationError(f"{self._file.path}: {error}") from None
        for variable in self._environ:
            name = variable.removeprefix(PREFIX)
            if not variable.startswith(PREFIX) or variable in names.NO_SETTINGS:
                continue
            # Asked last: it is a regular expression, which an idle tick need not compile.
            if (name.lower() in self._table and name.isupper()) or names.is_orchestrated(variable):
                continue
            # If it were ignored, a misspelt DATABASE_URL would silently send each tick to another database.
            raise UnknownVariable(
                f"{variable} is not a setting of this jobrunner ({_version()});"
                f" {nearest_of(name, [each.upper() for each in self._table], PREFIX)}",
                variable,
            )

    def _found(self, setting: Setting) -> _Found:
        filed = self._filed(setting)
        if setting.name in self._flags:
            return _Found(str(self._flags[setting.name]), f"--{setting.name.replace('_', '-')}")
        variable = f"{PREFIX}{setting.name.upper()}"
        text = self._environ.get(variable, "").strip()
        if text or not filed or self._file is None:
            return _Found(text, variable)
        return _Found(filed, f"{self._file.path}: settings.{setting.name}", str(self._file.path.parent))

    def _filed(self, setting: Setting) -> str:
        value = None if self._file is None else self._file.settings.get(setting.name)
        if value is None:
            return ""
        if setting.filed is bool:
            if isinstance(value, bool):
                return str(value)
            raise self._filed_wrong(setting, "true or false")
        if setting.filed is list and isinstance(value, list) and all(isinstance(each, str) for each in value):
            return ",".join(value)
        if setting.filed is dict and isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
            return ",".join(f"{key}={each}" for key, each in value.items())
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._filed_wrong(setting, "text or a number")
        return str(value)

    def _filed_wrong(self, setting: Setting, wanted: str) -> ConfigurationError:
        assert self._file is not None
        return ConfigurationError(f"{self._file.path}: settings.{setting.name}: must be {wanted}")


def _placed(setting: Setting, found: _Found) -> str:
    """The text, in which a relative path of the configuration file begins at the folder of that file."""
    if setting.is_path:
        # The file is UTF-8, and the path must have the same bytes in every locale.
        named = found.text if found.folder is None else os.path.join(found.folder, os.fsdecode(found.text.encode()))
        return absolute(named)
    if setting.is_url and found.folder is not None and (relative := re.fullmatch(_RELATIVE_SQLITE, found.text)):
        return f"{relative[1]}{absolute(os.path.join(found.folder, relative[2]))}"
    return found.text


def _version() -> str:
    # A variable of a newer version may be set beside this older code, as while hosts are upgraded one by one.
    from importlib import import_module

    return str(import_module("jobrunner").__version__)
