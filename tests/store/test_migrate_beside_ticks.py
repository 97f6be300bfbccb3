"""What `jobrunner migrate` does beside ticks at work: brief locks, indexes outside of its transaction, and slices."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from harness import Commands, Database, postgresql_only, wait_for
from harness.handlers_rows import queue
from harness.next_version import HELD_UNTIL, NEXT, NextVersion
from harness.schemas import schema
from harness.waiting import span, stretched
from jobrunner.store.drivers import waits
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.upkeep.migrate import Migrated, migrate

_HELD = """
from jobrunner.store.schema.base import partial, text

partial("job_runs_held", job_runs.c.held_until, where=text("held_until IS NOT NULL"))
"""
INDEX = {
    **HELD_UNTIL,
    "jobrunner/store/schema/__init__.py": (
        "for _table in metadata",
        f"{_HELD}for _table in metadata",
    ),
}
COUNT = 25


@contextmanager
def holding(database: Database, statement: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(database.url) as connection:
        connection.execute(statement)
        yield connection


@postgresql_only
def test_migration_that_waits_for_a_table_lets_ticks_claim_meanwhile_and_is_done_when_the_table_is_free(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    next_version = NextVersion(tmp_path, jobrunner, HELD_UNTIL)
    with holding(database, "SELECT count(*) FROM job_runs") as other:
        migrating = next_version.start("migrate", JOBRUNNER_PATIENCE="5m")
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
        wait_for(lambda: database.value(waiting), describe="the migration waits")
        run_id = jobrunner.enqueue("echo")
        jobrunner.tick()
        assert database.value("SELECT status FROM job_runs WHERE id = ?", [run_id]) == "succeeded"
        assert migrating.poll() is None
        other.rollback()
        said, _ = migrating.communicate(timeout=60)
    assert said.endswith(": migrated\n")


@postgresql_only
def test_migration_that_never_gets_its_lock_names_who_holds_it_and_changes_nothing(
    jobrunner: Commands, database: Database
) -> None:
    database.execute("DROP VIEW job_due")
    before = schema(database)
    with holding(database, "LOCK TABLE job_runs IN ACCESS EXCLUSIVE MODE") as other:
        began_at = time.monotonic()
        said = jobrunner.refused(69, "migrate", env={"JOBRUNNER_PATIENCE": span(2)})
        assert time.monotonic() - began_at < stretched(30)
        assert f"session {other.info.backend_pid} of the role" in said
    assert schema(database) == before


@postgresql_only
def test_index_is_made_beside_writers_and_one_that_a_crash_left_half_made_is_made_again(
    jobrunner: Commands, database: Database
) -> None:
    whole = schema(database)
    database.execute("DROP INDEX job_runs_due")
    with holding(database, "UPDATE job_state SET pruned_at = pruned_at"):
        # A writer of the table: the index waits for its end, and keeps nobody else from writing.
        writer = psycopg.connect(database.url)
        writer.execute("UPDATE job_runs SET updated_at = updated_at")
        migrating = jobrunner.start("migrate")
        building = "SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE NOT indisvalid"
        wait_for(lambda: database.value(building), describe="the index is begun")
        run_id = queue(database, "echo")
        assert database.value("SELECT status FROM job_runs WHERE id = ?", [run_id]) == "queued"
        migrating.kill()
        migrating.wait()
        writer.close()
    ended = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONC%' AND state = 'active'"
    wait_for(lambda: database.value(ended) == 0, describe="the server has noticed the end of the client")
    found = jobrunner("doctor", "--no-crontab", check=False).stdout
    assert ("missing or different: index job_runs_due" in found) == (database.value(building) == 1)
    assert jobrunner("migrate").stdout.endswith((": created again: job_runs_due\n", ": up to date\n"))
    assert schema(database) == whole


@postgresql_only
def test_index_that_takes_longer_than_a_transaction_may_stand_still_is_made_with_other_migrations_kept_out(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction that keeps them out has nothing to do meanwhile, and the server would end it."""
    limit = stretched(1)
    monkeypatch.setattr(waits, "_LONGEST_PAUSE_SECONDS", limit)
    database.execute("DROP INDEX job_runs_due")
    made: list[Migrated] = []
    migrating = threading.Thread(target=lambda: made.append(migrate(store)))
    building = "SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE NOT indisvalid"
    idle = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'jobrunner'"
        " AND state = 'idle in transaction'"
    )
    with holding(database, "UPDATE job_runs SET updated_at = updated_at"):
        migrating.start()
        wait_for(lambda: database.value(building), describe="the index is begun")
        recently = f"{idle} AND state_change > clock_timestamp() - {1.5 * limit} * interval '1 second'"
        wait_for(lambda: database.value(recently) == 0, describe="a transaction has stood still, or was ended")
        left = database.value(idle)
    migrating.join(stretched(20))
    assert left == 1
    assert [each.again for each in made] == [["job_runs_due"]]


def test_rows_are_changed_in_slices_after_the_migration_and_the_next_one_finishes_what_was_begun(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    next_version = NextVersion(tmp_path, jobrunner, INDEX, has_slices=True)
    for _ in range(COUNT):
        queue(database, "echo")
    # The second slice ends in an error: the rows of the first one stay changed.
    database.execute(f"UPDATE job_runs SET run_at = ? WHERE id = {COUNT}", [database.now().replace(year=2050)])
    refuse(database)
    next_version.refused(1, "migrate")
    state = "SELECT unfinished FROM job_state"
    assert (database.value(state), database.value("SELECT version_num FROM job_schema_version")) == (f"{NEXT:04}",) * 2
    assert database.value("SELECT count(*) FROM job_runs WHERE held_until IS NOT NULL") == 20
    # The old program works meanwhile.
    jobrunner("enqueue", "echo")
    for statement in accepting(database):
        database.execute(statement)
    assert next_version("migrate").endswith(": finished the migration that was begun\n")
    assert database.value(state) is None
    assert database.value("SELECT count(*) FROM job_runs WHERE held_until IS NULL") == 0
    assert next_version("migrate").endswith(": up to date\n")
    names = "SELECT relname FROM pg_class" if database.name == "postgresql" else "SELECT name FROM sqlite_master"
    assert "job_runs_held" in [next(iter(row.values())) for row in database.query(names)]


def refuse(database: Database) -> None:
    """The application's own trigger refuses the change of the last run."""
    if database.name == "sqlite":
        database.execute(
            f"CREATE TRIGGER theirs BEFORE UPDATE ON job_runs WHEN NEW.id = {COUNT}"
            " BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        return
    body = f"BEGIN IF NEW.id = {COUNT} THEN RAISE 'no'; END IF; RETURN NEW; END"
    database.execute(f"CREATE FUNCTION theirs() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
    database.execute("CREATE TRIGGER theirs BEFORE UPDATE ON job_runs FOR EACH ROW EXECUTE FUNCTION theirs()")


def accepting(database: Database) -> list[str]:
    return ["DROP TRIGGER theirs"] if database.name == "sqlite" else ["DROP FUNCTION theirs CASCADE"]
