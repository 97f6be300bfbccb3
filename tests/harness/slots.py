"""Reads the slots with and without runs, and moves the clock."""

from collections.abc import Mapping
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from harness import Commands, Database, vixie

# A tick that only expands: nothing is claimed, so no child is started.
NO_HANDLERS = {"JOBRUNNER_IMPORT": None}
BERLIN = "Europe/Berlin"


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def go_to(database: Database, instant: datetime) -> None:
    """Set jobrunner's clock; it goes on from there."""
    database.set_clock_offset(instant - datetime.now(UTC))


def expand(jobrunner: Commands, at: datetime | None = None) -> None:
    """A tick at this time, or now, which only expands."""
    if at is not None:
        go_to(jobrunner.database, at)
    assert jobrunner.tick(env=NO_HANDLERS).stderr == ""


def slots_with_runs(database: Database, name: str) -> list[datetime]:
    rows = database.query(
        "SELECT r.scheduled_for AS scheduled_for FROM job_runs r JOIN job_definitions d ON d.id = r.definition_id"
        " WHERE d.name = ? ORDER BY r.scheduled_for",
        [name],
    )
    return [row["scheduled_for"] for row in rows]


def skipped_ranges(database: Database, name: str) -> list[tuple[datetime, datetime, int]]:
    rows = database.query(
        "SELECT e.detail AS detail FROM job_events e JOIN job_definitions d ON d.id = e.definition_id"
        " WHERE d.name = ? AND e.action = 'skip slots' ORDER BY e.id",
        [name],
    )
    details = [row["detail"] for row in rows]
    return [(datetime.fromisoformat(d["from"]), datetime.fromisoformat(d["to"]), d["count"]) for d in details]


def add(jobrunner: Commands, name: str, cron: str, timezone: str = BERLIN, job_type: str = "echo") -> None:
    """Add a schedule, by the command."""
    jobrunner(
        "schedule", "add", name, "--type", job_type, "--schedule", cron, "--timezone", timezone, "--overlap", "allow"
    )


def ticks_at_once(jobrunner: Commands, count: int, env: Mapping[str, str | None] | None = None) -> None:
    """Start so many ticks together; all of them end well."""
    ticks = [jobrunner.start("tick", env=env) for _ in range(count)]
    ends = [tick.communicate(timeout=60) for tick in ticks]
    assert [(tick.returncode, *end) for tick, end in zip(ticks, ends, strict=True)] == [(0, "", "")] * count


def debian_slots(cron: str, timezone: str, begin: datetime, end: datetime) -> list[datetime]:
    """The instants of the project's independent model of Debian's cron, in (begin, end]."""
    return vixie.fired(vixie.read(cron), vixie.looks(ZoneInfo(timezone), begin, end))
