"""Hosts, ticks and clocks as an operator finds them, made by inserts."""

from datetime import timedelta

from harness.database import Database

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def insert_ticks(
    database: Database, host: str, ago: timedelta = timedelta(0), count: int = 3, **columns: object
) -> None:
    """Ticks of a host, a minute apart, the last of them so long ago."""
    for number in reversed(range(count)):
        at = database.now() - ago - number * MINUTE
        row: dict[str, object] = {"host": host, "worker": f"{host}:{number}:a", "version": "1", "started_at": at}
        row |= {"finished_at": at, "counts": {}} | columns
        marks = ", ".join("?" * len(row))
        database.execute(f"INSERT INTO job_ticks ({', '.join(row)}) VALUES ({marks})", row.values())
