"""A further migration, as CONTRIBUTING says it is written: in a copy of the code, on old and new databases."""

import json
from pathlib import Path

import pytest

from harness import Commands, Database, postgresql_only
from harness.calls import WITH_A_SCHEMA
from harness.long import leaves_nothing_out
from harness.next_version import HELD_UNTIL, NEXT, NextVersion
from harness.schemas import schema
from jobrunner.store.sql.versions import OLDEST_CODE_OF, SCHEMA_REVISION

VERSION = "SELECT version_num FROM job_schema_version"


@pytest.fixture
def next_version(tmp_path: Path, database: Database, jobrunner: Commands) -> NextVersion:
    return NextVersion(tmp_path, jobrunner, HELD_UNTIL)


def test_second_migration_changes_a_condition_of_the_claim_on_an_old_and_on_a_new_database(
    database: Database, jobrunner: Commands, next_version: NextVersion
) -> None:
    run_id = jobrunner.enqueue("echo", {})
    assert next_version("migrate").endswith(": migrated\n")
    assert database.query("SELECT id FROM job_claimable") == [{"id": run_id}]
    database.execute("UPDATE job_runs SET held_until = ?", [database.now().replace(year=2100)])
    assert database.query("SELECT id FROM job_claimable") == []
    assert next_version("migrate").endswith(": up to date\n")
    next_version("downgrade", "0", "--delete-data")
    assert next_version("migrate").endswith(": migrated\n")
    assert database.query("SELECT held_until FROM job_runs") == []


def test_older_program_works_on_a_newer_schema_that_fits_it_and_leaves_all_of_it_as_it_is(
    database: Database, jobrunner: Commands, next_version: NextVersion
) -> None:
    kept = jobrunner.enqueue("echo", run_at="2099-01-01T00:00Z")
    next_version("migrate")
    whole = schema(database)
    database.execute("UPDATE job_runs SET held_until = run_at")
    jobrunner.enqueue("echo")
    # The second one finds nothing due, and asks in one statement.
    for _ in range(2):
        jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 1
    assert f"schema {NEXT} is newer than this jobrunner's {SCHEMA_REVISION}, and fits" in jobrunner("migrate").stdout
    for words in WITH_A_SCHEMA if leaves_nothing_out() else WITH_A_SCHEMA[4::8]:
        said = jobrunner(*words, check=False).stderr
        assert ("schema" in said, "no such column" in said) == (False, False), (words, said)
    checks = json.loads(jobrunner("doctor", "--no-crontab", "--json", check=False).stdout)["checks"]
    (check,) = (each for each in checks if each["name"] == "schema")
    assert (check["verdict"], f"version {NEXT}" in check["found"]) == ("ok", True), check
    for version in (0, 1):
        assert "upgrade jobrunner" in jobrunner.refused(78, "downgrade", version, "--delete-data")
    assert (schema(database), database.value(VERSION)) == (whole, f"{NEXT:04}")
    assert database.value("SELECT held_until FROM job_runs WHERE id = ?", [kept]) is not None
    # Without its version, the schema is known by its columns. The old program writes no version into it.
    database.execute("DELETE FROM job_schema_version")
    assert "held_until" in jobrunner.refused(78, "migrate")
    assert (schema(database), database.query(VERSION)) == (whole, [])


def test_newer_program_says_in_one_line_that_an_older_schema_is_to_be_migrated(
    database: Database, jobrunner: Commands, next_version: NextVersion
) -> None:
    whole = schema(database)
    commands = (["tick"], ["status"], ["enqueue", "echo", "--allow-unknown"], ["health"], ["retry", "1"])
    said = {next_version.refused(78, *words) for words in commands}
    assert len(said) == 1
    assert "run: jobrunner migrate" in said.pop()
    assert schema(database) == whole


def test_older_program_works_again_after_a_downgrade_by_the_newer_one(
    database: Database, jobrunner: Commands, next_version: NextVersion
) -> None:
    columns = "SELECT * FROM job_state"
    before = [*database.query(columns)[0]]
    next_version("migrate")
    jobrunner.enqueue("echo")
    assert next_version("downgrade", str(SCHEMA_REVISION), "--delete-data").endswith(": migrated\n")
    assert database.value(VERSION) == f"{SCHEMA_REVISION:04}"
    assert [*database.query(columns)[0]] == before
    jobrunner.tick()
    assert database.value("SELECT status FROM job_runs") == "succeeded"
    assert jobrunner("migrate").stdout.endswith((": up to date\n", ": created again: job_claimable\n"))
    assert next_version("migrate").endswith(": migrated\n")


def test_migration_that_takes_away_what_old_code_uses_stops_that_code_until_a_downgrade(
    database: Database, jobrunner: Commands, tmp_path: Path
) -> None:
    contracting = NextVersion(tmp_path, jobrunner, HELD_UNTIL, oldest_code=NEXT)
    run_id = jobrunner.enqueue("echo")
    contracting("migrate")
    said = {jobrunner.refused(78, *words) for words in (["tick"], ["status"], ["enqueue", "echo"], ["migrate"])}
    assert [each.rpartition("; ")[2] for each in said] == ["upgrade jobrunner\n"]
    assert database.value("SELECT attempts FROM job_runs WHERE id = ?", [run_id]) == 0
    contracting("downgrade", str(SCHEMA_REVISION), "--delete-data")
    assert database.value("SELECT oldest_code FROM job_state") == OLDEST_CODE_OF[SCHEMA_REVISION]
    jobrunner.tick()
    assert database.value("SELECT status FROM job_runs") == "succeeded"


@postgresql_only
def test_rights_on_a_view_outlive_a_migration_that_makes_the_view_again(
    database: Database, next_version: NextVersion
) -> None:
    database.execute("GRANT SELECT ON job_dead TO pg_monitor WITH GRANT OPTION")
    database.execute("GRANT SELECT ON job_claimable TO PUBLIC")
    rights = "SELECT relname AS name, relacl::text AS rights FROM pg_class WHERE relkind = 'v' ORDER BY relname"
    before = database.query(rights)
    next_version("migrate")
    assert database.query(rights) == before


def test_downgrade_to_a_schema_whose_views_are_not_known_says_which_program_makes_them(
    database: Database, jobrunner: Commands, next_version: NextVersion
) -> None:
    next_version("downgrade", "0", "--delete-data")
    next_version("migrate")
    said = next_version("downgrade", str(SCHEMA_REVISION), "--delete-data")
    assert f"run jobrunner migrate of the version with schema {SCHEMA_REVISION}\n" in said
    assert "run: jobrunner migrate" in jobrunner.refused(78, "tick", says=["no jobrunner tables"])
    assert "job_claimable" in jobrunner("migrate").stdout
    jobrunner.enqueue("echo")
    jobrunner.tick()
    assert database.value("SELECT status FROM job_runs") == "succeeded"
