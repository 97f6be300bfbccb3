"""Reads single settings: from a flag, else the environment, else the configuration file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from jobrunner import names
from jobrunner.durations import parse_duration
from jobrunner.errors import ConfigurationError, UnknownVariable, UsageError
from jobrunner.settings.paths import absolute
from jobrunner.settings.toml_reader import TableReader, nearest_of
from jobrunner.text import whole_number

if TYPE_CHECKING:
    from jobrunner.settings.toml_file import JobFile

T = TypeVar("T")
D = TypeVar("D")
_PREFIX = "JOBRUNNER_"
# Compiled when they are used first: most ticks have neither of these settings.
_RELATIVE_SQLITE = r"(?s)(sqlite(?:\+\w+)?:///)([^/:].*)"
_SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_NAME = r"(?a)[\w.-]{1,100}"


class _Found(NamedTuple):
    """The text of a setting ("" for none) and its origin. Relative paths begin at ``folder``, or where it runs."""

    text: str
    origin: str
    folder: str | None = None


class SettingsReader:
    """Reads each setting once. After the last one, ``close`` refuses the keys and variables that were not read.

    ``origins`` are the names of the settings that were given, and where: an option, a variable, or a key of the file.
    """

    def __init__(self, environ: Mapping[str, str], flags: Mapping[str, Any], file: JobFile | None) -> None:
        self._environ = environ
        self._flags = flags
        self._file = file
        self._table = TableReader("settings", {} if file is None else file.settings)
        self._switches: set[str] = set()
        self._read: set[str] = set()
        self.origins: dict[str, str] = {}

    def text(self, name: str) -> str:
        return self._found(name).text

    def name(self, name: str) -> str:
        """A name of letters, digits, '.', '_' and '-'; "" for none."""

        def parse(text: str) -> str:
            if not re.fullmatch(_NAME, text):
                raise UsageError(f"{text[:60]!r} is not a name; write up to 100 letters, digits, '.', '_' and '-'")
            return text

        return self._parsed(name, parse, default="")

    def schema(self, name: str) -> str | None:
        """The name of a schema of PostgreSQL."""
        return self._parsed(name, names.check_schema_name, default=None)

    def path(self, name: str) -> str | None:
        """An absolute path; a relative one in the configuration file begins at the folder of that file."""
        found = self._found(name)
        if not found.text:
            return None
        # The file is UTF-8, and the path must have the same bytes in every locale.
        named = found.text if found.folder is None else os.path.join(found.folder, os.fsdecode(found.text.encode()))
        return absolute(named)

    def url(self, name: str) -> str:
        """The URL; a relative SQLite path in the configuration file begins at the folder of that file."""
        found = self._found(name)
        if found.folder is None or (relative := re.fullmatch(_RELATIVE_SQLITE, found.text)) is None:
            return found.text
        return f"{relative[1]}{absolute(os.path.join(found.folder, relative[2]))}"

    def duration(
        self, name: str, default: str | timedelta, check: Callable[[timedelta], None] = lambda _: None
    ) -> timedelta:
        def parse(text: str) -> timedelta:
            duration = parse_duration(text)
            check(duration)
            return duration

        return self._parsed(name, parse, parse_duration(default))

    def durations(self, name: str, check: Callable[[str], object]) -> Mapping[str, timedelta]:
        """Durations by name: ``report=1d,audit=2h``, or a table of the configuration file. ``check`` refuses a name."""

        def parse(text: str) -> Mapping[str, timedelta]:
            found = {}
            for part in text.split(","):
                key, is_given, duration = part.rpartition("=")
                if not is_given:
                    raise UsageError(f"{part.strip()[:60]!r} is not NAME=DURATION")
                check(key.strip())
                found[key.strip()] = parse_duration(duration.strip())
            return found

        return self._parsed(name, parse, default={})

    def number(self, name: str, default: int, least: int, most: int) -> int:
        return self._parsed(name, partial(whole_number, least=least, most=most), default)

    def switch(self, name: str) -> bool:
        """True or false; false by default."""

        def parse(text: str) -> bool:
            if text.lower() not in _SWITCHES:
                raise UsageError(f"{text!r} is neither true nor false")
            return _SWITCHES[text.lower()]

        self._switches.add(name)
        return self._parsed(name, parse, default=False)

    def close(self) -> None:
        """Raise ConfigurationError for a key or a variable that is not a setting."""
        try:
            self._table.close()
        except ConfigurationError as error:
            raise self._filed_wrong(error) from None
        for variable in self._environ:
            name = variable.removeprefix(_PREFIX)
            if not variable.startswith(_PREFIX) or name in self._read or variable in names.NO_SETTINGS:
                continue
            # Asked last: it is a regular expression, which an idle tick need not compile.
            if names.is_orchestrated(variable):
                continue
            # If it were ignored, a misspelt DATABASE_URL would silently send each tick to another database.
            raise UnknownVariable(
                f"{variable} is not a setting of this jobrunner ({_version()});"
                f" {nearest_of(name, [*self._read], _PREFIX)}",
                variable,
            )

    def _parsed(self, name: str, parse: Callable[[str], T], default: D) -> T | D:
        found = self._found(name)
        if not found.text:
            return default
        try:
            return parse(found.text)
        except UsageError as error:
            if name in self._flags:
                raise UsageError(f"{found.origin}: {error}") from None
            raise ConfigurationError(f"{found.origin}: {error}") from None

    def _found(self, name: str) -> _Found:
        found = self._first(name)
        if found.text:
            self.origins[name] = found.origin
        return found

    def _first(self, name: str) -> _Found:
        filed = self._filed(name)
        self._read.add(name.upper())
        if name in self._flags:
            return _Found(str(self._flags[name]), f"--{name.replace('_', '-')}")
        variable = f"{_PREFIX}{name.upper()}"
        text = self._environ.get(variable, "").strip()
        if text or not filed or self._file is None:
            return _Found(text, variable)
        return _Found(filed, f"{self._file.path}: settings.{name}", str(self._file.path.parent))

    def _filed(self, name: str) -> str:
        value = self._table.take_any(name)
        if isinstance(value, list) and name == "import" and all(isinstance(each, str) for each in value):
            return ",".join(value)
        if isinstance(value, dict) and name == "keep_types" and all(isinstance(each, str) for each in value.values()):
            return ",".join(f"{key}={each}" for key, each in value.items())
        if isinstance(value, bool) != (value is not None and name in self._switches):
            wanted = "true or false" if name in self._switches else "text or a number"
            raise self._filed_wrong(self._table.wrong(name, f"must be {wanted}"))
        if value is None or isinstance(value, str | int | float):
            return "" if value is None else str(value)
        raise self._filed_wrong(self._table.wrong(name, "must be text or a number"))

    def _filed_wrong(self, error: ConfigurationError) -> ConfigurationError:
        assert self._file is not None
        return ConfigurationError(f"{self._file.path}: {error}")


def _version() -> str:
    # A variable of a newer version may be set beside this older code, as while hosts are upgraded one by one.
    from importlib import import_module

    return str(import_module("jobrunner").__version__)
