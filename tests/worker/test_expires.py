"""Runs that expire: enqueued with `expires`, they have the start deadline that runs of schedules have."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import jobrunner as library
from harness import App, Commands, Database, PostgresDatabase, postgresql_only
from harness.at_work import end_attempt
from harness.keys import WAYS, one, runs
from harness.plan_calls import request
from harness.statements import before_commits
from harness.stores import opening
from jobrunner import Entry
from jobrunner.errors import UsageError
from jobrunner.lifecycle import AttemptResult, Outcome
from jobrunner.model import Policy
from jobrunner.store.queue import claims, deadlines

MINUTE = timedelta(minutes=1)
AT = datetime(2031, 5, 1, 12, 30, 0, 250_000, tzinfo=UTC)


def spans(database: Database) -> list[timedelta | None]:
    """How long after its time each run expires."""
    ends = [(row["start_deadline_at"], row["run_at"]) for row in runs(database)]
    return [None if end is None else end - run_at for end, run_at in ends]


def test_time_in_which_a_run_may_begin_counts_from_its_run_at_however_it_is_enqueued(
    database: Database, connection: Any
) -> None:
    """It counts from the enqueue, or by the clock of the host: a run for tonight is dead before it is due."""
    for run_at in (None, AT, timedelta(hours=1), timedelta(hours=-1) + database.now()):
        library.enqueue(connection, "sync", {}, run_at=run_at, expires="90s")
        library.enqueue(connection, "sync", {}, run_at=run_at, expires=timedelta(milliseconds=1500))
    entries = [{}, Entry({}, expires=30), Entry({}, run_at=AT, key="k")]
    library.enqueue_many(connection, "sync", entries, run_at=timedelta(hours=2), expires="1h30m")
    library.enqueue_many(connection, "sync", [{}], expires="10m")
    library.enqueue(connection, "sync", {})
    connection.commit()
    many = [90 * MINUTE, MINUTE / 2, 90 * MINUTE, 10 * MINUTE]
    assert spans(database) == [timedelta(seconds=90), timedelta(seconds=1.5)] * 4 + [*many, None]


@pytest.mark.parametrize("way", WAYS)
def test_time_of_a_replaced_run_moves_with_its_run_at(
    database: Database, connection: Any, way: Callable[..., Any]
) -> None:
    """Its old deadline would end the debounced run before it is due, and one that is not given would go on."""
    for given in ({"run_at": timedelta(hours=1), "expires": "10m"}, {"run_at": AT, "expires": "5m"}, {}):
        way(connection, if_taken="replace", **given)
        assert spans(database)[0] == {"10m": 10 * MINUTE, "5m": 5 * MINUTE}.get(given.get("expires"))
        way(connection, if_taken="existing", expires="1s")
    assert spans(database)[0] is None


@postgresql_only
def test_time_of_a_run_replaced_in_sql_moves_with_its_run_at(database: PostgresDatabase, connection: Any) -> None:
    one(connection, expires="10m")
    for expires, span in (("1h", 60 * MINUTE), (None, None)):
        statement = "SELECT outcome FROM jobrunner_enqueue('sync', key => 'k', if_taken => 'replace', expires => ?)"
        assert database.query(statement, [expires]) == [{"outcome": "replaced"}]
        assert spans(database) == [span]


def test_time_that_no_run_could_keep_enqueues_nothing(database: Database, connection: Any) -> None:
    """A run that has expired already would be dead without a word to who enqueued it."""
    wrong: list[Any] = [0, "0", timedelta(0), "-5m", -5, "soon", "", "none", True, "3661d", [], "1e3"]
    for expires in wrong:
        for enqueue in (
            lambda options: library.enqueue(connection, "sync", {}, **options),
            lambda options: library.enqueue_many(connection, "sync", [{}], **options),
            lambda options: library.enqueue_many(connection, "sync", [Entry({}, **options)]),
        ):
            with pytest.raises(UsageError, match="expires"):
                enqueue({"expires": expires})
    connection.commit()
    assert runs(database) == []


def test_command_line_refuses_a_time_that_no_run_could_keep_in_one_line(
    jobrunner: Commands, database: Database
) -> None:
    for expires in ("0", "-5m", "soon"):
        done = jobrunner("enqueue", "append", "--expires", expires, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
        assert "expires" in done.stderr
    jobrunner("enqueue", "append", "--run-at", "+1h", "--expires", "10m")
    assert spans(database) == [10 * MINUTE]


@pytest.mark.promise("P12")
def test_run_that_has_expired_is_never_attempted_and_can_be_retried(
    jobrunner: Commands, app: App, database: Database, connection: Any
) -> None:
    run_id = one(connection, "append", expires="10m").id
    database.move_clock(10 * MINUTE)
    assert jobrunner.tick().stderr == ""
    assert (jobrunner.show(run_id)["status"], app.trace()) == ("dead", [])
    assert "not started by its start deadline" in jobrunner("explain", run_id).stdout
    jobrunner("retry", run_id)
    jobrunner.tick()
    assert (jobrunner.show(run_id)["status"], len(app.trace())) == ("succeeded", 1)


def test_error_of_the_last_attempt_is_kept_when_a_run_expires(
    jobrunner: Commands, database: Database, connection: Any
) -> None:
    """Only the sentence about the deadline was left: nobody saw in a list why the run had not succeeded in time."""
    run_id = one(connection, "append", expires="10m").id
    failure = AttemptResult(Outcome.FAILED, error_type="ValueError", error="no such customer")
    database.execute("UPDATE job_runs SET max_attempts = 9")
    with opening(database, patience_seconds=20) as open_store:
        store = open_store()
        (run,) = store.write(lambda each: claims.claim(each, asked())).runs
        store.write(lambda each: end_attempt(each, asked().owner, run.lease, failure))
        database.execute("UPDATE job_runs SET run_at = ?", [database.now() + 11 * MINUTE])
        assert "dead from its start deadline on" in jobrunner("explain", run_id).stdout
        database.move_clock(10 * MINUTE)
        # A session of before has the clock of before.
        assert len(open_store().write(lambda each: deadlines.end_overdue(each, 9))) == 1
    (row,) = runs(database)
    assert (row["status"], row["error_type"]) == ("dead", "start_deadline")
    assert row["last_error"].startswith("not started by its start deadline, 2")
    assert row["last_error"].endswith("; tried 1 time before; the last error was ValueError: no such customer")
    assert "ValueError: no such customer" in jobrunner("explain", run_id).stdout


@postgresql_only
@pytest.mark.promise("P12", on="postgresql")
@pytest.mark.parametrize("first", ["claim", "end"])
def test_run_that_expires_while_it_is_claimed_is_begun_or_dead_and_never_both(
    database: PostgresDatabase, connection: Any, first: str
) -> None:
    """The second one comes between the moment when the first has changed the run and its COMMIT."""
    one(connection, "append", expires="10m")
    if first == "end":
        database.move_clock(10 * MINUTE)
    done: list[Any] = []
    with opening(database, patience_seconds=1) as open_store:
        claiming, ending = open_store(), open_store()

        def claim() -> list[Any]:
            return claiming.write(lambda each: claims.claim(each, asked())).runs

        def end() -> list[Any]:
            return ending.write(lambda each: deadlines.end_overdue(each, 9))

        def second() -> None:
            if not done:
                done.append("begun")
                database.move_clock(20 * MINUTE)
                done.append(end() if first == "claim" else claim())

        with before_commits(claiming if first == "claim" else ending, second):
            assert len(claim() if first == "claim" else end()) == 1
        assert done == ["begun", []]
        assert (claim(), end()) == ([], [])
    assert [row["status"] for row in runs(database)] == ["running" if first == "claim" else "dead"]


def asked() -> Any:
    return request(policies=[Policy("append")])
