"""A schedule with `on = "every-host"`: each slot gets a run on each host that has the type, and on no other."""

import json
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from harness import App, Commands, Database, pages, postgresql_only
from harness.every_host import HOUR, MINUTE, NOON, Hosts
from harness.handlers_rows import attempts_of, make_due, queue, run_of, status_of
from harness.judge import breaches_at
from harness.releases import Release
from harness.slots import go_to
from harness.web import Asked
from jobrunner.model import Limits, Owner, Policy
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.queue import claims, own_runs
from jobrunner.store.queue.claims import ClaimRequest


@pytest.fixture
def hosts(jobrunner: Commands, app: App, database: Database) -> Hosts:
    return Hosts(jobrunner, app, database)


def explained(hosts: Hosts, what: object) -> dict[str, Any]:
    answer: dict[str, Any] = hosts.jobrunner("explain", what, "--json", env=hosts.env("web1")).json()
    return answer


@pytest.mark.promise("P3")
def test_each_slot_gets_one_run_on_each_host_from_the_first_tick_of_that_host_on(hosts: Hosts) -> None:
    hosts.add()
    hosts.tick("web1", "web2", "web1", "web2")
    # Each tick of one minute twice, and a third host from 13:10 on.
    hosts.at(HOUR, "web2", "web1", "web2", "web1")
    hosts.at(HOUR + 10 * MINUTE, "web3")
    hosts.at(2 * HOUR, "web1", "web3", "web2", "web3")
    ran = [("logs@web1", 1, "web1"), ("logs@web2", 1, "web2")]
    ran += [(f"logs@web{number}", 2, f"web{number}") for number in (1, 2, 3)]
    assert hosts.ran() == ran
    shown = hosts.jobrunner("schedule", "show", "logs", "--json").json()
    assert [(each["host"], each["run_status"]) for each in shown["on_hosts"]] == [
        (f"web{number}", "succeeded") for number in (1, 2, 3)
    ]
    assert explained(hosts, "logs")["reason"] == "on_hosts"
    asked = Asked(hosts.database)
    page = asked.text("/schedule?name=logs")
    assert [f"logs%40web{number}" in page for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert 'schedule?name=logs"' in asked.text("/schedule?name=logs%40web1")
    done = asked("/schedule/trigger", {"name": "logs"})
    assert dict(done.headers)["Location"] == "../schedule?name=logs&done=triggered"
    assert breaches_at(hosts.database.url) == []


@pytest.mark.promise("P3")
def test_ticks_of_both_hosts_at_once_make_one_run_on_each(hosts: Hosts) -> None:
    hosts.add()
    hosts.tick("web1", "web2")
    go_to(hosts.database, NOON + HOUR)
    ticks = [hosts.jobrunner.start("tick", env=hosts.env(name)) for name in ("web1", "web2", "web1", "web2")]
    assert [hosts.jobrunner.finish(each).stderr for each in ticks] == [""] * 4
    assert hosts.ran() == [("logs@web1", 1, "web1"), ("logs@web2", 1, "web2")]


@pytest.mark.promise("P3", "P12")
def test_host_that_is_away_gathers_no_runs_is_named_and_has_its_misfire_policy_when_it_is_back(hosts: Hosts) -> None:
    hosts.add()
    hosts.tick("web1", "web2")
    for hour in range(1, 5):
        hosts.at(hour * HOUR, "web1", "web1", "web1")
    hosts.at(4 * HOUR + 30 * MINUTE, "web1")
    assert {name for name, _, _ in hosts.ran()} == {"logs@web1"}
    health = hosts.jobrunner("health", "--json", check=False).json()
    (finding,) = [each for each in health["findings"] if each["name"] == "host_awaited"]
    assert "web2 for 1 schedule (logs@web2)" in finding["sentence"]
    why = explained(hosts, "logs@web2")
    assert (why["reason"], "whose newest tick began 4h" in why["sentence"]) == ("host_away", True)
    assert "web2 (whose newest tick began" in explained(hosts, "logs")["sentence"]
    hosts.tick("web2")
    assert [each for each in hosts.ran() if each[2] == "web2"] == [("logs@web2", 4, "web2")]
    # Gone for good: an operator ends it, and no tick of another host brings it back.
    hosts.jobrunner("schedule", "remove", "logs@web2")
    go_to(hosts.database, NOON + 5 * HOUR)
    hosts.database.execute("UPDATE job_state SET pruned_at = NULL")
    hosts.tick("web1")
    assert hosts.database.value("SELECT removed_at IS NOT NULL FROM job_definitions WHERE host = 'web2'")
    # Its own tick does.
    hosts.database.execute("UPDATE job_state SET pruned_at = NULL")
    hosts.tick("web2")
    assert hosts.database.value("SELECT removed_at IS NULL FROM job_definitions WHERE host = 'web2'")


@pytest.mark.promise("P3")
def test_definitions_of_a_host_end_with_its_last_report_and_its_last_tick(hosts: Hosts) -> None:
    hosts.add()
    hosts.tick("web1", "web2")
    for table in ("job_hosts", "job_ticks"):
        hosts.database.execute(f"DELETE FROM {table} WHERE host = 'web2'")
    hosts.database.execute("UPDATE job_definitions SET updated_at = ?", [hosts.database.now() - timedelta(days=31)])
    hosts.database.execute("UPDATE job_state SET pruned_at = NULL")
    hosts.tick("web1")
    rows = hosts.database.query("SELECT name, removed_at IS NULL AS stays FROM job_definitions ORDER BY id")
    assert {row["name"]: bool(row["stays"]) for row in rows} == {"logs": True, "logs@web1": True, "logs@web2": False}


@pytest.mark.promise("P3", "P7")
def test_retry_stays_on_its_host_and_its_next_slot_waits_for_it_there_alone(hosts: Hosts) -> None:
    hosts.add()
    hosts.tick("web1", "web2")
    hosts.fail_on("web2")
    hosts.at(HOUR, "web1", "web2")
    (run_id,) = (row["id"] for row in hosts.database.query("SELECT id FROM job_runs WHERE status = 'failed'"))
    make_due(hosts.database, run_id)
    hosts.tick("web1", "web1")
    assert status_of(hosts.database, run_id) == "failed"
    why = explained(hosts, run_id)
    assert (why["reason"], why["facts"]["only_host"]) == ("ready", "web2")
    assert "next tick of web2" in why["sentence"]
    hosts.at(2 * HOUR, "web2", "web1")
    assert [each["host"] for each in attempts_of(hosts.database, run_id)] == ["web2", "web2"]
    # The overlap policy holds for each host: web1 has the next slot, web2 still tries the one before.
    assert [each for each in hosts.ran() if each[1] == 2] == [("logs@web1", 2, "web1")]
    hosts.at(9 * HOUR, "web1")
    assert explained(hosts, run_id)["reason"] == "host_away"
    hosts.jobrunner("cancel", run_id)
    assert status_of(hosts.database, run_id) == "cancelled"
    assert breaches_at(hosts.database.url) == []


@pytest.mark.promise("P3", "P8")
def test_limit_over_all_hosts_holds_for_runs_of_hosts_and_lets_one_begin_after_the_other(
    jobrunner: Commands, app: App, database: Database, store: Store
) -> None:
    """A rolling restart: at most one host at a time."""
    for number in range(3):
        for host in ("web1", "web2"):
            queue(database, "restart", {"n": number}, only_host=host)
    queue(database, "restart", {"n": 9})

    def claimed(host: str, **limits: Any) -> list[tuple[int, str | None]]:
        policy = Policy("restart", limits=Limits(**limits) if limits else None)
        request = ClaimRequest(Owner(host, f"tick of {host}"), host * 4, [policy], 5, 5, timedelta(minutes=1))
        runs = store.write(lambda connection: claims.claim(connection, request)).runs
        return [(each.payload["n"], run_of(database, each.lease.run_id)["only_host"]) for each in runs]

    assert claimed("web1", max_running=2) == [(0, "web1"), (1, "web1")]
    assert claimed("web2", max_running=2) == []
    database.execute(
        "UPDATE job_runs SET status = 'cancelled', finished_at = run_at, lease_token = NULL,"
        " locked_by = NULL, locked_until = NULL WHERE status = 'running'"
    )
    # As a tick does whose code limits it by another key.
    database.execute("UPDATE job_runs SET gate = '' WHERE status = 'queued'")
    assert claimed("web2", max_running=1, concurrency_key=("n",), max_running_per_key=1) == [(0, "web2")]
    assert claimed("web1", max_running=3, concurrency_key=("n",), max_running_per_key=1) == [(2, "web1"), (9, None)]
    waiting = database.query("SELECT only_host, gate FROM job_runs WHERE status = 'queued' ORDER BY id")
    assert waiting == [{"only_host": "web2", "gate": ""}] * 2
    assert claimed("web3") == []
    assert claimed("web2") == [(1, "web2"), (2, "web2")]


@postgresql_only
@pytest.mark.promise("P3")
def test_claim_of_another_host_sees_nothing_of_what_a_claim_has_opened_for_itself(
    database: Database, store: Store, jobrunner: Commands
) -> None:
    queue(database, "restart", only_host="web1")
    request = ClaimRequest(Owner("web2", "w"), "t" * 32, [Policy("restart")], 5, 5, timedelta(minutes=1))

    def claim_beside(connection: Any) -> None:
        with own_runs.opened(connection, "web1", ["restart"]):
            done = jobrunner.tick(env={"JOBRUNNER_HOST": "web2"})
            assert done.stderr == ""
            with closing(Store(locate(database.url), patience=timedelta(seconds=20))) as other:
                assert other.write(lambda each: claims.claim(each, request)).runs == []

    store.write(claim_beside)
    assert database.query("SELECT status, only_host FROM job_runs") == [{"status": "queued", "only_host": "web1"}]


@pytest.mark.promise("P3")
def test_tick_of_the_first_release_on_the_new_tables_neither_expands_nor_claims_what_is_for_one_host(
    hosts: Hosts, first_release: Release
) -> None:
    hosts.jobrunner("migrate")
    # On SQLite the clock of the tests went with the tables.
    go_to(hosts.database, NOON + MINUTE)
    hosts.add()
    hosts.tick("web1", "web2")
    hosts.fail_on("web2")
    hosts.at(HOUR, "web1", "web2")
    (run_id,) = (row["id"] for row in hosts.database.query("SELECT id FROM job_runs WHERE status = 'failed'"))
    make_due(hosts.database, run_id)
    # On another host, and on its own: an older tick does not know for which host it is.
    for host in ("web1", "web2"):
        first_release("tick", env=hosts.env(host))
    go_to(hosts.database, NOON + 2 * HOUR)
    first_release("tick", env=hosts.env("web1"))
    assert [each for each in hosts.ran() if each[1] == 2] == []
    # One that it recovers, because its owner was killed, stays with its host.
    hosts.tick("web1")
    hosts.database.execute(
        "UPDATE job_runs SET status = 'running', locked_by = 'w', host = 'web2', lease_token = 't', locked_until = ?"
        " WHERE id = ?",
        [hosts.database.now() - HOUR, run_id],
    )
    first_release("tick", env=hosts.env("web1"))
    make_due(hosts.database, run_id)
    first_release("tick", env=hosts.env("web1"))
    hosts.tick("web1")
    row = run_of(hosts.database, run_id)
    assert (row["status"], row["only_host"]) == ("failed", "web2")
    assert {each["host"] for each in attempts_of(hosts.database, run_id)} == {"web2"}


@pytest.mark.promise("P3")
def test_change_of_the_schedule_is_one_of_all_its_hosts(hosts: Hosts, store: Store) -> None:
    hosts.add("--jitter", "10m")
    hosts.tick("web1", "web2")
    jobrunner = hosts.jobrunner

    def of_hosts(column: str) -> dict[str, Any]:
        rows = hosts.database.query(f"SELECT name, {column} AS it FROM job_definitions WHERE removed_at IS NULL")
        return {row["name"]: row["it"] for row in rows}

    # The names differ, and so does the jitter: not all hosts begin in the same second.
    hosts.at(HOUR)
    hosts.at(HOUR + 11 * MINUTE, "web1", "web2")
    assert len({row["run_at"] for row in hosts.database.query("SELECT run_at FROM job_runs")}) == 2
    jobrunner("schedule", "pause", "logs")
    assert None not in of_hosts("paused_at").values()
    hosts.at(2 * HOUR + 30 * MINUTE, "web1", "web2")
    jobrunner("schedule", "resume", "logs")
    assert set(of_hosts("paused_at").values()) == {None}
    jobrunner("schedule", "pause", "logs@web2")
    jobrunner("schedule", "edit", "logs", "--cron", "30 * * * *", "--jitter", "none", "--name", "log files")
    assert of_hosts("schedule") == dict.fromkeys(("log files", "log files@web1", "log files@web2"), "30 * * * *")
    jobrunner.refused(1, "schedule", "edit", "log files@web1", "--cron", "@daily", says=("of the host web1",))
    hosts.at(3 * HOUR + 31 * MINUTE, "web1", "web2")
    assert [each[0] for each in hosts.ran() if each[1] == 3] == ["log files@web1"]
    jobrunner("schedule", "resume", "log files@web2")
    made = jobrunner("schedule", "trigger", "log files").stdout.split()
    hosts.tick("web2", "web1")
    rows = [attempts_of(hosts.database, int(each)) for each in made]
    assert [(row["status"], row["host"]) for (row,) in rows] == [("succeeded", "web1"), ("succeeded", "web2")]
    span = ("--since", "2026-05-01T12:00Z", "--until", "2026-05-01T13:00Z")
    jobrunner.refused(2, "schedule", "backfill", "log files", *span, says=("log files@web1", "log files@web2"))
    jobrunner("schedule", "edit", "log files", "--on", "any-host")
    assert of_hosts("name") == {"log files": "log files"}
    hosts.at(4 * HOUR + 31 * MINUTE, "web1", "web2")
    assert [each[0] for each in hosts.ran() if each[1] == 4] == ["log files"]
    jobrunner("schedule", "edit", "log files", "--on", "every-host")
    assert set(of_hosts("name")) == {"log files", "log files@web1", "log files@web2"}
    jobrunner("schedule", "remove", "log files")
    assert of_hosts("name") == {}


def test_host_whose_name_is_too_long_is_named_as_the_problem_of_the_schedule(hosts: Hosts) -> None:
    hosts.add()
    hosts.tick("h" * 198)
    (row,) = hosts.database.query("SELECT last_error FROM job_definitions")
    assert row["last_error"].startswith(f"no slot gets a run on {'h' * 198}: the name")
    assert json.loads(hosts.jobrunner("schedule", "list", "--json").stdout)[0]["problem"] == row["last_error"]


def test_example_of_the_pages_runs_on_each_host(jobrunner: Commands, app: App, database: Database) -> None:
    """Imported from the crontab of each host, too, whose commands may differ."""
    name = "tests/schedules/test_every_host.py::test_example_of_the_pages_runs_on_each_host"
    (block,) = pages.checked_by(name)
    crontab = app.path("crontab")
    for host in ("web1", "web2"):
        file = app.path(f"{host}.toml")
        env = {"JOBRUNNER_HOST": host, "JOBRUNNER_CONFIG": str(file), "JOBRUNNER_IMPORT": None}
        crontab.write_text(f"* * * * * echo {host}\n")
        file.write_text(block.text.replace("/usr/sbin/logrotate", "/bin/echo"))
        jobrunner("schedule", "import", crontab, "--every-host", "-o", file, env=env)
        jobrunner("apply", env=env)
        jobrunner.tick(env=env)
        database.move_clock(MINUTE)
        jobrunner.tick(env=env)
    runs = database.query("SELECT host, output FROM job_attempts ORDER BY id")
    assert {row["host"] for row in runs} == {"web1", "web2"}
