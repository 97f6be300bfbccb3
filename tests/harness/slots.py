"""The slots that became runs and those that did not, and where the clock stands."""

from datetime import UTC, datetime

from harness import Database

# A tick that only expands: nothing is claimed, so no child is started.
NO_HANDLERS = {"JOBRUNNER_IMPORT": None}


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def go_to(database: Database, instant: datetime) -> None:
    """Set jobrunner's clock; it goes on from there."""
    database.set_clock_offset(instant - datetime.now(UTC))


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
