"""Pings of schedules and of the tick, by the convention of healthchecks.io, against a real web server."""

import statistics
import uuid
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import queue
from harness.receivers import Web, web_server

HANDLERS = """
from jobrunner import job

@job("report", max_attempts=2)
def report(ctx, end="well"):
    print("é" * 6000 + "the end")
    if end == "badly":
        raise RuntimeError("no paper")
"""
CONFIG = """
[jobs.check]
command = ["/bin/sh", "-c", "echo it is broken; exit 3"]
discard_codes = [3]

[notify.schedules.nightly]
ping_env = "PING"
[notify.schedules.checks]
ping_env = "PING"
"""
TICK = '[notify]\ntick_ping_env = "PING"\n'


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as found:
        yield found


def slot(database: Database, jobrunner: Commands, name: str, job_type: str, payload: dict[str, object]) -> int:
    """A run of a schedule's slot that is due."""
    if not database.query("SELECT id FROM job_definitions WHERE name = ?", [name]):
        jobrunner("schedule", "add", name, "--type", job_type, "--cron", "0 0 1 1 *")
    definition = database.value("SELECT id FROM job_definitions WHERE name = ?", [name])
    at = database.now() - timedelta(seconds=5)
    return queue(database, job_type, payload, definition_id=definition, scheduled_for=at)


def paths(web: Web) -> list[str]:
    return [each.path.removeprefix("/s3cret") for each in web.requests]


def rid(run_id: int, attempt: int) -> str:
    return f"?rid={uuid.uuid5(uuid.NAMESPACE_URL, f'jobrunner:{run_id}:{attempt}')}"


def test_pings_of_a_schedule_say_start_success_failed_try_and_death_with_the_end_of_the_output(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    app.write("handlers", HANDLERS)
    app.path("jobrunner.toml").write_text(CONFIG)
    env = {"PING": web.url}
    good = slot(database, jobrunner, "nightly", "report", {})
    queue(database, "report")
    jobrunner.tick(env=env)
    assert paths(web) == [f"/start{rid(good, 1)}", rid(good, 1)]
    body = web.requests[1].body
    assert len(body) <= 10_000
    assert body.decode().strip().endswith("the end")
    web.requests.clear()
    bad = slot(database, jobrunner, "nightly", "report", {"end": "badly"})
    jobrunner.tick(env=env)
    database.execute("UPDATE job_runs SET run_at = ? WHERE id = ?", [database.now(), bad])
    jobrunner.tick(env=env)
    expected = [f"/start{rid(bad, 1)}", f"/log{rid(bad, 1)}", f"/start{rid(bad, 2)}", f"/fail{rid(bad, 2)}"]
    assert paths(web) == expected
    assert web.requests[3].body.decode().startswith("no paper\n")
    web.requests.clear()
    failed = slot(database, jobrunner, "checks", "check", {})
    jobrunner.tick(env=env)
    assert paths(web) == [f"/start{rid(failed, 1)}", f"/3{rid(failed, 1)}"]
    assert b"it is broken" in web.requests[1].body


def test_dead_run_of_a_killed_tick_is_pinged_by_the_recovery(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    app.path("jobrunner.toml").write_text(CONFIG)
    run_id = slot(database, jobrunner, "nightly", "echo", {})
    ago = database.now() - timedelta(hours=1)
    database.execute(
        "UPDATE job_runs SET status = 'running', lease_token = 't', locked_by = 'o', host = 'h', locked_until = ?,"
        " claimed_at = ?, started_at = ?, attempts = 1, max_attempts = 1 WHERE id = ?",
        [ago, ago, ago, run_id],
    )
    jobrunner.tick(env={"PING": web.url})
    assert paths(web) == [f"/fail{rid(run_id, 1)}"]


def test_tick_pings_at_its_end_idle_or_not_and_fails_with_its_problem(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    app.path("jobrunner.toml").write_text(TICK)
    env = {"PING": web.url}
    jobrunner.tick(env=env)
    assert database.value("SELECT count(*) FROM job_ticks") == 1
    jobrunner.tick(env=env)
    queue(database, "echo")
    jobrunner.tick(env=env)
    assert paths(web) == ["", "", ""]
    app.write("handlers", "import nothing_of_that_name\n")
    queue(database, "echo")
    jobrunner.tick(env=env, check=False)
    assert paths(web)[3:] == ["/fail"]
    assert b"nothing_of_that_name" in web.requests[3].body


@pytest.mark.parametrize("behave", ["hang", "reset", "late 500"])
def test_monitor_that_hangs_resets_or_answers_500_much_later_delays_no_run_by_ten_milliseconds(
    jobrunner: Commands, app: App, database: Database, web: Web, behave: str
) -> None:
    app.path("jobrunner.toml").write_text(CONFIG + '\n[notify]\ngive_up_after = "1s"\n')
    web.behave = behave

    def gap(name: str, **env: str) -> float:
        """The median time from the start of one run to that of the next, in seconds."""
        ids = [slot(database, jobrunner, name, "echo", {}) for _ in range(1)]
        ids += [slot_again(database, ids[0]) for _ in range(20)]
        jobrunner.tick("--concurrency", 1, env=env)
        rows = database.query("SELECT started_at FROM job_attempts ORDER BY id DESC LIMIT ?", [len(ids)])
        starts = sorted(row["started_at"] for row in rows)
        return statistics.median((b - a).total_seconds() for a, b in pairwise(starts))

    for _ in range(3):
        # A busy machine may be slow once.
        if gap("nightly", PING=web.url) - gap("unwatched") < 0.01:
            break
    else:
        pytest.fail("runs waited for their monitor")
    assert web.requests
    if behave == "late 500":
        # After half a minute, or whenever: its tick has ended long before.
        assert web.answers == 0
        web.ended.set()
        wait_for(lambda: web.answers > 0, 20, "the late answer")
    assert database.value("SELECT count(*) FROM job_runs WHERE status <> 'succeeded'") == 0


def slot_again(database: Database, run_id: int) -> int:
    (row,) = database.query("SELECT definition_id, scheduled_for, job_type FROM job_runs WHERE id = ?", [run_id])
    later = row["scheduled_for"] + timedelta(microseconds=run_id)
    return queue(database, row["job_type"], definition_id=row["definition_id"], scheduled_for=later, origin="again")


def test_ping_url_is_in_no_log_and_no_row(jobrunner: Commands, app: App, database: Database, tmp_path: Path) -> None:
    app.path("jobrunner.toml").write_text(CONFIG)
    slot(database, jobrunner, "nightly", "echo", {})
    log = tmp_path / "log"
    jobrunner.tick("--log", log, env={"PING": "http://127.0.0.1:1/s3cret"})
    assert "Connection refused" in log.read_text()
    assert "s3cret" not in log.read_text() + database.describe()
