"""`jobrunner limit`, `unlimit` and `limits`: limits of a job type that an operator sets at run time."""

import re
from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue, run_of, status_of, wait_until_running
from harness.invariants import insert_runs
from harness.listening_ticks import linger, stop, wait_for_success
from harness.waiting import stretched

HERE = {"JOBRUNNER_HOST": "here", "JOBRUNNER_HEARTBEAT": "200ms"}
SLOW = ["--reason", "the disk\nis slow"]


def statuses(database: Database) -> list[str]:
    return [row["status"] for row in database.query("SELECT status FROM job_runs ORDER BY id")]


def test_an_operator_sees_who_limits_what_until_when_and_why(jobrunner: Commands, database: Database) -> None:
    done = jobrunner("limit", "append", "--max-running", "2", "--rate", "10/m", "--until", "2h", *SLOW).stdout
    assert re.fullmatch(r"append: max_running 2, rate 10/m until \S.*; 0 runs wait, 0 at work go on\n", done), done
    (limit,) = jobrunner("limits", "--json").json()
    assert (limit["job_type"], limit["max_running"], limit["rate"], limit["burst"]) == ("append", 2, "10/m", 1)
    assert limit["reason"] == "the disk is slow"
    status = jobrunner("status", "--json").json()
    assert status["set_limits"] == [limit]
    (of_type,) = status["running_limits"]
    assert (of_type["max_running"], of_type["rate"]) == (2, "10/m")
    for shown in (jobrunner("status").stdout, jobrunner("limits").stdout):
        assert "the disk is slow" in shown
        assert "max_running 2, rate 10/m" in shown
    again = jobrunner("limit", "append", "--max-running", "1", "--reason", "slower").stdout
    assert "append: max_running 1; " in again
    assert "; before: max_running 2, rate 10/m until " in again
    assert "(the disk is slow)" in again
    assert "append: as its code has it; max_running 1 was set since " in jobrunner("unlimit", "append").stdout
    assert "append: nothing is set" in jobrunner("unlimit", "append").stdout
    assert jobrunner("limits").stdout == "no limits are set\n"
    events = database.query("SELECT action, detail FROM job_events ORDER BY id")
    assert [event["action"] for event in events] == ["limit type", "limit type", "unlimit type"]
    assert events[0]["detail"]["reason"] == "the disk is slow"
    assert events[1]["detail"]["before"]["max_running"] == 2
    assert "unlimit type" in jobrunner("history").stdout


def test_ticks_keep_to_it_with_runs_at_work_and_explain_says_so(
    jobrunner: Commands, app: App, database: Database
) -> None:
    first = jobrunner.enqueue("wait_for", {"path": str(app.path("a"))})
    tick = jobrunner.start("tick", env=HERE)
    wait_until_running(database, first)
    second = jobrunner.enqueue("wait_for", {"path": str(app.path("b"))})
    app.release("b")
    said = jobrunner("limit", "wait_for", "--max-running", "1", *SLOW).stdout
    assert "1 at work go on" in said
    beside = jobrunner.tick(env={**HERE, "JOBRUNNER_HOST": "there"})
    assert beside.stdout == ""
    waiting = jobrunner("explain", second).stdout
    assert f"the limit max_running 1 of its type, which is used by run {first}; set " in waiting
    assert "the disk is slow" in waiting
    assert "jobrunner unlimit wait_for" in waiting
    app.release("a")
    tick.communicate(timeout=stretched(30))
    jobrunner.tick(env=HERE)
    assert statuses(database) == ["succeeded"] * 2
    # The gate behind which the second one waited is gone with the limit.
    jobrunner("unlimit", "wait_for")
    third = jobrunner.enqueue("wait_for", {"path": str(app.path("b"))})
    jobrunner.tick(env=HERE)
    assert status_of(database, third) == "succeeded"
    assert database.value("SELECT count(*) FROM job_set_limits") == 0


def test_listening_tick_takes_the_waiting_runs_soon_after_it_is_taken_back(
    jobrunner: Commands, database: Database
) -> None:
    at = database.now()
    busy = {"locked_by": "w", "lease_token": "t", "locked_until": at + timedelta(minutes=5), "attempts": 1}
    insert_runs(database, 1, "append", status="running", host="away", started_at=at, **busy)
    jobrunner("limit", "append", "--max-running", "1", *SLOW)
    run_id = queue(database, "append")
    tick = linger(jobrunner)
    assert status_of(database, run_id) == "queued"
    jobrunner("unlimit", "append")
    ended_at = database.query("SELECT max(at) AS ended_at FROM job_events")[0]["ended_at"]
    wait_for_success(database, run_id)
    assert timedelta(0) < run_of(database, run_id)["started_at"] - ended_at < timedelta(seconds=stretched(10))
    stop(tick)


def test_runs_of_a_schedule_wait_for_it_too(jobrunner: Commands, database: Database) -> None:
    jobrunner("schedule", "add", "often", "--type", "append", "--cron", "* * * * *")
    at = database.now()
    busy = {"locked_by": "w", "lease_token": "t", "locked_until": at + timedelta(minutes=5), "attempts": 1}
    insert_runs(database, 1, "append", status="running", host="away", started_at=at, **busy)
    jobrunner("limit", "append", "--max-running", "1", *SLOW)
    jobrunner("schedule", "trigger", "often")
    jobrunner.tick(env=HERE)
    assert statuses(database) == ["running", "queued"]
    jobrunner("unlimit", "append")
    jobrunner.tick(env=HERE)
    assert statuses(database) == ["running", "succeeded"]


def test_a_mistyped_type_is_limited_and_the_one_that_was_meant_is_named(
    jobrunner: Commands, database: Database
) -> None:
    """As with a pause: it may be one to come."""
    insert_runs(database, 1, "append")
    said = jobrunner("limit", "appendd", "--max-running", "1", *SLOW)
    assert said.stderr == "jobrunner: no run has the type 'appendd'; did you mean 'append'?\n"
    assert database.value("SELECT job_type FROM job_set_limits") == "appendd"


def test_a_host_of_an_older_release_is_named_because_it_does_not_keep_to_it(
    jobrunner: Commands, database: Database
) -> None:
    jobrunner.tick(env=HERE)
    assert jobrunner("limit", "append", "--max-running", "1", *SLOW).stderr == ""
    database.execute("UPDATE job_ticks SET version = '0.1.0', host = 'web 2'")
    said = jobrunner("limit", "append", "--max-running", "1", *SLOW).stderr
    assert said == (
        "jobrunner: web 2: the ticks are of a release that knows no such limits, and are not held back; upgrade, or:"
        " jobrunner pause --host 'web 2'\n"
    )
    database.execute("UPDATE job_ticks SET started_at = ?", [database.now() - timedelta(days=2)])
    assert jobrunner("limit", "append", "--max-running", "1", *SLOW).stderr == ""


def test_hostile_and_very_long_reasons_are_kept_and_shown_harmless(jobrunner: Commands, database: Database) -> None:
    hostile = "\x1b[31m<script>alert(1)</script> '; DROP TABLE job_runs; -- \u202e" + "x" * 20_000
    jobrunner("limit", "append", "--max-running", "1", "--reason", hostile)
    shown = jobrunner("limits").stdout + jobrunner("status").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    (limit,) = jobrunner("limits", "--json").json()
    assert limit["reason"].startswith("")
    assert "DROP TABLE" in limit["reason"]
    assert database.value("SELECT count(*) FROM job_runs") == 0


REFUSED = {
    "nothing to limit": (["append"], "say what to limit: --max-running N or --rate 10/m"),
    "none at all": (["append", "--max-running", "0"], "jobrunner pause --type"),
    "a negative number": (["append", "--max-running", "-1"], "not a whole number from 1 to 1000000"),
    "no number": (["append", "--max-running", "many"], "not a whole number from 1 to 1000000"),
    "no rate": (["append", "--rate", "often"], "--rate must be a text such as"),
    "a burst alone": (["append", "--max-running", "2", "--burst", "3"], "--burst needs a --rate"),
    "no type": ([" ", "--max-running", "2"], "cannot be a job type"),
    "the past": (["append", "--max-running", "2", "--until", "2020-01-01T00:00:00Z"], "has passed"),
    "no time": (["append", "--max-running", "2", "--until", "soon"], "not a time"),
    "no offset": (["append", "--max-running", "2", "--until", "2099-01-01T00:00:00"], "has no offset"),
    "beyond the last instant": (["append", "--max-running", "2", "--until", "9999-12-31T23:59:59Z"], ""),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_limit_is_refused_in_one_line(
    jobrunner: Commands, database: Database, words: list[str], said: str
) -> None:
    refused = jobrunner.refused(2, "limit", *words, *SLOW)
    assert said in str(refused)
    assert database.value("SELECT count(*) FROM job_set_limits") == 0


def test_a_reason_is_needed(jobrunner: Commands) -> None:
    jobrunner.refused(2, "limit", "append", "--max-running", "2")
    jobrunner.refused(2, "limit", "append", "--max-running", "2", "--reason", " ")
