"""A backup of one PostgreSQL server, restored into another one by pg_dump and psql."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from harness import Commands, Database, PostgresDatabase, postgresql_only
from harness.binaries import find_binaries
from harness.databases import PrivatePostgres, url
from harness.invariants import insert_runs
from harness.tallying import count_all
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue.ticks import tallies
from jobrunner.store.sql.versions import SCHEMA_REVISION

pytestmark = postgresql_only
BURN = """DO $$ BEGIN FOR number IN 1..{count} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"""

OVERDUE = "SELECT replace(pg_get_viewdef('job_overdue'::regclass), ' WHERE ', ' WHERE id > 0 AND ')"


def transaction_number(database: PostgresDatabase) -> int:
    number: int = database.value("SELECT pg_current_xact_id()::text::bigint")
    return number


def copy_to(source: PostgresDatabase, target: PostgresDatabase) -> None:
    """What an operator does: pg_dump of the one, psql of the other."""
    programs = find_binaries()
    dump = subprocess.run([programs / "pg_dump", "--no-owner", source.url], check=True, capture_output=True).stdout
    command = [programs / "psql", "--quiet", "--set", "ON_ERROR_STOP=1", target.url]
    subprocess.run(command, check=True, input=dump, capture_output=True)


@pytest.fixture
def elsewhere(empty: Database) -> Iterator[PostgresDatabase]:
    """A database without tables on the server of all tests."""
    assert isinstance(empty, PostgresDatabase)
    yield empty
    empty.forget_sessions()


def count_attempts(database: Database) -> None:
    with closing(Store(locate(database.url), patience=timedelta(seconds=20))) as store:
        count_all(database, store)


def uncounted(database: Database) -> int:
    count: int = database.value("SELECT count(*) AS n FROM job_attempts, job_state WHERE job_attempts.id > counted_to")
    return count


def test_attempts_are_counted_and_archived_in_a_server_whose_transaction_numbers_are_lower(
    jobrunner: Commands, database: PostgresDatabase, private_postgres: PrivatePostgres, tmp_path: Path
) -> None:
    """On a server of its own, where no other test writes: archive leaves out what another transaction holds back."""
    elsewhere = private_postgres.database
    ahead = transaction_number(elsewhere) + 2000 - transaction_number(database)
    if ahead > 0:
        database.execute(BURN.format(count=ahead))
    insert_runs(database, 5)
    jobrunner.tick()
    insert_runs(database, 7)
    with psycopg.connect(database.url) as writing:
        writing.execute("SELECT pg_current_xact_id()")
        jobrunner.tick()
    assert uncounted(database) >= 7
    with elsewhere.access.admin(elsewhere.database) as server:
        server.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        server.execute(f"ALTER SCHEMA public OWNER TO {elsewhere.access.role}")
    copy_to(database, elsewhere)
    assert elsewhere.value("SELECT counting_after FROM job_state") > transaction_number(elsewhere) + 1000
    file = tmp_path / "runs.jsonl"
    done = jobrunner("archive", "runs", "--until", "0s", file, env=url(elsewhere))
    assert f"wrote 12 runs to {file}" in done.stdout
    assert len(file.read_text().splitlines()) == 1 + 12
    with closing(Store(locate(elsewhere.url), patience=timedelta(seconds=20))) as store:
        assert sum(each.ends for each in store.read(tallies.totals).values()) == 12


def test_archive_says_how_many_runs_it_left_out_because_they_are_not_counted(
    jobrunner: Commands, database: PostgresDatabase, tmp_path: Path
) -> None:
    insert_runs(database, 5)
    jobrunner.tick()
    count_attempts(database)
    insert_runs(database, 7)
    file = tmp_path / "runs.jsonl"
    with psycopg.connect(database.url) as writing:
        writing.execute("SELECT pg_current_xact_id()")
        jobrunner.tick()
        done = jobrunner("archive", "runs", "--until", "0s", file)
    assert f"wrote 5 runs to {file}\n7 runs are left out: " in done.stdout
    assert database.value("SELECT count(*) FROM job_runs") == 7
    count_attempts(database)
    assert "wrote 7 runs" in jobrunner("archive", "runs", "--until", "0s", tmp_path / "more.jsonl").stdout


def test_views_functions_and_triggers_of_a_restored_database_are_right(
    jobrunner: Commands, database: PostgresDatabase, elsewhere: PostgresDatabase
) -> None:
    """The text in which the server shows a view is another one after it was dumped and created from that text."""

    def schema() -> tuple[str, str]:
        report = jobrunner("doctor", "--json", env=url(elsewhere), check=False).json()
        (found,) = [each for each in report["checks"] if each["name"] == "schema"]
        return found["verdict"], found["found"]

    copy_to(database, elsewhere)
    assert schema() == ("ok", f"version {SCHEMA_REVISION}, complete")
    assert "created again" not in jobrunner("migrate", env=url(elsewhere)).stdout
    # What differs in its meaning is still found, and mended.
    elsewhere.execute("CREATE OR REPLACE VIEW job_overdue AS " + elsewhere.value(OVERDUE))
    elsewhere.execute("ALTER TABLE job_runs DISABLE TRIGGER jobrunner_note_end")
    assert schema() == ("wrong", "missing or different: trigger jobrunner_note_end, view job_overdue")
    assert "created again: jobrunner_note_end, job_overdue" in jobrunner("migrate", env=url(elsewhere)).stdout
    assert schema() == ("ok", f"version {SCHEMA_REVISION}, complete")
