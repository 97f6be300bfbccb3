"""What the other options of a schedule and of its type do where each slot gets a run on every host."""

import pytest

from harness import App, Commands, Database
from harness.every_host import HOUR, MINUTE, Hosts
from harness.judge import breaches_at


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
