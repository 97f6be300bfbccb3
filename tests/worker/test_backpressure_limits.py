"""Where `max_waiting` is set, how it is changed and shown, and what it does to slots and retries."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only
from harness.backpressure import HANDLERS, dropped, limit, waiting
from harness.handlers_rows import queue, run_of, status_of, wait_until_running
from harness.slots import NO_HANDLERS, expand, go_to, skipped_ranges, slots_with_runs, utc
from jobrunner.errors import UsageError
from jobrunner.jobs.policy import as_data, from_data, make_policy
from jobrunner.model import MOST_WAITING

HOUR = timedelta(hours=1)


def known_limits(database: Database) -> dict[str, tuple[int | None, str]]:
    rows = database.query("SELECT job_type, max_waiting, when_full FROM job_types")
    return {row["job_type"]: (row["max_waiting"], row["when_full"]) for row in rows}


def log_lines(app: App, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in app.path("log").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


# Slots.


def hourly(jobrunner: Commands, database: Database, job_type: str) -> None:
    go_to(database, utc(2026, 5, 1, 11, 30))
    jobrunner("schedule", "add", "hourly", "--type", job_type, "--cron", "0 * * * *", "--overlap", "allow")


@pytest.mark.promise("P3", "P12")
@pytest.mark.parametrize("when_full", ["refuse", "drop"])
def test_a_slot_that_finds_its_type_full_is_recorded_as_skipped(
    jobrunner: Commands, app: App, database: Database, when_full: str
) -> None:
    limit(database, "echo", 1, when_full)
    hourly(jobrunner, database, "echo")
    noon = utc(2026, 5, 1, 12)
    expand(jobrunner, noon)
    assert slots_with_runs(database, "hourly") == [noon]
    go_to(database, noon + HOUR)
    done = jobrunner.tick(env={**NO_HANDLERS, "JOBRUNNER_LOG": str(app.path("log"))})
    assert (done.stdout, done.stderr) == ("", "")
    (event,) = database.query("SELECT actor, detail FROM job_events WHERE action = 'skip slots'")
    at = "2026-05-01T13:00:00Z"
    assert event == {"actor": "tick", "detail": {"from": at, "to": at, "count": 1, "reason": "max_waiting"}}
    assert database.value("SELECT last_slot_at FROM job_definitions") == noon + HOUR
    assert database.value("SELECT counts FROM job_ticks ORDER BY id DESC") == {"skipped": 1}
    (line,) = log_lines(app, "skipped")
    assert (line["level"], line["schedule"], line["result"]) == ("warning", "hourly", "max_waiting")
    # A slot is not an enqueue that somebody made: it has its own trail.
    assert dropped(database, "echo") == 0
    # Two hours on, with room: the latest slot has a run, and the one before it is a misfire as ever.
    database.execute("UPDATE job_runs SET status = 'cancelled', finished_at = run_at")
    expand(jobrunner, noon + 3 * HOUR)
    assert slots_with_runs(database, "hourly") == [noon, noon + 3 * HOUR]
    skipped = [(noon + HOUR, noon + HOUR, 1), (noon + 2 * HOUR, noon + 2 * HOUR, 1)]
    assert skipped_ranges(database, "hourly") == skipped


@postgresql_only
def test_open_transaction_of_an_application_does_not_block_the_tick(
    jobrunner: Commands, app: App, database: PostgresDatabase
) -> None:
    """The slot of the limited type waits for the next tick; the other type's work is done."""
    app.add(HANDLERS)
    limit(database, "refusing", 9)
    hourly(jobrunner, database, "refusing")
    go_to(database, utc(2026, 5, 1, 12))
    other = queue(database, "append")
    with database.connect() as application, application.transaction():
        application.execute("UPDATE job_types SET dropped = dropped")
        done = jobrunner.tick(env={"JOBRUNNER_LOG": str(app.path("log"))}, timeout=30)
    assert (done.stdout, done.stderr, status_of(database, other)) == ("", "", "succeeded")
    assert [line["level"] for line in log_lines(app, "postponed")] == ["warning"]
    # The limit in the code differs, too: it is written by the next tick.
    assert known_limits(database) == {"refusing": (9, "refuse")}
    assert slots_with_runs(database, "hourly") == []
    jobrunner.tick()
    assert slots_with_runs(database, "hourly") == [utc(2026, 5, 1, 12)]
    assert known_limits(database) == {"refusing": (2, "refuse"), "dropping": (2, "drop")}


# Where the limit comes from.

ECHO = """
from jobrunner import job


@job("echo"{options})
def echo(ctx, **payload):
    pass
"""


def test_first_tick_of_new_code_raises_lowers_and_removes_the_limit(
    jobrunner: Commands, app: App, database: Database
) -> None:
    for options, known in (
        ("", {}),
        (", max_waiting=3", {"echo": (3, "refuse")}),
        (", max_waiting=5, when_full='drop'", {"echo": (5, "drop")}),
        (", max_waiting=1, when_full='drop'", {"echo": (1, "drop")}),
        ("", {"echo": (None, "refuse")}),
    ):
        app.write("handlers", ECHO.format(options=options))
        queue(database, "echo")
        jobrunner.tick()
        assert known_limits(database) == known
    written_at = database.value("SELECT updated_at FROM job_types")
    queue(database, "echo")
    jobrunner.tick()
    assert database.value("SELECT updated_at FROM job_types") == written_at
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'succeeded'") == 6


def test_enqueue_by_new_code_writes_its_limit(jobrunner: Commands, app: App, database: Database) -> None:
    def enqueue(options: str) -> Any:
        app.write("handlers", ECHO.format(options=options))
        return jobrunner("enqueue", "echo", "--json", check=False)

    for number in (1, 2, 3):
        assert enqueue(", max_waiting=3").json()["id"] == number
    # Lowered: what waits already stays.
    refused = enqueue(", max_waiting=1")
    assert (refused.returncode, waiting(database, "echo")) == (1, 3)
    assert "more than 1 wait, max_waiting is 1" in refused.stderr
    assert enqueue(", max_waiting=1, when_full='drop'").json()["dropped"] is True
    assert (known_limits(database), dropped(database, "echo")) == ({"echo": (1, "drop")}, 1)
    assert enqueue(", max_waiting=4").json()["created"] is True
    assert enqueue(", max_waiting=4").returncode == 1
    for _ in range(3):
        assert enqueue("").json()["created"] is True
    assert (known_limits(database), dropped(database, "echo")) == ({"echo": (None, "refuse")}, 1)
    # Nobody's code is asked any more: the database knows that there is no limit.
    assert jobrunner("enqueue", "echo", "--allow-unknown", "--json").json()["created"] is True


def test_limit_of_a_command_comes_from_the_configuration_file(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.path("jobrunner.toml").write_text('[jobs.sweep]\ncommand = ["true"]\nmax_waiting = 1\nwhen_full = "drop"\n')
    assert jobrunner("enqueue", "sweep", "--json").json()["created"] is True
    assert jobrunner("enqueue", "sweep", "--json").json()["dropped"] is True
    database.execute("DELETE FROM job_types")
    jobrunner.tick(env=NO_HANDLERS)
    assert known_limits(database) == {"sweep": (1, "drop")}


# What is never refused.


@pytest.mark.promise("P1")
def test_retry_of_a_run_of_a_full_type_is_allowed(jobrunner: Commands, database: Database) -> None:
    limit(database, "echo", 1)
    dead = queue(database, "echo", status="dead", finished_at=database.now())
    queue(database, "echo")
    assert jobrunner("retry", dead).stdout == f"run {dead}: queued again\n"
    assert waiting(database, "echo") == 2
    assert jobrunner("enqueue", "echo", "--allow-unknown", check=False).returncode == 1


@pytest.mark.promise("P1")
def test_running_run_can_return_to_a_full_queue(jobrunner: Commands, app: App, database: Database) -> None:
    """Failed, snoozed and handed back: none is lost because others came meanwhile."""
    app.add("""
        from jobrunner import Snooze

        @job("held", max_waiting=1, timeout="5m")
        def held(ctx: Context, path: str, end: str):
            leave_trace(ctx)
            while not os.path.exists(path):
                time.sleep(0.01)
            if end == "snooze":
                raise Snooze("1h")
            raise RuntimeError("again")
    """)
    path = str(app.path("go"))
    failing, snoozing = (queue(database, "held", {"path": path, "end": end}) for end in ("fail", "snooze"))
    lost = queue(database, "held", status="running", lease_token="t", locked_by="gone", host="gone", attempts=1,
                 max_attempts=5, started_at=database.now(), claimed_at=database.now(),
                 locked_until=database.now() - HOUR)  # fmt: skip
    later = database.now() + HOUR
    tick = jobrunner.start("tick")
    for run_id in (failing, snoozing):
        wait_until_running(database, run_id)
    database.wait_until("SELECT max_waiting FROM job_types")
    filling = queue(database, "held", {"path": path, "end": "fail"}, run_at=later)
    app.end(tick, "go")
    ends = {run_id: status_of(database, run_id) for run_id in (failing, snoozing, lost, filling)}
    assert ends == {failing: "failed", snoozing: "queued", lost: "failed", filling: "queued"}
    assert run_of(database, lost)["error_type"] == "lease_expired"


# How it is shown and said.


def test_status_and_jobs_show_the_limits(jobrunner: Commands, app: App, database: Database) -> None:
    assert jobrunner.status()["limits"] == []
    assert "MAX WAITING" not in jobrunner("types").stdout
    app.add(HANDLERS)
    jobrunner("enqueue", "refusing")
    for _ in range(3):
        jobrunner("enqueue", "dropping")
    limits = {row.pop("job_type"): row for row in jobrunner.status()["limits"]}
    at = datetime.fromisoformat(limits["dropping"].pop("dropped_at"))
    assert abs(at - database.now()) < timedelta(seconds=30)
    assert at.tzinfo == UTC
    assert limits == {
        "dropping": {"waiting": 2, "max_waiting": 2, "when_full": "drop", "dropped": 1},
        "refusing": {"waiting": 1, "max_waiting": 2, "when_full": "refuse", "dropped": 0, "dropped_at": None},
    }
    shown = [line.split() for line in jobrunner("status").stdout.splitlines() if line.startswith("  ")]
    assert ["refusing", "1", "2", "refuse", "0", "-"] in shown
    text = jobrunner("types").stdout.splitlines()
    assert "MAX WAITING" in text[0]
    assert "ON STOP" not in text[0]
    (line,) = [line for line in text if line.startswith("dropping ")]
    assert line.split()[-2:] == ["2", "drop"]
    data = {row["job_type"]: row for row in jobrunner("types", "--json").json()}
    assert (data["dropping"]["max_waiting"], data["dropping"]["when_full"]) == (2, "drop")
    assert (data["echo"]["max_waiting"], data["echo"]["on_stop"]) == (None, "release")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_waiting": 0}, "not 0; the nearest is 1"),
        ({"max_waiting": -5}, "not -5; the nearest is 1"),
        ({"max_waiting": "100"}, "not '100'"),
        ({"max_waiting": 9.6}, "not 9.6"),
        ({"max_waiting": 10**12}, f"the nearest is {MOST_WAITING}"),
        ({"max_waiting": True}, "not True"),
        ({"when_full": "dorp"}, "not 'dorp'; the nearest is 'drop'"),
        ({"when_full": "Refused"}, "the nearest is 'refuse'"),
        ({"when_full": None}, "'refuse', 'drop', not None"),
        ({"on_stop": "realise"}, "not 'realise'; the nearest is 'release'"),
        ({"on_stop": "DROP"}, "the nearest is 'drop'"),
    ],
)
def test_wrong_when_full_value_is_refused_with_the_nearest_value(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))) as error:
        make_policy("echo", **wrong)
    assert words in str(error.value)


FORGED: dict[str, list[Any]] = {
    "max_waiting": [0, True, "9", 10**30, 2.5, []],
    "when_full": ["explode", None, []],
    "on_stop": ["drop\x00"],
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_handshake_of_a_child_changes_no_limit(name: str) -> None:
    policy = make_policy("echo", max_waiting=7, when_full="drop", on_stop="drop")
    data = json.loads(json.dumps(as_data(policy)))
    assert from_data(data) == policy
    for value in FORGED[name]:
        with pytest.raises(UsageError, match=name):
            from_data({**data, name: value})
