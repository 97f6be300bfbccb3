"""`jobrunner status` and `jobrunner types`, also when handlers or data are broken."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import BEATS
from harness.invariants import insert_runs
from harness.statements import before_statements
from harness.waiting import span
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.questions import overview
from jobrunner.store.questions.state import State

KEYS = {"database", "runs", "due", "oldest_due_seconds", "running", "failing", "dead", "schedules", "unknown_types"}


def test_an_empty_database(jobrunner: Commands, database: Database) -> None:
    status = jobrunner.status()
    assert set(status) >= {*KEYS, "ticks"}
    assert status["runs"] == dict.fromkeys(["queued", "running", "succeeded", "failed", "dead", "cancelled"], 0)
    assert (status["due"], status["oldest_due_seconds"]) == (0, None)
    for name in ("running", "failing", "dead", "schedules", "unknown_types", "ticks"):
        assert status[name] == []
    assert database.url.rpartition("/")[2] in jobrunner("status").stdout.splitlines()[0]


def test_the_database_is_named_first_without_its_password(jobrunner: Commands, database: Database) -> None:
    text = jobrunner("status").stdout
    named = text.splitlines()[0]
    assert named.startswith("database ")
    assert jobrunner.status()["database"] in named
    userinfo = database.url.partition("//")[2].partition("@")[0]
    if database.name == "postgresql" and ":" in userinfo:
        assert userinfo.partition(":")[2] not in text


def test_status_counts_as_due_only_runs_due_now(jobrunner: Commands, database: Database) -> None:
    jobrunner.enqueue("echo")
    jobrunner.enqueue("echo", run_at="+3h")
    database.move_clock(timedelta(hours=1))
    status = jobrunner.status()
    assert (status["runs"]["queued"], status["due"]) == (2, 1)
    assert 3600 <= status["oldest_due_seconds"] < 3660
    assert "due now    1, the oldest for 1h" in jobrunner("status").stdout


def test_status_counts_as_due_what_only_one_host_may_claim(jobrunner: Commands, database: Database) -> None:
    insert_runs(database, 2, only_host="elsewhere")
    insert_runs(database, 1, only_host="elsewhere", run_at=database.now() + timedelta(hours=1))
    status = jobrunner.status()
    assert (status["due"], status["oldest_due"] is None) == (2, False)


def insert_finished(database: Database, count: int) -> None:
    """Copies of a finished run."""
    columns = "job_type, payload, priority, run_at, created_at, updated_at"
    (run_id,) = insert_runs(database, 1, status="succeeded", finished_at=database.now())
    database.execute(
        f"WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < {count - 1})"
        f" INSERT INTO job_runs ({columns}, status, finished_at)"
        f" SELECT {columns}, status, finished_at FROM job_runs CROSS JOIN many WHERE id = {run_id} AND {count} > 1"
    )


def test_a_long_history_is_counted_up_to_a_hundred_thousand_runs(jobrunner: Commands, database: Database) -> None:
    insert_finished(database, 100_000)
    assert "succeeded 100000  failed" in jobrunner("status").stdout
    insert_finished(database, 1)
    status = jobrunner.status()
    assert (status["runs"]["succeeded"], status["runs_at_least"]) == (100_000, ["succeeded"])
    assert "succeeded 100000+  failed 0  dead 0" in jobrunner("status").stdout


def test_status_reads_a_bounded_part_of_a_long_queue(
    database: Database, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    """Beside a million due runs it took a second: it checked each of them, and read them again for those that fail."""
    first = database.now() - timedelta(hours=1)
    insert_runs(database, 1, "known", run_at=first)
    insert_runs(database, 4, "known")
    insert_runs(database, 2, "gone")
    monkeypatch.setattr(overview, "MOST_DUE", 6)
    plans: dict[str, str] = {}
    explains = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN"}[database.name]
    names = {"min(first.run_at)": "due", "next_try_at": "failing"}

    def explain(connection: Connection, statement: str, parameters: Any) -> None:
        for words, name in names.items():
            if words in statement:
                plan = connection.driver.execute(f"{explains} {statement}", parameters or ())
                plans[name] = " ".join(str(tuple(row)) for row in plan)

    def found() -> State:
        return store.read(lambda connection: overview.status(connection, ["known"], explains=False))

    with before_statements(store, explain):
        state = found()
    assert (state.due, state.due_at_least) == (6, True)
    assert 3600 <= (state.oldest_due_seconds or 0) < 4600
    assert [(each.job_type, each.waiting) for each in state.unknown_types] == [("gone", 2)]
    assert ["job_runs_due" in plans["due"], "job_runs_failing" in plans["failing"]] == [True, True], plans
    database.execute("DELETE FROM job_runs WHERE job_type = 'gone'")
    state = found()
    assert (state.due, state.due_at_least, state.unknown_types) == (5, False, [])


def test_a_run_at_work_is_shown(jobrunner: Commands, app: App, database: Database) -> None:
    app.add("""
        @job("steady", timeout="5m")
        def steady(ctx: Context, path: str):
            ctx.progress(3, 8, "mails")
            while not os.path.exists(path):
                time.sleep(0.01)
    """)
    run_id = jobrunner.enqueue("steady", {"path": str(app.path("go"))})
    tick = jobrunner.start("tick", env={**BEATS, "JOBRUNNER_HOST": "alpha"})
    first = database.wait_until("SELECT heartbeat_at FROM job_runs WHERE progress IS NOT NULL", describe="a beat")
    database.wait_until("SELECT heartbeat_at > ? AS later FROM job_runs", [first], describe="a second beat")
    (row,) = jobrunner.status()["running"]
    text = jobrunner("status").stdout
    app.end(tick, "go")
    assert (row["id"], row["job_type"], row["host"], row["attempt"]) == (run_id, "steady", "alpha", 1)
    started, beat = (datetime.fromisoformat(row[name]) for name in ("started_at", "heartbeat_at"))
    assert started < beat
    (line,) = [line for line in text.splitlines() if "steady" in line]
    assert line.split()[:3] == [str(run_id), "steady", "alpha"]
    assert line.count(" ago") == 2
    assert "1 of 5" in line
    assert "3/8 mails" in line


def test_status_shows_the_errors_of_failed_and_dead_runs(jobrunner: Commands, database: Database) -> None:
    failing = jobrunner.enqueue("fail", {"message": "try again"})
    dead = jobrunner.enqueue("fail", {"message": "gave\nup"}, max_attempts=1)
    jobrunner.tick()
    status = jobrunner.status()
    (row,) = status["failing"]
    assert (row["id"], row["error_type"], row["last_error"]) == (failing, "RuntimeError", "try again")
    assert datetime.fromisoformat(row["next_try_at"]) > database.now()
    (row,) = status["dead"]
    assert (row["id"], row["error_type"], row["last_error"]) == (dead, "RuntimeError", "gave up")
    assert (status["runs"]["failed"], status["runs"]["dead"]) == (1, 1)
    text = jobrunner("status").stdout
    assert "RuntimeError: try again" in text
    assert "RuntimeError: gave up" in text


def test_unknown_types_are_shown_while_they_wait(jobrunner: Commands) -> None:
    for _ in range(2):
        jobrunner("enqueue", "elsewhere", "--allow-unknown")
    jobrunner.enqueue("echo")
    jobrunner.tick()
    status = jobrunner.status()
    (unknown,) = status["unknown_types"]
    assert (unknown["job_type"], unknown["waiting"]) == ("elsewhere", 2)
    assert status["runs"]["queued"] == 2
    text = jobrunner("status").stdout
    assert "unknown on this host" in text
    assert "elsewhere" in text


def test_schedules_show_their_next_slot(jobrunner: Commands) -> None:
    jobrunner("schedule", "add", "nightly", "--type", "echo", "--cron", "0 2 * * *", "--timezone", "Europe/Berlin")
    (row,) = jobrunner.status()["schedules"]
    assert (row["name"], row["job_type"], row["schedule"]) == ("nightly", "echo", "0 2 * * *")
    assert row["timezone"] == "Europe/Berlin"
    slot = datetime.fromisoformat(row["next_run_at"])
    assert slot.minute == 0
    assert slot.strftime("%Y-%m-%d %H:%M:%SZ") in jobrunner("status").stdout


@pytest.mark.promise("P12")
def test_the_last_tick_of_each_host(jobrunner: Commands) -> None:
    jobrunner.enqueue("echo")
    for host in ("alpha", "beta", "alpha"):
        jobrunner.tick(env={"JOBRUNNER_HOST": host})
    ticks = jobrunner.status()["ticks"]
    assert [tick["host"] for tick in ticks] == ["alpha", "beta"]
    for tick in ticks:
        assert datetime.fromisoformat(tick["started_at"]) <= datetime.fromisoformat(tick["finished_at"])
    text = jobrunner("status").stdout
    assert "alpha" in text
    assert "beta" in text


@pytest.mark.promise("P12")
def test_a_killed_tick_is_shown_as_not_ended(jobrunner: Commands, app: App) -> None:
    jobrunner.enqueue("wait_for", {"path": str(app.path("never"))})
    tick = jobrunner.start("tick", env=BEATS)
    wait_for(app.trace, 30, "the handler is at work")
    tick.kill()
    tick.wait(10)
    (row,) = jobrunner.status()["ticks"]
    assert row["finished_at"] is None
    assert "at work, or killed" in jobrunner("status").stdout


BROKEN = {
    "raises": "raise RuntimeError('broken')",
    "is no Python": "def (",
    "exits": "raise SystemExit(0)",
    "dies": "import os; os._exit(7)",
    "prints and hangs": "print('hello', flush=True)\nimport time\ntime.sleep(300)",
}


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN.keys())
def test_status_works_with_broken_handlers(jobrunner: Commands, app: App, database: Database, source: str) -> None:
    """A child imports them, and knows no database, whichever it is."""
    insert_runs(database, 1, "echo")
    app.write("handlers", source)
    short = {"JOBRUNNER_START_LIMIT": span(1)}
    status = jobrunner("status", "--json", env=short).json()
    assert status["runs"]["queued"] == 1
    assert "handlers" in status["handlers_problem"]
    shown = jobrunner("status", env=short)
    assert "queued 1" in shown.stdout
    assert "handlers  " in shown.stdout
    assert shown.stderr == ""


def test_status_works_without_any_handlers(jobrunner: Commands) -> None:
    jobrunner("enqueue", "echo")
    status = jobrunner("status", "--json", env={"JOBRUNNER_IMPORT": None}).json()
    assert [row["job_type"] for row in status["unknown_types"]] == ["echo"]
    assert status["handlers_problem"] is None


def test_hostile_texts_do_not_act_on_the_terminal(jobrunner: Commands, app: App, database: Database) -> None:
    app.add(r"""
        @job("hostile", max_attempts=1)
        def hostile(ctx: Context):
            raise type("\x1b[31mRed\u202e", (Exception,), {})("\x1b[2J\u2028\x07")
    """)
    jobrunner.enqueue("hostile")
    jobrunner.tick()
    jobrunner("schedule", "add", "daily", "--type", "echo", "--cron", "@daily")
    # Such a name is refused by the command; by hand it is written all the same.
    database.execute("UPDATE job_definitions SET name = ?", ["a\nb\x1b[31m"])
    text = jobrunner("status").stdout + jobrunner("schedule", "list").stdout
    assert not [character for character in text if ord(character) < 32 and character != "\n"]
    assert not {"\u2028", "\u202e"} & set(text)
    assert "a\\nb" in text


def test_jobs_lists_what_this_host_can_run_with_its_policies(jobrunner: Commands, app: App) -> None:
    app.add("""
        from jobrunner import fixed

        @job("special", max_attempts=7, timeout="none", kill_after="9s", backoff=fixed("42s"))
        def special(ctx: Context): ...
    """)
    found = {row["job_type"]: row for row in jobrunner("types", "--json").json()}
    assert set(found) == {"echo", "append", "sleep", "fail", "wait_for", "special"}
    assert found["special"]["max_attempts"] == 7
    text = jobrunner("types").stdout
    (line,) = [line for line in text.splitlines() if line.startswith("special")]
    assert (line.split()[:3], " 9s" in line, "fixed 42s" in line) == (["special", "7", "none"], True, True)
    (line,) = [line for line in text.splitlines() if line.startswith("echo")]
    assert (line.split()[:3], " 5s" in line) == (["echo", "5", "15m"], True)


def test_jobs_without_handlers_says_what_to_set(jobrunner: Commands) -> None:
    done = jobrunner("types", env={"JOBRUNNER_IMPORT": None})
    assert "JOBRUNNER_IMPORT" in done.stdout


def test_jobs_with_broken_handlers_names_the_module(jobrunner: Commands, app: App) -> None:
    app.write("handlers", "import no_such_module_anywhere")
    jobrunner.refused(78, "types", says=["handlers", "no_such_module_anywhere"])
