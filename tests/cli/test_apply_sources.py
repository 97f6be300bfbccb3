"""A host changes only the schedules of the sources that it has, and a schedule that moves keeps its history."""

from datetime import timedelta

import pytest

from harness import App, Commands, Database, postgresql_only
from harness.declarations import (
    CODE,
    FILE,
    NAMES,
    applied,
    declare,
    definitions,
    deploy,
    everything,
    nothing,
    one,
    trail,
)
from harness.idle_ticks import quiet_hour, tick
from harness.slots import NO_HANDLERS, expand, go_to, skipped_ranges, slots_with_runs, utc

IN_FILE = '[schedules.{name}]\njob = "scheduled"\nschedule = "{expression}"\n'


def test_a_host_without_the_code_leaves_its_schedules_alone(jobrunner: Commands, app: App, database: Database) -> None:
    deploy(jobrunner, code=CODE, file=FILE)
    before = definitions(database)
    done = jobrunner("apply", env=NO_HANDLERS)
    assert done.stdout.splitlines() == [
        (
            "3 of the code left alone: this host does not have that source; if no host has it any more,"
            " run: jobrunner apply --gone code"
        ),
        "nothing to do, 2 unchanged",
    ]
    assert applied(jobrunner, env={"JOBRUNNER_APP_DIR": None, "PYTHONPATH": str(app.folder)}) == nothing(3)
    assert definitions(database) == before


def test_apply_on_a_host_without_any_source_is_refused(jobrunner: Commands, app: App, database: Database) -> None:
    deploy(jobrunner, code=CODE, file=FILE)
    before = everything(database)
    env = {"JOBRUNNER_APP_DIR": None, "JOBRUNNER_IMPORT": None}
    jobrunner.refused(78, "apply", env=env, says=["nothing to apply", "JOBRUNNER_IMPORT", "jobrunner.toml"])
    assert everything(database) == before


def test_the_last_schedule_of_each_source_can_go(jobrunner: Commands, app: App, database: Database) -> None:
    declare(app, code=one("of code"), file=IN_FILE.format(name="of-file", expression="@daily"))
    assert applied(jobrunner)["added"] == ["of code", "of-file"]
    declare(app, code="", file="")
    assert applied(jobrunner)["disabled"] == ["of code", "of-file"]
    assert definitions(database) == {}


def test_gone_disables_schedules_of_a_source_that_no_host_has(
    jobrunner: Commands, app: App, database: Database
) -> None:
    deploy(jobrunner, code=CODE, file=FILE)
    before = everything(database)
    jobrunner.refused(78, "apply", "--gone", "code", says=["--gone code", "JOBRUNNER_IMPORT is set"])
    jobrunner.refused(78, "apply", "--gone", "file", says=["--gone file", "jobrunner.toml"])
    assert everything(database) == before
    app.path("jobrunner.toml").unlink()
    assert applied(jobrunner, "--gone", "file") == {
        "added": [],
        "changed": {},
        "disabled": ["backup", "hourly"],
        "unchanged": 3,
    }
    assert applied(jobrunner, "--gone", "code", env=NO_HANDLERS)["disabled"] == ["nightly", "send de", "send fr"]
    assert definitions(database) == {}
    assert sorted(name for action, name in trail(database) if action == "remove schedule") == NAMES


def test_a_name_of_a_source_that_this_host_lacks_is_refused(jobrunner: Commands, app: App, database: Database) -> None:
    """It cannot know whether the definition has moved into its file, or belongs to code that still declares it."""
    deploy(jobrunner, code=one("nightly"))
    declare(app, file=IN_FILE.format(name="nightly", expression="@hourly"))
    before = everything(database)
    says = ["'nightly'", "the code", "jobrunner.toml", "a host that has both"]
    jobrunner.refused(1, "apply", env=NO_HANDLERS, says=says)
    assert everything(database) == before


@pytest.mark.promise("P3", "P12")
def test_schedule_moved_from_code_to_file_keeps_its_history(jobrunner: Commands, app: App, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    deploy(jobrunner, code=one("moving", "@hourly"))
    go_to(database, utc(2026, 5, 1, 13, 0, 1))
    jobrunner.tick()
    before = definitions(database)["moving"]
    declare(app, code='@job("scheduled")\ndef scheduled(ctx: Context): ...\n')
    declare(app, file=IN_FILE.format(name="moving", expression="@hourly"))
    assert applied(jobrunner)["changed"] == {"moving": {"source": ("code", "file")}}
    after = definitions(database)["moving"]
    assert after == {**before, "source": "file", "updated_at": after["updated_at"]}
    assert applied(jobrunner) == nothing(1)
    go_to(database, utc(2026, 5, 1, 14, 0, 1))
    jobrunner.tick()
    assert slots_with_runs(database, "moving") == [utc(2026, 5, 1, 13), utc(2026, 5, 1, 14)]
    assert trail(database) == [("add schedule", "moving"), ("edit schedule", "moving")]


@pytest.mark.promise("P3")
def test_schedule_declared_again_gets_no_past_runs_and_no_slot_twice(
    jobrunner: Commands, app: App, database: Database
) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    deploy(jobrunner, code=one("here and there", "@hourly", overlap="allow"))
    expand(jobrunner, utc(2026, 5, 1, 13, 0, 1))
    (before,) = definitions(database).values()
    deploy(jobrunner, code="")
    go_to(database, utc(2026, 5, 1, 13, 30))
    deploy(jobrunner, code=one("here and there", "@hourly", overlap="allow"))
    # Still within the hour of its last slot, and with the clock behind it.
    go_to(database, utc(2026, 5, 1, 12, 59, 59))
    deploy(jobrunner, code="")
    deploy(jobrunner, code=one("here and there", "@hourly", overlap="allow"))
    assert definitions(database)["here and there"]["last_slot_at"] >= utc(2026, 5, 1, 13, 30)
    for hour in (13, 14):
        expand(jobrunner, utc(2026, 5, 1, hour, 0, 1))
    deploy(jobrunner, code="")
    expand(jobrunner, utc(2026, 5, 3, 12, 30))
    declare(app, code=one("here and there", "@hourly", overlap="allow"))
    said = jobrunner("apply").stdout
    assert "was removed 2026-05-01 14:00:" in said
    jobrunner.tick(env=NO_HANDLERS)
    assert slots_with_runs(database, "here and there") == [utc(2026, 5, 1, 13), utc(2026, 5, 1, 14)]
    assert skipped_ranges(database, "here and there") == []
    assert definitions(database)["here and there"]["id"] == before["id"]
    assert [action for action, _ in trail(database)] == ["add schedule", "remove schedule"] * 3 + ["add schedule"]


@pytest.mark.promise("P3")
def test_edited_schedule_expands_due_slots_and_fires_none_twice(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """No tick came at 13:00; the deploy at 13:05 owes that slot to the old declaration."""
    go_to(database, utc(2026, 5, 1, 12))
    deploy(jobrunner, code=one("edited", "0 * * * *", payload={"v": 1}, overlap="allow"))
    go_to(database, utc(2026, 5, 1, 13, 5))
    deploy(jobrunner, code=one("edited", "*/5 * * * *", payload={"v": 2}, overlap="allow"))
    jobrunner.tick(env=NO_HANDLERS)
    assert slots_with_runs(database, "edited") == [utc(2026, 5, 1, 13)]
    expand(jobrunner, utc(2026, 5, 1, 13, 10, 1))
    # Back, when its old slot of 13:00 was the last: that instant is not named a second time.
    deploy(jobrunner, code=one("edited", "0 13 * * *", payload={"v": 2}, overlap="allow"))
    expand(jobrunner, utc(2026, 5, 1, 23, 59))
    rows = database.query("SELECT scheduled_for, payload FROM job_runs ORDER BY scheduled_for")
    assert [(row["scheduled_for"], row["payload"]) for row in rows] == [
        (utc(2026, 5, 1, 13), {"v": 1}),
        (utc(2026, 5, 1, 13, 10), {"v": 2}),
    ]
    assert skipped_ranges(database, "edited") == []


@pytest.mark.promise("P3")
def test_edit_without_a_new_expression_keeps_the_watermark(jobrunner: Commands, app: App, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    deploy(jobrunner, code=one("edited", "0 13 * * *"))
    before = definitions(database)["edited"]
    go_to(database, utc(2026, 5, 1, 12, 30))
    declare(app, code=one("edited", "0 13 * * *", payload={"v": 2}, description="new", overlap="allow"))
    assert applied(jobrunner)["changed"] == {
        "edited": {"payload": ({}, {"v": 2}), "description": (None, "new"), "overlap": ("skip", "allow")}
    }
    after = definitions(database)["edited"]
    assert (after["last_slot_at"], after["next_run_at"]) == (before["last_slot_at"], utc(2026, 5, 1, 13))
    expand(jobrunner, utc(2026, 5, 1, 13) + timedelta(seconds=1))
    assert slots_with_runs(database, "edited") == [utc(2026, 5, 1, 13)]


def test_a_pause_outlives_deploys(jobrunner: Commands, app: App, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    deploy(jobrunner, code=one("paused", "@hourly"))
    database.execute("UPDATE job_definitions SET paused_at = ?", [database.now()])
    paused_at = database.value("SELECT paused_at FROM job_definitions")
    for code in (one("paused", "*/5 * * * *"), "", one("paused", "@hourly")):
        go_to(database, database.now() + timedelta(hours=3))
        deploy(jobrunner, code=code)
        jobrunner.tick(env=NO_HANDLERS)
    assert database.value("SELECT paused_at FROM job_definitions") == paused_at
    assert slots_with_runs(database, "paused") == []


def test_true_and_one_are_different_in_a_payload(jobrunner: Commands, app: App, database: Database) -> None:
    """Python says that they are equal; a handler that gets them does not."""
    odd = {"a": 1, "b": [0, {"c": False}], "large": 1e16, "small": 5e-324, "whole": 1.0, "text": "é\u2028"}
    deploy(jobrunner, code=one("odd", payload=odd))
    assert applied(jobrunner) == nothing(1)
    declare(app, code=one("odd", payload={**odd, "a": True}))
    assert list(applied(jobrunner)["changed"]) == ["odd"]
    assert definitions(database)["odd"]["payload"]["a"] is True
    declare(app, code=one("odd", payload={**odd, "a": True, "b": [0, {"c": 0}]}))
    assert list(applied(jobrunner)["changed"]) == ["odd"]
    assert applied(jobrunner) == nothing(1)


def test_an_idle_tick_reads_no_schedule(jobrunner: Commands, app: App, database: Database) -> None:
    """Neither those of the file, which it reads for its settings, nor what it takes to read one."""
    deploy(jobrunner, code=CODE, file=FILE)
    quiet_hour(database)
    idle = tick(jobrunner)
    assert (idle.said, idle.was_short) == ("", True)
    assert idle.imported.isdisjoint(
        {"jobrunner.schedules.declare", "jobrunner.schedules.recurrence", "jobrunner.schedules.cron_fields"}
    )
    assert "jobrunner.settings.toml_schedules" in idle.imported


@postgresql_only
def test_crontab_of_two_hosts_in_one_database_is_reported_where_the_second_one_applies(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Under cron it ran on both hosts. Here each slot runs on one of them."""

    def declared(text: str, host: str, on: str = "any-host") -> str:
        declare(app, file=f'[jobs.certbot]\ncommand = {text}\nschedule = "0 4 * * *"\non = "{on}"\n')
        return jobrunner("apply", env={"JOBRUNNER_HOST": host}).stderr

    def ticked(host: str) -> None:
        jobrunner.enqueue("echo")
        jobrunner.tick(env={"JOBRUNNER_HOST": host})

    assert declared('["certbot", "renew"]', "web1") == ""
    ticked("web1")
    assert declared('["certbot", "renew"]', "web2") == ""
    assert declared('["certbot", "renew", "--quiet"]', "web1") == ""
    assert declared('["certbot", "renew", "--quiet"]', "web2") == (
        "jobrunner: schedules.certbot: the host web1 has another command for 'certbot'; each slot runs on one of the"
        ' hosts only, with its command; give the job on = "every-host" on each host, or another name\n'
    )
    # On every host each has its own command.
    assert declared('["certbot", "renew", "--quiet"]', "web2", "every-host") == ""
    assert declared('["certbot", "renew", "--quiet"]', "web2") != ""
    # web1 has the new file, too, from its next tick on.
    ticked("web1")
    assert declared('["certbot", "renew", "--quiet"]', "web2") == ""
