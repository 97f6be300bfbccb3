"""The row of a tick that is not there any more, or that of another tick: as after an asynchronous promotion."""

import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only
from harness.at_work import tick_at_work
from harness.handlers_rows import queue
from harness.invariants import read_log
from harness.listening_ticks import check_left_quietly, linger, log_lines, stop, wait_for_success

CHANGES = {
    "lost": "DELETE FROM job_ticks",
    "of another tick": "UPDATE job_ticks SET worker = 'here:1:other', listening_at = NULL",
}


def others(database: Database) -> list[dict[str, object]]:
    """What stands in the row of the other tick, if there is one."""
    return database.query(
        "SELECT listening_at, finished_at, ended_by FROM job_ticks WHERE worker = 'here:1:other' ORDER BY id"
    )


@postgresql_only
@pytest.mark.parametrize("change", CHANGES)
def test_listening_tick_that_finds_its_row_lost_after_a_promotion_has_a_new_one_and_leaves_that_of_others(
    jobrunner: Commands, database: PostgresDatabase, change: str
) -> None:
    tick = linger(jobrunner)
    database.execute(CHANGES[change])
    before = others(database)
    assert database.cut_connections() >= 1
    worker = "SELECT count(*) FROM job_ticks WHERE worker LIKE ? AND listening_at IS NOT NULL"
    database.wait_until(worker, [f"here:{tick.pid}:%"], describe="its new row")
    wait_for_success(database, queue(database, "append"))
    newer = linger(jobrunner)
    check_left_quietly(tick)
    stop(newer)
    (own,) = database.query("SELECT ended_by, counts FROM job_ticks WHERE worker LIKE ?", [f"here:{tick.pid}:%"])
    assert (own["ended_by"], own["counts"]["succeeded"]) == ("superseded", 1)
    assert others(database) == before
    assert "its row was lost, and it has a new one" in [line["result"] for line in log_lines(jobrunner, "linger")]


@pytest.mark.parametrize("change", CHANGES)
def test_tick_whose_row_is_lost_when_it_ends_says_so_and_does_not_close_that_of_another(
    jobrunner: Commands, app: App, database: Database, change: str
) -> None:
    run_id = queue(database, "wait_for", {"path": str(app.path("go"))})
    tick = tick_at_work(jobrunner, app, JOBRUNNER_LEASE="60s", JOBRUNNER_LOG=str(app.path("log")))
    database.execute(CHANGES[change])
    before = others(database)
    app.release("go")
    check_left_quietly(tick)
    wait_for_success(database, run_id)
    assert others(database) == before
    (line,) = [line for line in read_log(app.path("log")) if line["event"] == "tick row"]
    assert line["result"] == "it is gone, as after a promotion or a restore"
