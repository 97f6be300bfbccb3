"""Reads the table ``notify`` of ``jobrunner.toml``: who is told of dead, late and recovered runs, and pinged.

Secrets are read when something is sent, from the environment or a file, so that no other process sees them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from jobrunner.durations import parse_duration
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.settings import files
from jobrunner.settings.toml_reader import TableReader, nearest_of

EVENTS = ("dead", "late", "recovered")
_LATE_AFTER, _GIVE_UP_AFTER = timedelta(minutes=15), timedelta(seconds=10)
_LONGEST_SENDING = timedelta(seconds=60)
_MOST_RECEIVERS = 20
_LARGEST_SECRET = 4096
_SECURITIES = ("starttls", "tls", "none")
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


class Secret(NamedTuple):
    """Where a secret is: in a variable of the environment or in a file."""

    variable: str | None
    file: Path | None

    def read(self) -> str:
        """The secret. Raises ConfigurationError, which never quotes it."""
        if self.variable is not None:
            found = os.environ.get(self.variable, "").strip()
            if not found:
                raise ConfigurationError(f"the environment has no {self.variable}")
            return found
        assert self.file is not None
        try:
            found = files.read_file(self.file, _LARGEST_SECRET).decode().strip()
        except (UsageError, UnicodeDecodeError) as error:
            reason = error if isinstance(error, UsageError) else "it is not UTF-8"
            raise ConfigurationError(f"cannot read {self.file}: {reason}") from None
        if not found:
            raise ConfigurationError(f"{self.file} is empty")
        return found


class Mail(NamedTuple):
    """A mail through an SMTP server. ``user`` None: no login."""

    to: tuple[str, ...]
    sender: str
    host: str
    port: int
    security: str
    user: str | None
    password: Secret | None


class Webhook(NamedTuple):
    """A POST to a URL, which is a secret."""

    url: Secret


class Program(NamedTuple):
    """A command that gets the message on standard input."""

    argv: tuple[str, ...]
    folder: Path


Receiver: TypeAlias = Mail | Webhook | Program


class Rules(NamedTuple):
    """Who is told what. None: as the rules above say, those of the job type or those for all."""

    dead: tuple[str, ...] | None = None
    late: tuple[str, ...] | None = None
    recovered: tuple[str, ...] | None = None
    late_after: timedelta | None = None
    ping: Secret | None = None


class Notify(NamedTuple):
    """The table. ``jobs`` and ``schedules`` map names to rules that go before those for all.

    ``redact`` are further names in payloads whose values are secrets, which no receiver is told.
    """

    receivers: Mapping[str, Receiver]
    rules: Rules
    jobs: Mapping[str, Rules]
    schedules: Mapping[str, Rules]
    give_up_after: timedelta
    tick_ping: Secret | None = None
    redact: tuple[str, ...] = ()

    def pings(self) -> dict[str, Secret]:
        """The URLs that are pinged for runs of schedules, by their names."""
        return {name: rules.ping for name, rules in self.schedules.items() if rules.ping is not None}

    def told(self, event: str, job_type: str, schedule: str) -> tuple[str, ...]:
        """The receivers of an event; ``schedule`` "" for runs of no schedule."""
        found: Iterator[tuple[str, ...] | None] = (getattr(rules, event) for rules in self._of(job_type, schedule))
        return next((each for each in found if each is not None), ())

    def late_after(self, job_type: str, schedule: str) -> timedelta:
        """How late a run must be before somebody is told."""
        found = (rules.late_after for rules in self._of(job_type, schedule))
        return next((each for each in found if each is not None), _LATE_AFTER)

    def least_late(self) -> timedelta | None:
        """The shortest such time. None: nobody is told of late runs."""
        every = [self.rules, *self.jobs.values(), *self.schedules.values()]
        if not any(rules.late for rules in every):
            return None
        given = [rules.late_after for rules in every if rules.late_after is not None]
        return min([*given, *([_LATE_AFTER] if self.rules.late_after is None else [])])

    def tells_of_dead(self) -> tuple[bool, list[str], list[str]]:
        """Whether of all dead runs, else of which job types and schedules."""
        return (
            bool(self.rules.dead),
            [name for name, rules in self.jobs.items() if rules.dead],
            [name for name, rules in self.schedules.items() if rules.dead],
        )

    def _of(self, job_type: str, schedule: str) -> tuple[Rules, ...]:
        return self.schedules.get(schedule, Rules()), self.jobs.get(job_type, Rules()), self.rules


def read(table: Mapping[str, Any], folder: Path) -> Notify:
    """Read the table ``notify``; relative paths begin at ``folder``. Raises ConfigurationError naming the key."""
    top = TableReader("notify", table)
    receivers = {
        name: _receiver(_table(f"notify.receivers.{name}", each), folder)
        for name, each in (top.take("receivers", dict) or {}).items()
    }
    if len(receivers) > _MOST_RECEIVERS:
        raise top.wrong("receivers", f"has {len(receivers)} tables; there can be at most {_MOST_RECEIVERS}")
    rules = _rules(top, receivers)
    of_each: dict[str, dict[str, Rules]] = {}
    for kind in ("jobs", "schedules"):
        of_each[kind] = {}
        for name, each in (top.take(kind, dict) or {}).items():
            reader = _table(f"notify.{kind}.{name}", each)
            rules_of_it = _rules(reader, receivers)
            ping = _secret(reader, "ping", folder) if kind == "schedules" else None
            of_each[kind][name] = rules_of_it._replace(ping=ping)
            reader.close()
    give_up_after = _duration(top, "give_up_after") or _GIVE_UP_AFTER
    if give_up_after > _LONGEST_SENDING:
        raise top.wrong("give_up_after", "must be at most 60s: a tick waits for so long at its end")
    tick_ping = _secret(top, "tick_ping", folder)
    redact = tuple(top.take_list("redact", str) or ())
    top.close()
    return Notify(receivers, rules, of_each["jobs"], of_each["schedules"], give_up_after, tick_ping, redact)


def _table(path: str, table: object) -> TableReader:
    if not isinstance(table, dict):
        raise ConfigurationError(f"{path}: must be a table, as in [{path}]")
    return TableReader(path, table)


def _rules(reader: TableReader, receivers: Mapping[str, Receiver]) -> Rules:
    dead, late, recovered = (_names(reader, f"on_{event}", receivers) for event in EVENTS)
    return Rules(dead, late, recovered, _duration(reader, "late_after"))


def _names(reader: TableReader, key: str, receivers: Mapping[str, Receiver]) -> tuple[str, ...] | None:
    names = reader.take_list(key, str)
    for name in names or ():
        if name not in receivers:
            hint = nearest_of(name, list(receivers)) if receivers else f"add a table [notify.receivers.{name}]"
            raise reader.wrong(key, f"{name!r} is not one of notify.receivers; {hint}")
    return None if names is None else tuple(dict.fromkeys(names))


def _duration(reader: TableReader, key: str) -> timedelta | None:
    text = reader.take(key, str)
    if text is None:
        return None
    try:
        found = parse_duration(text)
    except UsageError as error:
        raise reader.wrong(key, error) from None
    if not found:
        raise reader.wrong(key, "must be more than 0")
    return found


def _receiver(reader: TableReader, folder: Path) -> Receiver:
    mail_to, command = reader.take_list("mail_to", str), reader.take_any("command")
    url = _secret(reader, "url", folder)
    if sum(each is not None for each in (mail_to, command, url)) != 1:
        raise reader.wrong("command", "write one of: command, mail_to, url_env, url_file")
    receiver: Receiver
    if mail_to is not None:
        receiver = _mail(reader, mail_to, folder)
    elif url is not None:
        receiver = Webhook(url)
    else:
        receiver = _program(reader, command, folder)
    reader.close()
    return receiver


def _mail(reader: TableReader, to: list[str], folder: Path) -> Mail:
    if not to:
        raise reader.wrong("mail_to", 'is empty; write an address, e.g. "ops@example.com"')
    sender = reader.take("mail_from", str)
    for key, address in [("mail_to", each) for each in to] + [("mail_from", sender or "")]:
        if "@" not in address or any(not each.isprintable() or each.isspace() for each in address):
            raise reader.wrong(key, 'must be a mail address, e.g. "ops@example.com"')
    assert sender is not None
    security = reader.take("smtp_security", str) or "starttls"
    if security not in _SECURITIES:
        raise reader.wrong("smtp_security", f"must be one of: {', '.join(_SECURITIES)}")
    host = reader.take("smtp_host", str)
    if not host:
        raise reader.wrong("smtp_host", 'is missing; write the mail server, e.g. smtp_host = "smtp.example.com"')
    port = reader.take("smtp_port", int)
    if port is not None and not 1 <= port <= 65535:
        raise reader.wrong("smtp_port", "must lie between 1 and 65535")
    user, password = reader.take("smtp_user", str), _secret(reader, "smtp_password", folder)
    if (user is None) != (password is None):
        raise reader.wrong("smtp_user", "needs smtp_password_env or smtp_password_file, and the other way round")
    return Mail(tuple(to), sender, host, port or _PORTS[security], security, user, password)


def _program(reader: TableReader, command: object, folder: Path) -> Program:
    is_shell = reader.take("shell", bool) or False
    if is_shell and isinstance(command, str) and command.strip() and "\0" not in command:
        return Program(("/bin/sh", "-c", command), folder)
    if is_shell or isinstance(command, str):
        raise reader.wrong("command", "must be a list of arguments, or one text with shell = true")
    if not isinstance(command, list) or not command or not all(isinstance(each, str) for each in command):
        raise reader.wrong("command", "must be a list of texts, the program first")
    if not command[0] or any("\0" in each for each in command):
        raise reader.wrong("command", "must begin with the program, and contain no NUL character")
    return Program(tuple(command), folder)


def _secret(reader: TableReader, key: str, folder: Path) -> Secret | None:
    variable, file = reader.take(f"{key}_env", str), reader.take(f"{key}_file", str)
    if reader.take_any(key) is not None:
        raise reader.wrong(key, f"is a secret; name where it is, with {key}_env or {key}_file")
    if variable is not None and file is not None:
        raise reader.wrong(f"{key}_env", f"stands beside {key}_file; write one of them")
    if variable is None and file is None:
        return None
    return Secret(variable, None if file is None else folder / file)
