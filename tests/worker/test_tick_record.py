"""What a tick leaves in its row and in that of its host: what it could run, why it ended, what it left behind."""

from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue
from harness.stores import opening
from jobrunner.model import Policy, TickKind
from jobrunner.store.queue.ticks import hosts
from jobrunner.store.queue.ticks.hosts import HostReport

HERE = {"JOBRUNNER_HOST": "here", "JOBRUNNER_APPLICATION": "shop"}
CONFIG = '[jobs.lists]\ncommand = ["true"]\nconcurrency = 2\n'


def last_tick(database: Database) -> dict[str, Any]:
    (row,) = database.query("SELECT * FROM job_ticks ORDER BY id DESC LIMIT 1")
    return row


def the_host(database: Database) -> dict[str, Any]:
    (row,) = database.query("SELECT * FROM job_hosts")
    return row


def test_tick_records_why_it_ended_and_what_it_left(jobrunner: Commands, database: Database) -> None:
    def ended(*args: str) -> tuple[object, object]:
        jobrunner.tick(*args, env=HERE)
        row = last_tick(database)
        assert (row["host"], row["application"], row["types"]) == ("here", "shop", "")
        return row["ended_by"], row["left_due"]

    assert ended() == ("empty", None), "idle"
    for job_type in ("echo", "echo", "echo", "nobody's"):
        queue(database, job_type)
    assert ended("--batch", "1") == ("batch", {"runs": {"echo": 2, "nobody's": 1}, "at_least": False})
    assert ended("--budget", "1ms") == ("budget", {"runs": {"echo": 2, "nobody's": 1}, "at_least": False})
    assert ended() == ("empty", None)
    assert the_host(database)["settings"]["budget_seconds"] == 50
    database.execute("DELETE FROM job_runs WHERE status = 'queued'")
    queue(database, "echo")
    assert ended("--batch", "1") == ("empty", None), "the batch was full, and nothing was left"


def test_tick_records_what_its_host_can_run_when_that_changes(
    jobrunner: Commands, database: Database, app: App
) -> None:
    app.path("jobrunner.toml").write_text(CONFIG)
    env = HERE | {"JOBRUNNER_CONFIG": str(app.path("jobrunner.toml"))}
    queue(database, "echo")
    jobrunner.tick(env=env)
    host = the_host(database)
    assert (host["host"], host["application"], host["types"]) == ("here", "shop", "")
    reported = host["digest"]
    assert {"echo", "fail", "lists"} <= host["can_run"].keys()
    assert len(host["can_run"]["lists"].pop("command")) == 16
    assert host["can_run"]["lists"] == {"concurrency": 2}
    assert host["settings"]["concurrency"] == 4
    assert database.name in host["database"].lower()
    # Nothing has changed, so nothing is written; a host without handlers is what changes most.
    queue(database, "echo")
    jobrunner.tick(env=env)
    assert the_host(database)["digest"] == reported
    assert the_host(database)["reported_at"] == host["reported_at"]
    queue(database, "echo")
    app.path("jobrunner.toml").unlink()
    jobrunner.tick(env=HERE | {"JOBRUNNER_IMPORT": None})
    assert the_host(database)["can_run"] == {}, "cron's environment may lack the handlers"
    assert last_tick(database)["error"] is None


@pytest.fixture
def report(database: Database) -> Any:
    with opening(database, patience_seconds=20) as open_one:
        store = open_one()

        def write(host: str, boot: str) -> dict[str, Any]:
            known = HostReport(TickKind(host, "shop", ""), (Policy("echo"),), {}, "a database", boot)
            store.write(lambda connection: hosts.write(connection, known))
            (row,) = database.query("SELECT * FROM job_hosts WHERE host = ?", [host])
            return row

        yield write


def test_two_machines_under_one_name_are_noted_and_a_restart_is_not(report: Any) -> None:
    assert report("here", "a")["is_twin_at"] is None
    assert report("here", "b")["is_twin_at"] is None, "it was started anew"
    assert report("here", "b")["is_twin_at"] is None
    assert report("here", "c")["is_twin_at"] is None
    assert report("here", "b")["is_twin_at"] is not None, "no machine has its last start twice"


def test_hosts_that_are_gone_for_a_month_are_forgotten(report: Any, database: Database) -> None:
    report("gone", "a")
    database.execute("UPDATE job_hosts SET reported_at = ?", [database.now() - timedelta(days=31)])
    report("here", "a")
    assert the_host(database)["host"] == "here"
