"""Downgrade: it needs a second option, drops only jobrunner's tables, and can be undone by an upgrade."""

import pytest

from harness import Commands, Database, PostgresDatabase, SQLiteDatabase, postgresql_only, wait_for
from harness.schemas import objects, schema
from harness.waiting import span
from jobrunner.store.schema import metadata
from jobrunner.store.sql.versions import SCHEMA_REVISION, VERSION_TABLE

DOWN = ["downgrade", "0"]
SURE = [*DOWN, "--delete-data"]
WAITING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
APPLICATION = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
    "INSERT INTO alembic_version VALUES ('5b1f7a20c4de')",
    "CREATE TABLE job_offers (id INTEGER PRIMARY KEY, title VARCHAR(50))",
    "INSERT INTO job_offers VALUES (1, 'cook')",
    "CREATE VIEW job_offers_open AS SELECT title FROM job_offers",
)


def rows(database: Database) -> dict[str, list[str]]:
    """Everything that jobrunner keeps."""
    tables = [*metadata.tables, VERSION_TABLE]
    return {name: sorted(map(repr, database.query(f"SELECT * FROM {name}"))) for name in tables}


def fill(jobrunner: Commands) -> None:
    """A row in every table."""
    jobrunner.enqueue("echo", key="once")
    jobrunner("schedule", "add", "daily", "--type", "echo", "--cron", "@daily")
    jobrunner.tick()
    jobrunner.enqueue("echo", run_at="2099-01-01T00:00:00Z")


def test_migration_up_down_and_up_leaves_the_applications_tables_unchanged(
    jobrunner: Commands, database: Database
) -> None:
    before = objects(database)
    for statement in APPLICATION:
        database.execute(statement)
    with_application = objects(database)
    whole = schema(database)
    fill(jobrunner)

    assert jobrunner(*SURE).stdout.endswith(": migrated\n")
    assert objects(database) == with_application - before, "all of jobrunner's is gone, and nothing else"
    assert database.query("SELECT * FROM job_offers") == [{"id": 1, "title": "cook"}]
    assert database.query("SELECT * FROM alembic_version") == [{"version_num": "5b1f7a20c4de"}]
    assert jobrunner(*SURE).stdout.endswith(": up to date\n")
    jobrunner.refused(78, "tick")

    assert jobrunner("migrate").stdout.endswith(": migrated\n")
    assert schema(database) == whole
    assert database.query("SELECT * FROM alembic_version") == [{"version_num": "5b1f7a20c4de"}]
    fill(jobrunner)
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 1
    jobrunner(*SURE)
    assert objects(database) == with_application - before


@postgresql_only
def test_downgrade_does_not_drop_an_application_table_earlier_on_the_search_path(
    jobrunner: Commands, database: Database
) -> None:
    """An unqualified name meant the application's: its table was lost, and ours stayed."""
    before = objects(database)
    jobrunner(*SURE)
    empty = objects(database)
    jobrunner("migrate")
    database.execute("CREATE SCHEMA app")
    for name in ("job_events", "job_runs"):
        database.execute(f"CREATE TABLE app.{name} (id INTEGER)")
    database.execute("CREATE VIEW app.job_due AS SELECT 1 AS one")
    url = f"{database.url}?options=-csearch_path%3Dapp,public"
    jobrunner(*SURE, env={"JOBRUNNER_DATABASE_URL": url})
    left = "SELECT relname FROM pg_class WHERE relnamespace = 'app'::regnamespace ORDER BY relname"
    assert [row["relname"] for row in database.query(left)] == ["job_due", "job_events", "job_runs"]
    assert empty <= before
    database.execute("DROP SCHEMA app CASCADE")
    assert objects(database) == empty


def test_downgrade_is_refused_without_the_option_that_accepts_the_loss(jobrunner: Commands, database: Database) -> None:
    fill(jobrunner)
    before = rows(database)
    jobrunner.refused(2, *DOWN, says=["2 runs", "--delete-data"])
    assert rows(database) == before
    jobrunner.tick()


@pytest.mark.long(sample=0.5)
@pytest.mark.parametrize(
    "words",
    [
        ["downgrade", str(SCHEMA_REVISION + 1), "--delete-data"],
        ["downgrade", "99999999999999999999", "--delete-data"],
        ["downgrade", "--delete-data", "--", "-1"],
        ["downgrade", "base", "--delete-data"],
        ["downgrade", "", "--delete-data"],
        ["downgrade", "--delete-data"],
    ],
    ids=" ".join,
)
def test_unknown_migration_target_is_refused_and_changes_nothing(
    jobrunner: Commands, database: Database, words: list[str]
) -> None:
    jobrunner.enqueue("echo")
    before = rows(database)
    jobrunner.refused(2, *words)
    assert rows(database) == before


def test_downgrade_to_the_present_schema_changes_nothing(jobrunner: Commands, database: Database) -> None:
    fill(jobrunner)
    before = rows(database)
    done = jobrunner("downgrade", SCHEMA_REVISION, "--delete-data")
    assert done.stdout.endswith(": up to date\n")
    assert rows(database) == before


def test_newer_schema_is_not_downgraded_by_older_code(jobrunner: Commands, database: Database) -> None:
    database.execute("UPDATE job_schema_version SET version_num = '9999'")
    before = rows(database)
    jobrunner.refused(78, *SURE, says=["upgrade jobrunner"])
    assert rows(database) == before


def test_foreign_key_to_our_tables_stops_the_downgrade_with_nothing_written(
    jobrunner: Commands, database: Database
) -> None:
    """An application's table that points to runs: an error of the database's in the midst, and all is as it was."""
    fill(jobrunner)
    database.execute("CREATE TABLE mails (run_id BIGINT REFERENCES job_runs (id))")
    database.execute("INSERT INTO mails VALUES (1)")
    before, whole = rows(database), schema(database)
    jobrunner.refused(1, *SURE, says=["refused the migration"])
    assert (rows(database), schema(database)) == (before, whole)
    jobrunner.tick()


def test_downgrade_also_drops_the_rest_of_incomplete_tables(jobrunner: Commands, database: Database) -> None:
    """By hand, say, in a hurry: the way down is the way out."""
    for statement in ("DROP VIEW job_due", "DROP VIEW job_dead", "DROP TABLE job_events"):
        database.execute(statement)
    jobrunner(*SURE)
    assert objects(database) == set()
    jobrunner("migrate")
    fill(jobrunner)


def test_tick_reports_in_one_line_that_its_tables_were_dropped(jobrunner: Commands, database: Database) -> None:
    """Its handler ends with it, its process too; nothing it still wanted to write brings a traceback."""
    jobrunner.enqueue("wait_for", {"path": str(jobrunner.app.path("go"))})
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": span(3)})
    wait_for(jobrunner.app.trace, 30, "the handler is at work")
    jobrunner(*SURE)
    jobrunner.app.release("go")
    stdout, stderr = tick.communicate(timeout=60)
    assert stdout == ""
    assert (tick.returncode, len(stderr.splitlines())) == (78, 1), stderr
    assert "jobrunner migrate" in stderr
    assert objects(database) == set()
    wait_for(lambda: not jobrunner.leftover_processes(), 30, jobrunner.describe_leftovers)


def test_concurrent_upgrades_and_downgrades_end_with_a_complete_or_no_schema(
    jobrunner: Commands, database: Database
) -> None:
    whole, everything = schema(database), objects(database)
    started = [jobrunner.start(*words) for words in (SURE, ["migrate"]) * 3]
    answers = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0] * 6, answers
    assert objects(database) in (set(), everything)
    jobrunner("migrate")
    assert schema(database) == whole
    fill(jobrunner)


@pytest.mark.parametrize("words", [SURE, ["migrate"]], ids=["downgrade", "migrate"])
@postgresql_only
def test_migration_that_waits_for_a_downgrade_does_its_work_when_the_tables_are_gone(
    jobrunner: Commands, database: Database, words: list[str]
) -> None:
    """Between its question whether a table is there and its first look into it, another process drops the table."""
    assert isinstance(database, PostgresDatabase)
    with database.connect() as other:
        other.execute("BEGIN")
        other.execute("SELECT pg_advisory_xact_lock(7206148301)")
        other.execute(f"DROP TABLE {', '.join([*metadata.tables, VERSION_TABLE])} CASCADE")
        waiting = jobrunner.start(*words)
        wait_for(lambda: database.query(WAITING), 30, "it waits for the other transaction")
        other.execute("COMMIT")
    stdout, stderr = waiting.communicate(timeout=60)
    assert (waiting.returncode, stderr) == (0, ""), stdout
    jobrunner("migrate")


def test_downgrade_does_not_create_a_missing_file(jobrunner: Commands, database: Database) -> None:
    if isinstance(database, SQLiteDatabase):
        wrong = database.url.replace("jobrunner.db", "jobruner.db")
        remedy = "there is no database"
    else:
        wrong = database.url + "_not_there"
        remedy = "no database of that name"
    jobrunner.refused(69, *SURE, env={"JOBRUNNER_DATABASE_URL": wrong}, says=[remedy])
    assert [path.name for path in jobrunner.home.parent.glob("*.db")] in (["jobrunner.db"], [])
