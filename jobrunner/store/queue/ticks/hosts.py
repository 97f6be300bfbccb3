"""What each host can run, by the reports of its ticks: one row for the ticks of a kind, written when it changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from jobrunner import backoff
from jobrunner.backoff import Backoff
from jobrunner.model import Policy, TickKind
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.sql.statement import Prepared, Row

UNKNOWN_BOOT = "unknown"
"""The boot of a system that has no id of it."""
_COMMAND, _CURRENT_NAME = "command", "current_name"
PROBLEM = "problem"
"""The key of ``settings`` that says why the ticks of a kind can run commands only. It is there until one can again."""

TRACEBACK = "traceback"
"""The key of ``settings`` that has the traceback of the problem, or None."""


class HostReport(NamedTuple):
    """What the ticks of a kind can run, and how many runs of it.

    ``commands`` has a digest of each type that is a command. ``settings`` are limits of the host and of the tick.
    ``database`` is its name for people. ``boot`` identifies the machine since its last start.
    """

    kind: TickKind
    policies: tuple[Policy, ...]
    settings: dict[str, Any]
    database: str
    boot: str
    commands: Mapping[str, str] = MappingProxyType({})

    @property
    def can_run(self) -> dict[str, dict[str, Any]]:
        """The limits and the backoff of each type that has its own, and which command it is, by its name.

        A former name has that of today.
        """
        return {policy.job_type: self._of(policy) for policy in sorted(self.policies, key=lambda each: each.job_type)}

    def _of(self, policy: Policy) -> dict[str, Any]:
        digest = self.commands.get(policy.job_type)
        return _limits(policy) | ({} if digest is None else {_COMMAND: digest})

    @property
    def digest(self) -> str:
        """Changes with everything that is reported."""
        return _digest([*self.kind, self.can_run, self.settings, self.database, self.boot])


def id_of(kind: TickKind) -> str:
    """The id of the row of the ticks of this kind."""
    return _digest(list(kind))


def write(connection: Connection, report: HostReport) -> None:
    """Write the row of the host, and remove those of hosts that reported nothing for a month."""
    values = {
        "host_id": id_of(report.kind),
        **{f"its_{name}": value for name, value in report.kind._asdict().items()},
        "its_digest": report.digest,
        "its_can_run": report.can_run,
        "its_settings": report.settings,
        "its_database": report.database,
        "its_boot": report.boot or UNKNOWN_BOOT,
    }
    connection.execute(Prepared("hosts.write"), values)
    connection.execute(Prepared("hosts.forget"))


def with_other_commands(connection: Connection, host: str, commands: Mapping[str, str]) -> dict[str, str]:
    """The types that are another command on another host, by its last report, and that host. Reads only.

    ``commands`` has the digests of this host.
    """
    found: dict[str, str] = {}
    for row in connection.execute(Prepared("findings.known_types")):
        for job_type, digest in commands.items():
            other = row.can_run.get(job_type, {}).get(_COMMAND, digest)
            if row.host != host and other != digest:
                found[job_type] = row.host
    return found


def names_of(reports: Iterable[Mapping[str, Any]], job_type: str) -> list[str]:
    """The name and the other names of the type, former ones or that of today, as far as ``reports`` say so.

    A report is the ``can_run`` of a host. Hosts with other code may know others of them.
    """
    pairs = {(name, known_as(told, name)) for told in reports for name in told}
    found, before = {job_type}, 0
    while len(found) > before:
        before = len(found)
        found.update(*(pair for pair in pairs if not found.isdisjoint(pair)))
    return [job_type, *sorted(found - {job_type})]


def known_as(can_run: Mapping[str, Any], job_type: str) -> str:
    """The name of today of a type that a host has reported."""
    told = can_run.get(job_type)
    name = told.get(_CURRENT_NAME) if isinstance(told, dict) else None
    return name if isinstance(name, str) else job_type


def reported_names_of(connection: Connection, job_type: str) -> list[str]:
    """``names_of`` by the reports of all hosts. Expects any transaction."""
    return names_of((row.can_run for row in connection.execute(Prepared("findings.known_types"))), job_type)


def reported_families(connection: Connection, job_types: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The names of each of these types, the former ones first, as an enqueue takes a key under them."""
    reports = [row.can_run for row in connection.execute(Prepared("findings.known_types"))]
    former = {name for told in reports for name in told if known_as(told, name) != name}
    return {
        each: tuple(sorted(names_of(reports, each), key=lambda name: (name not in former, name))) for each in job_types
    }


class Backoffs:
    """The backoffs of the types of some hosts, by their last reports. For whoever does not know the code."""

    def __init__(self, reported: Iterable[Row]) -> None:
        self._reported: dict[tuple[str, str], Any] = {}
        for row in reported:
            self._reported.update(((row.host, name), told) for name, told in row.can_run.items())

    def wait(self, host: str | None, job_type: str, attempts: int) -> timedelta:
        """The wait after this attempt of a run that a tick of this host had. The default for a type without a report.

        A report is data that another version may have written: the default, too, where it is no backoff.
        """
        told = self._reported.get((host or "", job_type))
        with suppress(AttributeError, ArithmeticError, KeyError, TypeError, ValueError):
            if told is not None and "backoff" in told:
                return max(timedelta(0), Backoff.from_data(told["backoff"]).wait(attempts))
        return backoff.DEFAULT.wait(attempts)


def backoffs(connection: Connection, hosts: Iterable[str | None]) -> Backoffs:
    """The backoffs of the types of these hosts. Expects any transaction."""
    given = [{"host": host} for host in sorted({host for host in hosts if host})]
    return Backoffs(connection.execute(Prepared("hosts.reported"), {"given": given}) if given else ())


def _limits(policy: Policy) -> dict[str, Any]:
    limits: Iterable[tuple[str, Any]] = (
        ("concurrency", policy.concurrency),
        ("is_async", policy.is_async),
        (_CURRENT_NAME, policy.current_name),
        ("backoff", None if policy.backoff == backoff.DEFAULT else policy.backoff.as_data()),
        *(() if policy.limits is None else policy.limits.as_data().items()),
    )
    return {name: value for name, value in limits if value}


def _digest(data: list[Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
