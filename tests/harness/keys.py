"""Keyed enqueues, each in a transaction of its own, and what is stored of the keys and of the scopes of types."""

from typing import Any

import jobrunner
from harness.database import Database
from jobrunner import Entry


def scope(database: Database, job_type: str, key_scope: str, key_window: float | None = None) -> None:
    """As a tick or an enqueue writes it that knows the type's code."""
    database.execute(
        "INSERT INTO job_types (job_type, when_full, key_scope, key_window, updated_at) VALUES (?, 'refuse', ?, ?, ?)",
        [job_type, key_scope, key_window, database.now()],
    )


def stored_scopes(database: Database) -> dict[str, tuple[str, float | None]]:
    rows = database.query("SELECT job_type, key_scope, key_window FROM job_types")
    return {row["job_type"]: (row["key_scope"], row["key_window"]) for row in rows}


def end(database: Database, status: str = "succeeded") -> None:
    database.execute("UPDATE job_runs SET status = ?, finished_at = ?", [status, database.now()])


def prune(database: Database) -> None:
    database.execute("DELETE FROM job_runs")


def runs(database: Database) -> list[dict[str, Any]]:
    return database.query("SELECT * FROM job_runs ORDER BY id")


def one(connection: Any, job_type: str = "sync", key: str = "k", **options: Any) -> Any:
    try:
        return jobrunner.enqueue(connection, job_type, options.pop("payload", {}), key=key, **options)
    finally:
        connection.commit()


def listed(connection: Any, job_type: str = "sync", key: str = "k", **options: Any) -> Any:
    entries = [Entry(options.pop("payload", {}), key=key), Entry({}, key=f"{key} beside it")]
    try:
        return jobrunner.enqueue_many(connection, job_type, entries, **options)[0]
    finally:
        connection.commit()


WAYS = [one, listed]
