"""Env files: ``KEY=VALUE`` lines, read without a shell.

A file that is accepted means the same to systemd's ``EnvironmentFile=``. What systemd silently ignores, or reads in a
surprising way, is refused (docs/adr/0009-env-file.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.settings import files
from jobrunner.settings.paths import StrPath

_LARGEST_BYTES = 64 * 1024
_LINE_END = re.compile(r"\r\n?|\n")
_BLANKS = " \t"
_ASSIGNMENT = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=(.*)", re.DOTALL)
_SINGLE_QUOTED = re.compile(r"'([^']*)'", re.DOTALL)
_DOUBLE_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\`$])')
_PLAIN = re.compile(r"[\w@%+=:,./-]*", re.ASCII)
_TO_ESCAPE, _BACKSLASH = re.compile(r'(["\\`$])'), r"\\\1"


def read_env_file(path: StrPath) -> dict[str, str]:
    """The variables of a file. Raises ConfigurationError, which never quotes the file: it holds secrets."""
    try:
        data = files.read_file(path, _LARGEST_BYTES, lambda found: files.check_owner(found, f"env file {path}"))
    except UsageError as error:
        raise ConfigurationError(f"env file {path}: {error}") from None
    if len(data) > _LARGEST_BYTES:
        raise ConfigurationError(f"env file {path}: it is larger than {_LARGEST_BYTES} bytes")
    if b"\0" in data:
        raise ConfigurationError(f"env file {path}: there is a NUL in it")
    try:
        return parse_env(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"env file {path}, line {line}: it is not UTF-8") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"env file {path}, {error}") from None


def written(variables: Mapping[str, str]) -> str:
    """The text of an env file with these variables. Raises ConfigurationError for one that has several lines."""
    lines = []
    for name, value in variables.items():
        if _LINE_END.search(value):
            raise ConfigurationError(f"{name} has several lines, and no env file can hold it")
        if _PLAIN.fullmatch(value):
            lines.append(f"{name}={value}\n")
        elif "'" not in value:
            lines.append(f"{name}='{value}'\n")
        else:
            lines.append(f'{name}="{_TO_ESCAPE.sub(_BACKSLASH, value)}"\n')
    return "".join(lines)


def parse_env(text: str) -> dict[str, str]:
    """The variables; the last value of a name counts. Raises ConfigurationError with the number of the line."""
    variables = {}
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.strip(_BLANKS)
        try:
            if line.endswith("\\"):
                raise ConfigurationError("a line cannot be continued with a backslash")
            if line and line[0] not in "#;":
                name, value = _assignment(line)
                variables[name] = value
        except ConfigurationError as error:
            raise ConfigurationError(f"line {number}: {error}") from None
    return variables


def _assignment(line: str) -> tuple[str, str]:
    found = _ASSIGNMENT.fullmatch(line)
    if line.startswith("\ufeff"):
        raise ConfigurationError("it begins with a byte order mark; save the file without one")
    if not found:
        raise ConfigurationError("it is neither KEY=VALUE nor a # comment")
    return found[1], _value(found[2].strip(_BLANKS))


def _value(written: str) -> str:
    if written.startswith(("'", '"')):
        quoted = (_SINGLE_QUOTED if written[0] == "'" else _DOUBLE_QUOTED).fullmatch(written)
        if not quoted:
            raise ConfigurationError("the quotes must enclose the whole value, on one line, without a comment after it")
        return quoted[1] if written[0] == "'" else _ESCAPED.sub(r"\1", quoted[1])
    if "\\" in written:
        raise ConfigurationError("a value with a backslash must stand in single quotes")
    return written
