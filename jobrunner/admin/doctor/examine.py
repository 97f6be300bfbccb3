"""All checks, in the order in which one explains the next."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobrunner.admin.doctor import compiled, cron, database, files, handlers, standby, ticks
from jobrunner.admin.doctor.checks import Check, Verdict, ok, wrong
from jobrunner.admin.doctor.cron import Here, Probe
from jobrunner.admin.doctor.handlers import Discover, Needed
from jobrunner.admin.doctor.settings import EnvFile, Setting
from jobrunner.admin.tick_rules import state_folder
from jobrunner.crontab.host import crons_timezone
from jobrunner.errors import DatabaseUnavailable, UsageError
from jobrunner.settings.config import Config
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.questions import definitions, findings, rhythm
from jobrunner.store.upkeep import inspection


@dataclass
class Report:
    """What the doctor has found. ``format`` is the number of this form."""

    format: int = 1
    database: str = "-"
    job_types: list[str] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)

    @property
    def is_wrong(self) -> bool:
        """Whether a check has failed."""
        return any(check.verdict is Verdict.WRONG for check in self.checks)


@dataclass(frozen=True)
class Patient:
    """What is examined. ``state_problem`` says why no state folder can be used."""

    config: Config
    database: Database
    discover: Discover
    state_problem: str | None
    env_file: EnvFile


def examine(patient: Patient, report: Report, *, with_crontab: bool) -> None:
    """Add all checks to the report."""
    report.database = patient.database.location.label
    lines, unread = cron.lines() if with_crontab else ([], [])
    user = _user()
    # Started first: it takes as long as all other checks together.
    probes = [Probe(line) for line in lines if line.user in (None, user)]
    add = report.checks.extend
    add(_of_files(patient))
    add([_host_time_zone(), compiled.check()])
    is_ticking, needed = False, Needed()
    is_reachable, found = database.reachable(patient.database)
    add(found)
    if is_reachable:
        is_usable, schema = database.schema(patient.database)
        add([schema])
        if is_usable:
            at_work = _in_database(patient, report)
            if at_work is not None:
                is_ticking, needed = at_work
    known, found = handlers.handlers(patient.discover, needed, patient.config.imports)
    report.job_types = known
    add(found)
    if with_crontab:
        add(unread)
        add(cron.about(lines, user, is_ticking=is_ticking))
        for probe in probes:
            add(probe.compare(Here(report.database, known)))


def _in_database(patient: Patient, report: Report) -> tuple[bool, Needed] | None:
    try:
        checks, is_ticking, needed = patient.database.read(lambda connection: _read(connection, patient.config))
    except DatabaseUnavailable as error:
        report.checks.append(database.unusable(error))
        return None
    report.checks.extend(checks)
    return is_ticking, needed


def _read(connection: Connection, config: Config) -> tuple[list[Check], bool, Needed]:
    host, limits = config.host, config.health
    checks = [
        *database.slices(connection),
        database.clocks(connection, limits.clock_skew),
        *database.storage(connection),
        *database.sessions(connection),
        *database.old_snapshots(connection, limits),
        *standby.checks(connection),
        *database.locks(connection),
    ]
    at, seen = inspection.clock(connection), inspection.last_ticks(connection)
    tick = ticks.last_tick(host, at, seen, rhythm.look(connection).missing_after(limits.tick_age))
    needed = Needed(
        definitions.listed(connection),
        findings.waiting(connection),
        bool(ticks.others_at_work(host, at, seen)),
    )
    return [*checks, tick], tick.verdict is Verdict.OK, needed


def _of_files(patient: Patient) -> Iterator[Check]:
    if patient.state_problem is None:
        yield ok("state folder", "private to this user")
    else:
        yield wrong("state folder", patient.state_problem, state_folder.remedy)
    for named in (patient.config.file, patient.env_file.path):
        if named is not None:
            path = Path(named)
            try:
                yield from files.with_secrets(path, path.read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue
    file = patient.database.location.file
    if file is not None and file.exists():
        yield from files.of_database(file)


def _host_time_zone() -> Check:
    try:
        return ok("time zone", f"{crons_timezone()} on this host; a schedule has its own, else UTC")
    except UsageError as error:
        return wrong("time zone", str(error), "link /etc/localtime to a file of /usr/share/zoneinfo")


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
