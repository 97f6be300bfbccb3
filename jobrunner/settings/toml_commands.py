"""Reads a command of ``jobrunner.toml``: a table [jobs.NAME] that says what to start, with its policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jobrunner import backoff as backoffs
from jobrunner.backoff import Backoff
from jobrunner.errors import ConfigurationError, JobrunnerError, WrongOption
from jobrunner.jobs import commands
from jobrunner.jobs.commands import Command
from jobrunner.jobs.job_options import OF_POLICY, HowOften, Waits
from jobrunner.jobs.options import Kind, Number, OneOf
from jobrunner.jobs.policy import make_policy
from jobrunner.model import Policy
from jobrunner.settings.toml_reader import TableReader, nearest_of

_SHAPES: dict[str, tuple[Callable[..., Backoff], tuple[str, ...]]] = {
    "exponential": (backoffs.exponential, ("cap", "factor", "jitter")),
    "fixed": (backoffs.fixed, ("jitter",)),
    "waits": (backoffs.waits, ("jitter",)),
    "polynomial": (backoffs.polynomial, ("cap", "power", "jitter")),
}


def command_of(name: str, reader: TableReader, folder: Path) -> Command:
    """The command of a table. ``folder`` is that of the file. Raises ConfigurationError with the key."""
    argv = _argv(reader)
    success = _codes(reader, "success_codes")
    success = frozenset({0}) if success is None else success
    retry, discard = _codes(reader, "retry_codes"), _codes(reader, "discard_codes")
    _check_disjoint(reader, {"success_codes": success, "retry_codes": retry, "discard_codes": discard})
    return Command(
        policy=_policy(name, reader),
        argv=argv,
        cwd=folder / _path(reader, "cwd"),
        env=_env(reader),
        pass_env=tuple(reader.take_list("pass_env", str) or ()),
        success_codes=success,
        retry_codes=retry,
        discard_codes=discard or frozenset(),
        stdin=reader.take("stdin", str),
    )


def _argv(reader: TableReader) -> tuple[str, ...]:
    is_shell = reader.take("shell", bool) or False
    command = reader.take_any("command")
    if command is None:
        raise reader.wrong("command", 'is missing; write it as a list, e.g. command = ["pg_dump", "app"]')
    if is_shell:
        return _shell_line(reader, command)
    if isinstance(command, str):
        raise reader.wrong("command", "is text; write it as a list of arguments, or say shell = true")
    if not isinstance(command, list) or not command or not all(isinstance(each, str) for each in command):
        raise reader.wrong("command", "must be a list of texts, the program first")
    for argument in command:
        _check_text(reader, "command", argument)
        try:
            commands.check_argument(argument)
        except ConfigurationError as error:
            raise reader.wrong("command", error) from None
    if not command[0] or command[0].startswith("{"):
        raise reader.wrong("command", "must begin with the program, which cannot be a placeholder")
    return tuple(command)


def _shell_line(reader: TableReader, command: object) -> tuple[str, ...]:
    if not isinstance(command, str) or not command.strip():
        raise reader.wrong("command", "must be one text with shell = true; a list of arguments needs no shell")
    _check_text(reader, "command", command)
    if asked := commands.placeholders_in(command):
        raise reader.wrong(
            "command",
            f"{{{asked[0]}}} is not filled in for a shell, because a payload would be run as code; use"
            ' "$JOBRUNNER_RUN_ID" and the like, and read the payload from standard input',
        )
    return (commands.SHELL, "-c", command)


def _policy(name: str, reader: TableReader) -> Policy:
    given = {
        option: value
        for option, row in OF_POLICY.items()
        if (value := _READ.get(type(row.kind), TableReader.take_any)(reader, option)) is not None
    }
    try:
        return make_policy(name, **given)
    except WrongOption as error:
        raise reader.wrong(error.option, error.reason) from None
    except JobrunnerError as error:
        raise ConfigurationError(f"jobs.{name}: {error}") from None


def _backoff(reader: TableReader, key: str) -> Backoff | None:
    spec = reader.take_any(key)
    if spec is None:
        return None
    if not isinstance(spec, dict):
        raise reader.wrong("backoff", 'must be a table such as { exponential = "1m", cap = "30m" } or { fixed = "5m" }')
    named = [shape for shape in _SHAPES if shape in spec]
    if not named and spec:
        key = next(iter(spec))
        raise reader.wrong("backoff", f"{key!r} is not a shape; {nearest_of(key, list(_SHAPES))}")
    if len(named) != 1:
        raise reader.wrong("backoff", f"names {len(named)} shapes; it needs one of: {', '.join(_SHAPES)}")
    (shape,) = named
    make, keys = _SHAPES[shape]
    table = reader.below("backoff", spec)
    base = table.take_any(shape)
    if isinstance(base, list) and shape != "waits":
        raise table.wrong(shape, "must be one duration; a list belongs to waits")
    options = {key: value for key in keys if (value := _option(table, key)) is not None}
    table.close()
    try:
        return make(*(base if isinstance(base, list) else [base]), **options)
    except JobrunnerError as error:
        raise reader.wrong("backoff", error) from None


_READ: Mapping[type[Kind], Callable[[TableReader, str], Any]] = {
    Number: lambda reader, key: reader.take(key, int),
    OneOf: lambda reader, key: reader.take(key, str),
    HowOften: lambda reader, key: reader.take(key, str),
    Waits: _backoff,
}
"""How an option of this kind is read. All others may be anything that the check of the option takes."""


def _option(table: TableReader, key: str) -> Any:
    value = table.take_any(key)
    if value is not None and key != "cap" and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise table.wrong(key, "must be a number")
    return value


def _codes(reader: TableReader, key: str) -> frozenset[int] | None:
    codes = reader.take_list(key, int)
    for code in codes or ():
        if not 0 <= code <= 255:
            raise reader.wrong(key, f"{code} is not an exit status; they lie between 0 and 255")
    return None if codes is None else frozenset(codes)


def _check_disjoint(reader: TableReader, codes: Mapping[str, frozenset[int] | None]) -> None:
    seen: dict[int, str] = {}
    for key, each in codes.items():
        for code in sorted(each or ()):
            if code in seen:
                raise reader.wrong(key, f"{code} is also one of {seen[code]}; a code can be in one list only")
            seen[code] = key


def _path(reader: TableReader, key: str) -> str:
    path = reader.take(key, str) or "."
    _check_text(reader, key, path)
    # The file is UTF-8, and the path must have the same bytes in every locale.
    return os.fsdecode(path.encode())


def _env(reader: TableReader) -> dict[str, str]:
    env: dict[str, Any] = reader.take("env", dict) or {}
    for name, value in env.items():
        if not isinstance(value, str):
            raise reader.wrong(f"env.{name}", f'must be text; write {name} = "…"')
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise reader.wrong(f"env.{name}", "cannot be an environment variable")
    return env


def _check_text(reader: TableReader, key: str, text: str) -> None:
    if "\0" in text:
        raise reader.wrong(key, "contains a NUL character, which cannot be passed to a program")
