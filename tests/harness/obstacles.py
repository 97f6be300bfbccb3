"""Obstacles to a write: a COMMIT that hangs, a row that the database refuses."""

import contextlib
from collections.abc import Iterator

from harness import PostgresDatabase

LOCK = 77
# A COMMIT that waits for the test: its answer is lost when the tick cuts the call, and it is applied all the same.
WAITING_COMMIT = """
CREATE FUNCTION wait_for_the_test() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    BEGIN
      -- No wait for a lock, and deaf to a cancel request, as a disk that stands still is.
      EXIT WHEN pg_try_advisory_xact_lock_shared({lock});
      PERFORM pg_sleep(0.05);
    EXCEPTION WHEN query_canceled THEN NULL;
    END;
  END LOOP;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER wait_for_the_test AFTER UPDATE ON job_runs DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION wait_for_the_test()
"""

# By the name of the database: a row of the trail to which the condition applies is refused.
REFUSE = {
    "sqlite": """
        CREATE TRIGGER refuse BEFORE INSERT ON job_attempts WHEN {condition}
        BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END
    """,
    "postgresql": """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'refused by a trigger'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON job_attempts
        FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION refuse()
    """,
}


@contextlib.contextmanager
def commits_wait(database: PostgresDatabase, condition: str) -> Iterator[None]:
    """While the block runs, a COMMIT hangs that follows an UPDATE of job_runs to which the condition applies."""
    database.execute(WAITING_COMMIT.format(lock=LOCK, condition=condition))
    with contextlib.closing(database.connect()) as holder:
        holder.execute(f"SELECT pg_advisory_lock({LOCK})")
        yield


def sessions(database: PostgresDatabase, condition: str) -> list[int]:
    """The server processes of jobrunner's connections, the oldest first: that of the main thread."""
    rows = database.query(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'jobrunner'"
        f" AND {condition} ORDER BY backend_start"
    )
    return [row["pid"] for row in rows]
