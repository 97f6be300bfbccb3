"""Reads ``jobrunner.toml``: settings, schedules, and commands as job types. An error names the key and the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from jobrunner.errors import ConfigurationError, UsageError, WrongOption
from jobrunner.jobs.commands import Command
from jobrunner.jobs.policy import check_former_names
from jobrunner.model import Policy
from jobrunner.settings import files
from jobrunner.settings.toml_commands import command_of
from jobrunner.settings.toml_reader import TableReader
from jobrunner.settings.toml_schedules import FiledSchedule, named_schedule, schedule_of

_LARGEST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class JobFile:
    """The content of one file, by name. ``settings`` and ``notify`` are not checked yet: ``config`` does that."""

    path: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    commands: Mapping[str, Command] = field(default_factory=dict)
    schedules: Mapping[str, FiledSchedule] = field(default_factory=dict)
    notify: Mapping[str, Any] | None = None

    @property
    def commands_by_each_name(self) -> dict[str, Command]:
        """The commands, also by the names that their types had before."""
        by_policy = (
            (command, policy) for command in self.commands.values() for policy in command.policy.of_each_name()
        )
        return {policy.job_type: command._replace(policy=policy) for command, policy in by_policy}


def read(path: Path) -> JobFile:
    """Read a configuration file. Raises ConfigurationError naming the file and the key."""
    data = _data(path, runs=True)
    with _naming(path):
        return _parse(path, data)


def read_settings(path: Path) -> JobFile:
    """Read only the settings. The jobs, and who may write the file, are checked by the processes that run jobs."""
    data = _data(path, runs=False)
    thresholds = data.get("health")
    with _naming(path):
        settings: dict[str, Any] = TableReader("", data).take("settings", dict) or {}
    # A table that is none must not stop an application that only enqueues.
    of_health = thresholds if isinstance(thresholds, dict) else {}
    return JobFile(path, {**{f"health_{name}": value for name, value in of_health.items()}, **settings})


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _data(path: Path, *, runs: bool) -> dict[str, Any]:
    try:
        found = path.stat()
        files.check_regular(found)
        if runs:
            files.check_owner(found, f"the configuration file {path}")
        return _parsed(path, found.st_mtime_ns, found.st_size)
    except (OSError, UsageError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"cannot read the configuration file {path}: {reason}") from None


@lru_cache(maxsize=8)
def _parsed(path: Path, changed_at: int, size: int) -> dict[str, Any]:
    # An application reads its settings at each enqueue; the file is parsed again only when it has changed.
    import tomllib

    if size > _LARGEST_BYTES:
        raise ConfigurationError(f"the configuration file {path} is larger than {_LARGEST_BYTES} bytes")
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError:
        raise ConfigurationError(f"the configuration file {path} is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        # A number with thousands of digits raises a plain ValueError.
        raise ConfigurationError(f"the configuration file {path} is not TOML: {error}") from None
    with _naming(path):
        _check_numbers(data)
    return data


def _check_numbers(value: object, key: str = "") -> None:
    # TOML has this limit, but its parser does not check it. A larger number cannot even be shown in a message.
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ConfigurationError(f"{key}: the number does not fit into 64 bits")
    if isinstance(value, dict):
        for name, each in value.items():
            _check_numbers(each, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for each in value:
            _check_numbers(each, key)


def _parse(path: Path, data: dict[str, Any]) -> JobFile:
    top = TableReader("", data)
    settings, health, notify = (top.take(name, dict) for name in ("settings", "health", "notify"))
    jobs: dict[str, Any] = top.take("jobs", dict) or {}
    tables: dict[str, Any] = top.take("schedules", dict) or {}
    top.close()
    found, schedules = {}, {}
    for name, table in jobs.items():
        reader = _reader("jobs", name, table)
        found[name] = command = command_of(name, reader, path.parent)
        if (schedule := schedule_of(f"jobs.{name}", name, reader, command.policy.formerly)) is not None:
            schedules[name] = schedule
        reader.close()
    _check_former_names(found)
    for name, table in tables.items():
        reader = _reader("schedules", name, table)
        if name in schedules:
            where = schedules[name].where
            raise ConfigurationError(f"schedules.{name}: the schedule of {where} has that name; choose another")
        schedules[name] = named_schedule(name, reader)
        reader.close()
    return JobFile(path, _with_health(settings or {}, health or {}), found, schedules, notify)


def _check_former_names(commands: Mapping[str, Command]) -> None:
    taken: dict[str, Policy] = {}
    # Those with former names last, so that an error names the one with the wrong name.
    for name, command in sorted(commands.items(), key=lambda item: bool(item[1].policy.formerly)):
        try:
            check_former_names(command.policy, taken)
        except WrongOption as error:
            raise ConfigurationError(f"jobs.{name}.formerly: {error.reason}") from None
        taken.update(dict.fromkeys(command.policy.names, command.policy))


def _with_health(settings: dict[str, Any], health: dict[str, Any]) -> dict[str, Any]:
    """The settings with those of the table [health], whose names lack the ``health_``."""
    thresholds = {f"health_{name}": value for name, value in health.items()}
    for name in sorted(thresholds.keys() & settings.keys()):
        raise ConfigurationError(f"settings.{name}: [health] has it, too; remove one")
    return settings | thresholds


def _reader(kind: str, name: str, table: object) -> TableReader:
    if not isinstance(table, dict):
        raise ConfigurationError(f"{kind}.{name}: must be a table, as in [{kind}.{name}]")
    return TableReader(f"{kind}.{name}", table)
