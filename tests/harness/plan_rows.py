"""Rows of a long history that a call can be made for."""

from jobrunner.store.drivers.connection import Connection


def dead_run(connection: Connection) -> int:
    return _first(connection, "status = 'dead' AND finished_at IS NOT NULL ORDER BY finished_at")


def waiting_run(connection: Connection) -> int:
    return _first(
        connection, "status IN ('queued', 'failed') AND job_type = 'known' AND gate = '' ORDER BY turn_at, run_at"
    )


def inserted_run(connection: Connection) -> int:
    """One that counts as inserted by this transaction."""
    found = waiting_run(connection)
    connection.execute(f"UPDATE job_runs SET updated_at = updated_at WHERE id = {found}")
    return found


def _first(connection: Connection, condition: str) -> int:
    found = connection.execute(f"SELECT id FROM job_runs WHERE {condition} LIMIT 1").scalar_one_or_none()
    return found or 0


def expandable(connection: Connection, limit: int) -> list[int]:
    return connection.execute(f"SELECT id FROM job_expandable ORDER BY next_run_at, id LIMIT {limit}").scalars()


def definition(connection: Connection) -> int:
    return expandable(connection, 1)[0]
