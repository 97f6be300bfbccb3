"""The database stops and comes back during a tick: the tick goes on, and nothing is lost or done twice."""

import contextlib
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest

from harness import App, Commands, Database, PrivatePostgres, SQLiteDatabase, postgresql_only, sqlite_only, wait_for
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, statuses, wait_for_exit
from harness.obstacles import REFUSE
from harness.processes import is_working

STUBBORN = '''
@job("stubborn")
def stubborn(ctx: Context):
    """Cannot be talked out of its work."""
    leave_trace(ctx)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
'''

# Longer than a restart takes on a loaded machine; the beats are frequent.
LEASE = {"JOBRUNNER_LEASE": "30s", "JOBRUNNER_HEARTBEAT": "0.3s"}


def tick_at_work(jobrunner: Commands, app: App, runs: int, *args: str) -> "subprocess.Popen[str]":
    process = jobrunner.start("tick", *args, env=LEASE | {"JOBRUNNER_LOG": str(app.path("log"))})
    wait_for(lambda: len(app.trace()) == runs, 30, "the handlers")
    return process


def failed_beats(app: App) -> int:
    return sum(line["event"] == "heartbeat" for line in read_log(app.path("log")))


def wait_for_failed_beats(app: App) -> None:
    """The tick has noticed that the database is away, and more than once."""
    before = failed_beats(app)
    wait_for(lambda: failed_beats(app) >= before + 3, 20, "failing beats")


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
    app.release("go")
    assert wait_for_exit(process, 0) == ""
    assert [outcomes(database, run_id) for run_id in [*ids, another]] == [["succeeded"]] * 3
    assert sorted(line.run_id for line in app.trace()) == [*ids, another]
    assert_consistent(database)


@pytest.mark.promise("P1", "P2", "P14")
def test_a_database_restarted_between_many_claims_and_finalizes(
    private_postgres: PrivatePostgres, private_jobrunner: Commands, app: App
) -> None:
    database = private_postgres.database
    ids = insert_runs(database, 300)
    process = private_jobrunner.start("tick", env=LEASE)
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
    tick = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "2s", "JOBRUNNER_LOG": str(log)})
    told = wait_for_exit(tick, 69)
    assert re.fullmatch(r"jobrunner: cannot use the database [^\n]* the disk is full or failing\n", told)
    # Renewed for one lease after its end, and over after another.
    (run,) = database.query("SELECT status, claimed_at, locked_until FROM job_runs WHERE id = ?", [run_id])
    assert run["status"] == "running"
    assert timedelta(seconds=2) < run["locked_until"] - run["claimed_at"] < timedelta(seconds=10)
    events = [line["event"] for line in read_log(log)]
    assert (events.count("finalize"), events.count("not finalized")) == (1, 1)


@contextlib.contextmanager
def write_lock(database: SQLiteDatabase) -> Iterator[None]:
    """Another process writes meanwhile, and is slow about it."""
    with contextlib.closing(database.connect()) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


@pytest.mark.promise("P1", "P2", "P14", on="sqlite")
@sqlite_only
@pytest.mark.parametrize("lease", ["4s", "30s"])
def test_held_write_lock_delays_runs_and_loses_none(
    jobrunner: Commands, app: App, database: SQLiteDatabase, lease: str
) -> None:
    """While a tick begins, while it beats and claims, and while it finalizes: longer than a call may hang."""
    (first,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    with write_lock(database):
        process = jobrunner.start("tick", env={"JOBRUNNER_LEASE": lease})
        time.sleep(1.5)
        assert process.poll() is None, process.communicate()
    wait_for(app.trace, 30, "the handler")
    (second,) = insert_runs(database, 1)
    with write_lock(database):
        time.sleep(1.5)
    database.wait_until("SELECT status = 'succeeded' AS done FROM job_runs WHERE id = ?", [second], 30)
    with write_lock(database):
        app.release("go")
        time.sleep(1.5)
        assert process.poll() is None, process.communicate()
    assert wait_for_exit(process, 0) == ""
    assert [outcomes(database, run_id) for run_id in (first, second)] == [["succeeded"]] * 2
    assert len(app.trace()) == 2
    assert_consistent(database)


@pytest.mark.promise("P2", "P6", on="sqlite")
@sqlite_only
def test_a_write_lock_held_beyond_the_lease_ends_the_handler_before_it(
    jobrunner: Commands, app: App, database: SQLiteDatabase
) -> None:
    app.add(STUBBORN)
    (run_id,) = insert_runs(database, 1, "stubborn")
    process = jobrunner.start("tick", env={"JOBRUNNER_LEASE": "4s"})
    wait_for(app.trace, 30, "the handler")
    (handler,) = [line.pid for line in app.trace()]
    with write_lock(database):
        wait_for(lambda: not is_working(handler), 20, "the end of the handler")
        assert database.now() < database.value("SELECT locked_until FROM job_runs")
        assert re.fullmatch(r"jobrunner: [^\n]*another process holds its lock\n", wait_for_exit(process, 69, 60))
    assert outcomes(database, run_id) == []
    database.move_clock(timedelta(hours=1))
    jobrunner.tick()
    assert outcomes(database, run_id) == ["lease_expired"]
    assert_consistent(database)


@pytest.mark.promise("P1", "P2", "P14", on="postgresql")
@postgresql_only
def test_cut_connections_delay_runs_and_lose_none(jobrunner: Commands, app: App, database: Database) -> None:
    """As a pooler or a firewall would: again and again, while a tick claims, beats and finalizes."""
    ids = insert_runs(database, 100)
    process = jobrunner.start("tick", env=LEASE)
    for enough in (10, 30, 60):
        wait_for(lambda enough=enough: len(app.trace()) > enough, 30, "some runs")
        database.cut_connections()
    assert wait_for_exit(process, 0, 60) == ""
    assert Counter(line.run_id for line in app.trace()) == dict.fromkeys(ids, 1)
    assert statuses(database) == {"succeeded": 100}
    assert_consistent(database)
