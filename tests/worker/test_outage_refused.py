"""Results that the database refuses: written cleaned, or given up in time, and never in the way of their neighbours."""

import re
from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, statuses, wait_for_exit
from harness.obstacles import REFUSE
from harness.outages import tick_at_work
from harness.waiting import stretched


@pytest.mark.promise("P14")
def test_result_that_the_database_refuses_is_written_cleaned(jobrunner: Commands, app: App, database: Database) -> None:
    ids = [insert_runs(database, 1, "fail", {"message": word})[0] for word in ("before", "poison", "after")]
    database.execute(REFUSE[database.name].format(condition="NEW.error LIKE '%poison%'"))
    log = app.path("log")
    assert jobrunner.tick(env={"JOBRUNNER_LOG": str(log)}).stderr == ""
    rows = {row["run_id"]: row for row in database.query("SELECT * FROM job_attempts")}
    assert [rows[run_id]["outcome"] for run_id in ids] == ["failed"] * 3
    assert [rows[run_id]["error"] for run_id in (ids[0], ids[2])] == ["before", "after"]
    poison = rows[ids[1]]
    assert (poison["error_type"], poison["traceback"]) == ("unstorable", None)
    assert "poison" not in poison["error"]
    assert statuses(database) == {"failed": 3}
    assert [line["run_id"] for line in read_log(log) if line["event"] == "scrubbed"] == [ids[1]]
    assert_consistent(database)


@pytest.mark.promise("P14")
def test_result_that_cannot_be_written_does_not_hold_back_its_neighbours(
    jobrunner: Commands, app: App, database: Database
) -> None:
    first, refused, last = (insert_runs(database, 1)[0] for _ in range(3))
    database.execute(REFUSE[database.name].format(condition=f"NEW.run_id = {refused}"))
    assert "Traceback" not in jobrunner.tick(check=False).stderr
    assert [outcomes(database, run_id) for run_id in (first, refused, last)] == [["succeeded"], [], ["succeeded"]]
    assert database.value("SELECT status FROM job_runs WHERE id = ?", [refused]) == "running"
    # Nor does its recovery: it stays as it is until a person has looked.
    insert_runs(database, 1, "wait_for", {"path": str(app.path("never"))})
    process = tick_at_work(jobrunner, app, 4)
    process.kill()
    database.move_clock(timedelta(hours=1))
    assert "Traceback" not in jobrunner.tick(check=False).stderr
    assert statuses(database) == {"succeeded": 2, "running": 1, "failed": 1}


FULL = {
    "sqlite": """
        CREATE TRIGGER refuse BEFORE INSERT ON job_attempts BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END
    """,
    "postgresql": """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON job_attempts FOR EACH ROW EXECUTE FUNCTION refuse()
    """,
}


@pytest.mark.promise("P6", "P9", "P14")
def test_result_refused_for_good_blocks_its_run_and_tick_only_for_a_limited_time(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """A disk on which there is room for a beat, and none for an attempt; or a right that was not granted."""
    (run_id,) = insert_runs(database, 1)
    database.execute(FULL[database.name])
    log = app.path("log")
    lease = timedelta(seconds=stretched(2))
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": f"{lease.total_seconds()}s", "JOBRUNNER_LOG": str(log)})
    told = wait_for_exit(tick, 69, 3 * lease.total_seconds() + 30)
    assert re.fullmatch(
        r"jobrunner: cannot use the database [^\n]* the disk is full or failing; free space on the disk of [^\n]*\n",
        told,
    )
    # Renewed for one lease after its end, and over after another.
    (run,) = database.query("SELECT status, claimed_at, locked_until FROM job_runs WHERE id = ?", [run_id])
    assert run["status"] == "running"
    assert lease < run["locked_until"] - run["claimed_at"] < 5 * lease
    events = [line["event"] for line in read_log(log)]
    assert (events.count("finalize"), events.count("not finalized")) == (1, 1)
