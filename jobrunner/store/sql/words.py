"""The words of SQL in which the databases differ, for what SQLAlchemy does not compile: the idle tick, migrations."""

from __future__ import annotations

from jobrunner.store.sql.namespace import qualifier

# julianday() is a double whose last bits are worth some 40 microseconds, so it is rounded to milliseconds.
SQLITE_NOW = (
    "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000"
    " + (SELECT clock_offset FROM job_state))"
)
SQLITE_WORDS = {"schema": "", "now": SQLITE_NOW, "ten_minutes": "600000000", "given": "?", "promoted": "NULL"}


def postgresql_words(schema: str | None) -> dict[str, str]:
    """The words of PostgreSQL. ``schema`` stands before each name of ours."""
    before = qualifier(schema)
    return {
        "schema": before,
        "now": f"{before}jobrunner_now()",
        "ten_minutes": "interval '10 minutes'",
        "given": "%s",
        "promoted": f"{before}jobrunner_promoted()",
    }
