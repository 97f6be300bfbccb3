"""The database stops and comes back during a tick: the tick goes on, and nothing is lost or done twice."""

from collections import Counter

import pytest

from harness import App, Commands, PrivatePostgres, wait_for
from harness.at_work import BEATS
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, statuses, wait_for_exit
from harness.outages import tick_at_work, wait_for_failed_beats


@pytest.mark.promise("P1", "P2", "P14")
def test_a_database_restarted_while_handlers_work(
    private_postgres: PrivatePostgres, private_jobrunner: Commands, app: App
) -> None:
    database = private_postgres.database
    ids = insert_runs(database, 2, "wait_for", {"path": str(app.path("go"))})
    process = tick_at_work(private_jobrunner, app, 2)
    private_postgres.restart()
    beats = "SELECT min(heartbeat_at) > jobrunner_now() - interval '1 second' AS beaten FROM job_runs"
    database.wait_until(beats, describe="beats after the restart")
    (another,) = insert_runs(database, 1)
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs WHERE id = ?", [another])
    app.end(process, "go")
    assert [outcomes(database, run_id) for run_id in [*ids, another]] == [["succeeded"]] * 3
    assert sorted(line.run_id for line in app.trace()) == [*ids, another]
    assert_consistent(database)


@pytest.mark.promise("P1", "P2", "P14")
def test_a_database_restarted_between_many_claims_and_finalizes(
    private_postgres: PrivatePostgres, private_jobrunner: Commands, app: App
) -> None:
    database = private_postgres.database
    ids = insert_runs(database, 300)
    process = private_jobrunner.start("tick", env=BEATS)
    wait_for(lambda: len(app.trace()) > 20, 30, "the first runs")
    private_postgres.restart()
    assert wait_for_exit(process, 0, 60) == ""
    assert statuses(database) == {"succeeded": 300}
    starts = Counter(line.run_id for line in app.trace())
    assert starts == dict.fromkeys(ids, 1)
    assert_consistent(database)


@pytest.mark.promise("P14")
def test_a_finalize_is_tried_again_until_the_database_is_back(
    private_postgres: PrivatePostgres, private_jobrunner: Commands, app: App
) -> None:
    database = private_postgres.database
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    process = tick_at_work(private_jobrunner, app, 1)
    private_postgres.stop()
    app.release("go")
    wait_for_failed_beats(app)
    assert process.poll() is None
    private_postgres.start()
    assert wait_for_exit(process, 0) == ""
    assert outcomes(database, run_id) == ["succeeded"]
    assert len(app.trace()) == 1
    assert_consistent(database)


@pytest.mark.promise("P9", "P14")
def test_a_finalize_is_tried_again_during_shutdown(
    private_postgres: PrivatePostgres, private_jobrunner: Commands, app: App
) -> None:
    """Told to stop while the database is away: what was done is written, what was not is handed back."""
    database = private_postgres.database
    (done,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    (undone,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("never"))})
    process = tick_at_work(private_jobrunner, app, 2, "--grace", "0.5s")
    private_postgres.stop()
    app.release("go")
    wait_for_failed_beats(app)
    process.terminate()
    wait_for(lambda: "stopped" in [line["event"] for line in read_log(app.path("log"))], 20, "the handler's end")
    wait_for_failed_beats(app)
    assert process.poll() is None
    private_postgres.start()
    assert "Traceback" not in process.communicate(timeout=30)[1]
    assert (outcomes(database, done), outcomes(database, undone)) == (["succeeded"], ["released"])
    assert statuses(database) == {"succeeded": 1, "queued": 1}
    assert_consistent(database)
