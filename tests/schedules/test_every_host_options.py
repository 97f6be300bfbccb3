"""What the other options of a schedule and of its type do where each slot gets a run on every host."""

from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database
from harness.databases import url
from harness.every_host import HOUR, MINUTE, NOON, Hosts
from harness.handlers_rows import attempts_of, make_due, run_of
from harness.judge import breaches_at
from harness.slots import go_to


@pytest.mark.promise("P3")
def test_most_runs_of_a_schedule_are_counted_for_each_host(jobrunner: Commands, app: App, database: Database) -> None:
    hosts = Hosts(jobrunner, app, database)
    hosts.add("--max-runs", "1")
    hosts.tick("web1", "web2")
    hosts.at(HOUR, "web1")
    hosts.at(2 * HOUR, "web1", "web2", "web3")
    hosts.at(3 * HOUR, "web1", "web2", "web3")
    assert hosts.ran() == [("logs@web1", 1, "web1"), ("logs@web2", 2, "web2"), ("logs@web3", 3, "web3")]
    assert breaches_at(database.url) == []


@pytest.mark.promise("P3", "P8")
def test_rate_of_a_type_lets_its_runs_of_several_hosts_begin_one_after_the_other_and_loses_none(
    jobrunner: Commands, app: App, database: Database
) -> None:
    hosts = Hosts(jobrunner, app, database, ', rate="6/h", burst=1')
    hosts.add()
    hosts.tick("web1", "web2", "web3")
    hosts.at(HOUR, "web1", "web2", "web3")
    assert hosts.ran() == [("logs@web1", 1, "web1")]
    hosts.at(HOUR + 11 * MINUTE, "web1", "web3", "web2")
    assert hosts.ran() == [("logs@web1", 1, "web1"), ("logs@web3", 1, "web3")]
    hosts.at(HOUR + 22 * MINUTE, "web3", "web1", "web2")
    assert hosts.ran() == [(f"logs@web{number}", 1, f"web{number}") for number in (1, 2, 3)]
    assert breaches_at(database.url) == []


CODE = """
from jobrunner import Schedule, job

@job("{name}", {options}schedule=Schedule("0 * * * *", on="every-host", misfire="all"))
def rotate(ctx):
    pass
"""


@pytest.mark.promise("P3")
def test_schedule_of_a_renamed_type_goes_on_on_each_host_from_its_last_slot(
    jobrunner: Commands, app: App, database: Database
) -> None:
    hosts = Hosts(jobrunner, app, database)
    app.write("handlers", CODE.format(name="rotate", options=""))
    jobrunner("apply")
    hosts.tick("web1", "web2")
    hosts.at(HOUR, "web1", "web2")
    app.write("handlers", CODE.format(name="logs.rotate", options='formerly="rotate", '))
    jobrunner("apply")
    hosts.at(3 * HOUR, "web1", "web2", "web1")
    assert [(slot, host) for _, slot, host in hosts.ran()] == [
        (slot, f"web{number}") for slot in (1, 2, 3) for number in (1, 2)
    ]
    listed = [each["name"] for each in jobrunner("schedule", "list", "--json").json()]
    assert sorted(listed) == ["logs.rotate", "logs.rotate@web1", "logs.rotate@web2"]
    assert breaches_at(database.url) == []


@pytest.mark.promise("P3", "P11")
def test_retry_whose_deadline_passes_while_its_host_is_away_is_ended_by_another_host_and_its_next_slot_runs_there(
    jobrunner: Commands, app: App, database: Database
) -> None:
    hosts = Hosts(jobrunner, app, database)
    hosts.add("--start-deadline", "20m")
    hosts.tick("web1", "web2")
    hosts.fail_on("web2")
    hosts.at(HOUR, "web1", "web2")
    run_id = int(database.value("SELECT id FROM job_runs WHERE status = 'failed'"))
    make_due(database, run_id)
    hosts.at(HOUR + 30 * MINUTE, "web1")
    run = run_of(database, run_id)
    assert (run["status"], run["error_type"], len(attempts_of(database, run_id))) == ("dead", "start_deadline", 1)
    hosts.at(2 * HOUR, "web2")
    assert hosts.ran() == [("logs@web1", 1, "web1"), ("logs@web2", 1, "web2"), ("logs@web2", 2, "web2")]
    assert breaches_at(database.url) == []


@pytest.mark.promise("P3")
def test_host_whose_schedules_were_restored_elsewhere_misses_no_slot_though_another_host_ticks_there_first(
    jobrunner: Commands, app: App, database: Database, elsewhere: Database, tmp_path: Path
) -> None:
    """In the new database it has no tick and no report, as a host that is gone for good."""
    hosts, state = Hosts(jobrunner, app, database), tmp_path / "state.jsonl"
    hosts.add()
    hosts.tick("web1", "web2")
    hosts.at(HOUR, "web1", "web2")
    # Nothing has changed there since.
    database.execute("UPDATE job_definitions SET updated_at = ?", [database.now() - timedelta(days=90)])
    jobrunner("archive", "state", state)
    jobrunner("archive", "restore", state, env=url(elsewhere))
    go_to(elsewhere, NOON + 2 * HOUR + MINUTE)
    for name in ("web1", "web2"):
        jobrunner.tick(env={**hosts.env(name), **url(elsewhere)})
    hosts.database = elsewhere
    assert hosts.ran() == [("logs@web1", 2, "web1"), ("logs@web2", 2, "web2")]
    assert breaches_at(elsewhere.url) == []
