"""All instants come from the database: a host with a wrong clock changes nothing, a clock step loses nothing."""

import time
from datetime import UTC, datetime, timedelta
from textwrap import dedent

import pytest

from harness import App, Commands, Database, SQLiteDatabase, sqlite_only
from harness.at_work import BEATS, tick_at_work
from harness.invariants import assert_consistent, insert_runs, outcomes, read_log, statuses
from harness.processes import is_working

HOUR = timedelta(hours=1)


@pytest.mark.promise("P10", "P1", on="sqlite")
@sqlite_only
@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forward", "back"])
def test_a_clock_that_steps_during_a_tick_loses_nothing(
    jobrunner: Commands, app: App, database: SQLiteDatabase, jump: timedelta
) -> None:
    """The next beat puts the lease right; durations are not the database clock's."""
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    process = tick_at_work(jobrunner, app, **BEATS)
    for offset in (jump, timedelta(0)):
        database.set_clock_offset(offset)
        database.wait_until(
            "SELECT abs(heartbeat_at - ?) < 5000000 AS beaten FROM job_runs", [database.now()], describe="a beat"
        )
        assert jobrunner.tick().stderr == ""
        assert outcomes(database, run_id) == []
    app.end(process, "go")
    assert outcomes(database, run_id) == ["succeeded"]
    assert len(app.trace()) == 1
    assert_consistent(database)


@pytest.mark.promise("P10", "P1", "P2", on="sqlite")
@sqlite_only
@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forward", "back"])
def test_a_run_recovered_because_the_clock_stepped_is_done_once_more(
    jobrunner: Commands, app: App, database: SQLiteDatabase, jump: timedelta
) -> None:
    """Between the step and the next beat another tick takes the lease for expired: it stops the old handler first.

    Either of the two ends the attempt: the owner that sees its handler die, or who recovers. Never both.
    """
    (run_id,) = insert_runs(database, 1, "wait_for", {"path": str(app.path("go"))})
    process = tick_at_work(jobrunner, app, JOBRUNNER_LEASE="60s")
    database.set_clock_offset(jump)
    jobrunner.tick()
    assert not is_working(app.trace()[0].pid)
    app.end(process, "go")
    (ended,) = outcomes(database, run_id)
    assert ended in ("lease_expired", "crashed")
    database.set_clock_offset(2 * HOUR)
    jobrunner.tick()
    assert outcomes(database, run_id) == [ended, "succeeded"]
    assert_consistent(database)


AN_HOUR_OFF = '''
    """Every Python process of this host believes that it is an hour later."""
    import datetime
    import time

    real, real_time, real_time_ns = datetime.datetime, time.time, time.time_ns
    time.time = lambda: real_time() + 3600
    time.time_ns = lambda: real_time_ns() + 3600 * 10**9


    class Kind(type(real)):
        def __instancecheck__(cls, value):
            return isinstance(value, real)


    class Late(real, metaclass=Kind):
        @classmethod
        def now(cls, tz=None):
            return real.now(tz) + datetime.timedelta(hours=1)

        @classmethod
        def utcnow(cls):
            return real.utcnow() + datetime.timedelta(hours=1)


    # It keeps its own name: under that of the real class psycopg would take it for that one, and dates for instants.
    Late.__module__ = "datetime"
    datetime.datetime = Late
'''


@pytest.mark.promise("P10")
def test_instants_of_a_host_with_a_wrong_clock_never_reach_the_database(
    jobrunner: Commands, app: App, database: Database
) -> None:
    (app.folder / "sitecustomize.py").write_text(dedent(AN_HOUR_OFF))
    app.add('@job("clock")\ndef clock(ctx: Context):\n    return time.time()')
    log = app.path("log")
    off = {"PYTHONPATH": str(app.folder), "JOBRUNNER_LOG": str(log), **BEATS}
    before = datetime.now(UTC)
    off_ids = [
        int(jobrunner("enqueue", job_type, *more, env=off).stdout)
        for job_type, *more in (("clock",), ("fail",), ("sleep", "--payload", '{"seconds": 0.7}'), ("echo",))
    ]
    later = int(jobrunner("enqueue", "echo", "--run-at", "+5m", env=off).stdout)
    jobrunner("cancel", off_ids.pop(), env=off)
    jobrunner("schedule", "add", "hourly", "--type", "echo", "--cron", "@hourly", env=off)
    jobrunner.tick(env=off)
    after = datetime.now(UTC)
    (run,) = database.query("SELECT * FROM job_runs WHERE id = ?", [off_ids[0]])
    # The trick works: the handler and the log are an hour late.
    assert float(run["result"]) > time.time() + 3000
    assert datetime.fromisoformat(read_log(log)[0]["at"]) > after + timedelta(minutes=50)
    near = [
        (f"{table}.{name}", value)
        for table in ("job_runs", "job_attempts", "job_ticks", "job_events", "job_definitions")
        for row in database.query(f"SELECT * FROM {table}")
        for name, value in row.items()
        if isinstance(value, datetime) and row["id"] != later and name not in ("run_at", "turn_at", "next_run_at")
    ]
    slack = timedelta(seconds=5)
    assert [name for name, value in near if not before - slack <= value <= after + slack] == []
    assert len({name for name, _ in near}) > 12
    run_at = database.value("SELECT run_at FROM job_runs WHERE id = ?", [later])
    assert before <= run_at - timedelta(minutes=5) + slack
    assert run_at - timedelta(minutes=5) <= after + slack
    assert statuses(database) == {"succeeded": 2, "failed": 1, "queued": 1, "cancelled": 1}
    assert before <= database.value("SELECT next_run_at FROM job_definitions") <= after + HOUR
    # And back: to a tick on time nothing is overdue, nothing has expired.
    jobrunner.tick()
    assert statuses(database) == {"succeeded": 2, "failed": 1, "queued": 1, "cancelled": 1}
    assert_consistent(database)
