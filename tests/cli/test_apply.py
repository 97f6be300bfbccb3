"""`jobrunner apply` writes what code and jobrunner.toml declare, deploy, and changes no other schedule."""

from datetime import UTC, datetime

import pytest

from harness import App, Commands, Database
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


@pytest.mark.promise("P12")
def test_code_and_file_become_definitions_once(jobrunner: Commands, app: App, database: Database) -> None:
    declare(app, code=CODE, file=FILE)
    assert applied(jobrunner) == {"added": NAMES, "changed": {}, "disabled": [], "unchanged": 0}
    found = definitions(database)
    assert {name: (row["job_type"], row["source"]) for name, row in found.items()} == {
        "backup": ("backup", "file"),
        "hourly": ("send", "file"),
        "nightly": ("nightly", "code"),
        "send de": ("send", "code"),
        "send fr": ("send", "code"),
    }
    assert (found["nightly"]["schedule"], found["nightly"]["timezone"]) == ("0 2 * * *", "Europe/Berlin")
    assert [found[name]["payload"] for name in NAMES] == [{}, {"to": "all"}, {}, {"to": "de"}, {"to": "fr"}]
    assert found["send de"]["description"] == "the Germans"
    french = found["send fr"]
    assert (french["misfire"], french["misfire_window"], french["jitter"]) == ("all", 7200, 300)
    assert (found["backup"]["overlap"], found["backup"]["ends_at"]) == ("queue", datetime(2099, 12, 31, 23, tzinfo=UTC))
    assert all(row["next_run_at"] > database.now() for row in found.values())
    events = database.query("SELECT actor, action, detail FROM job_events")
    assert {each["action"] for each in events} == {"add schedule"}
    assert {each["detail"]["name"] for each in events} == set(NAMES)
    assert all("@" in each["actor"] for each in events)
    before = everything(database)
    assert applied(jobrunner) == nothing(5)
    assert everything(database) == before


def test_apply_prints_what_is_added_changed_and_disabled(jobrunner: Commands, app: App, database: Database) -> None:
    declare(app, code=CODE, file=FILE)
    first = jobrunner("apply")
    assert first.stderr == ""
    assert first.stdout.splitlines() == [
        "+ backup: backup at 0 3 * * * America/New_York (jobrunner.toml)",
        '+ hourly: send {"to": "all"} at @hourly UTC (jobrunner.toml)',
        "+ nightly: nightly at 0 2 * * * Europe/Berlin (the code)",
        '+ send de: send {"to": "de"} at @daily UTC (the code)',
        '+ send fr: send {"to": "fr"} at 30 8 * * mon UTC (the code)',
        "5 added, 0 unchanged",
    ]
    changed = CODE.replace("0 2 * * *", "15 2 * * *").replace('"de"}', '"at"}').replace('jitter="5m"', 'jitter="90s"')
    declare(app, code=changed, file=FILE.replace("ends_at", "# ends_at").split("[schedules")[0])
    expected = [
        "~ backup",
        "    ends_at: 2099-12-31T23:00:00Z -> -",
        "~ nightly",
        "    schedule: 0 2 * * * -> 15 2 * * *",
        "~ send de",
        '    payload: {"to": "de"} -> {"to": "at"}',
        "~ send fr",
        "    jitter: 300s -> 90s",
        "- hourly: no longer in jobrunner.toml",
    ]
    before = everything(database)
    for words in (["--dry-run"], ["--check"]):
        dry = jobrunner("apply", *words, check=False)
        assert (dry.returncode, dry.stderr) == (int(words == ["--check"]), "")
        assert dry.stdout.splitlines() == [*expected, "4 changed, 1 disabled, 0 unchanged (nothing was written)"]
        assert everything(database) == before
    assert jobrunner("apply").stdout.splitlines() == [*expected, "4 changed, 1 disabled, 0 unchanged"]
    assert jobrunner("apply", "--check").stdout == "nothing to do, 4 unchanged (nothing was written)\n"
    assert set(definitions(database)) == {"backup", "nightly", "send de", "send fr"}
    edits = database.query("SELECT detail FROM job_events WHERE action = 'edit schedule' ORDER BY id")
    assert edits[1]["detail"]["changed"] == {"schedule": {"from": "0 2 * * *", "to": "15 2 * * *"}}
    assert len(edits) == 4
    assert ("remove schedule", "hourly") in trail(database)


def test_definitions_made_by_command_are_left_alone(jobrunner: Commands, app: App, database: Database) -> None:
    jobrunner("schedule", "add", "mine", "--type", "echo", "--cron", "@daily")
    declare(app, code=CODE, file=FILE)
    before = definitions(database)["mine"]
    assert applied(jobrunner)["added"] == NAMES
    declare(app, code="", file="")
    assert sorted(applied(jobrunner)["disabled"]) == NAMES
    assert definitions(database) == {"mine": before}


def test_declared_name_of_a_schedule_added_by_command_is_refused(
    jobrunner: Commands, app: App, database: Database
) -> None:
    jobrunner("schedule", "add", "send de", "--type", "echo", "--cron", "@daily")
    declare(app, code=CODE, file=FILE)
    before = everything(database)
    for words in ([], ["--dry-run"], ["--json"]):
        said = ["'send de'", "handler send", "by command", "jobrunner schedule remove 'send de'"]
        jobrunner.refused(1, "apply", *words, says=said)
        assert everything(database) == before
    # The remedy.
    jobrunner("schedule", "remove", "send de")
    assert sorted(applied(jobrunner)["added"]) == NAMES
    assert definitions(database)["send de"]["id"] == before[0][0]["id"]


def test_name_declared_by_code_and_file_is_refused(jobrunner: Commands, app: App, database: Database) -> None:
    declare(app, code=CODE, file=FILE.replace("s.hourly", "s.nightly"))
    before = everything(database)
    jobrunner.refused(78, "apply", says=["'nightly'", "handler nightly", "jobrunner.toml", "rename one"])
    assert everything(database) == before


def test_two_applies_and_a_command_that_adds_the_same_name_leave_nothing_half_written(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """A command adds the name while applies run: the second one is refused, and nothing is half written."""
    declare(app, code=CODE, file=FILE)
    adding = ["schedule", "add", "send fr", "--type", "echo", "--cron", "@daily"]
    started = [jobrunner.start(*words) for words in (["apply"], adding, ["apply"], adding)]
    ends = [process.communicate(timeout=60) for process in started]
    codes = [process.returncode for process in started]
    found = definitions(database)
    if found["send fr"]["source"] == "code":
        assert codes == [0, 1, 0, 1], ends
        assert sorted(found) == NAMES
    else:
        assert (codes[0], codes[2], sorted((codes[1], codes[3]))) == (1, 1, [0, 1]), ends
        assert sorted(found) == ["send fr"]


BROKEN = {
    "no such module": ("", "no_such_module"),
    "a syntax error": ("def", "SyntaxError"),
    "a bad schedule": (one("bad", "61 * * * *"), "scheduled"),
    "a bad zone": (one("bad", timezone="Mars/Phobos"), "Mars/Phobos"),
    "a payload that does not fit": (CODE.replace('payload={"to": "de"}', "payload={}"), "missing argument 'to'"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_code_that_cannot_be_imported_changes_nothing(
    what: str, jobrunner: Commands, app: App, database: Database
) -> None:
    """Else one broken import would disable every schedule."""
    deploy(jobrunner, code=CODE, file=FILE)
    before = everything(database)
    source, says = BROKEN[what]
    declare(app, code=source, file="")
    env = {"JOBRUNNER_IMPORT": "handlers,no_such_module"} if not source else {}
    jobrunner.refused(78, "apply", env=env, says=["importing the handler module", says])
    assert everything(database) == before


FORGED = {
    "a field missing": ("{'name': 'x'}", "handshake is invalid"),
    "a number": ("7", "handshake is invalid"),
    "a name of escapes": ("{**real(each), 'name': chr(27)}", "none of them invisible"),
    "a time without its offset": ("{**real(each), 'ends_at': '2030-01-01T00:00:00'}", "ends_at"),
}


@pytest.mark.promise("P13")
@pytest.mark.parametrize("what", FORGED)
def test_a_handshake_that_a_module_has_forged_is_refused(
    what: str, jobrunner: Commands, app: App, database: Database
) -> None:
    """What a child says goes into the database: it is checked by the parent, whatever the child has checked."""
    forged, says = FORGED[what]
    patch = f"""
import jobrunner.schedules.declare
real = jobrunner.schedules.declare.as_data
jobrunner.schedules.declare.as_data = lambda each: {forged}
"""
    declare(app, code=CODE + patch)
    jobrunner.refused(78, "apply", says=[says])
    assert everything(database) == [[], [], []]


def test_a_schedule_of_the_file_that_cannot_be_used_changes_nothing(
    jobrunner: Commands, app: App, database: Database
) -> None:
    deploy(jobrunner, code=CODE, file=FILE)
    before = everything(database)
    for old, new, where, says in (
        ("0 3 * * *", "0 25 * * *", "jobs.backup", "25"),
        ("America/New_York", "America/New_Yrok", "jobs.backup", "New_Yrok"),
        ('"queue"', '"queued"', "jobs.backup", "overlap"),
        ("+01:00", "", "jobs.backup", "ends_at"),
        ('"all"', "nan", "schedules.hourly", "nan"),
        ('"all"', "2026-01-01", "schedules.hourly", "date"),
        ("hourly]", '"a\\u001b[2Jb"]', "schedules.a", "none of them invisible"),
    ):
        declare(app, file=FILE.replace(old, new))
        # A tick has no use for it, and goes on.
        assert jobrunner.tick().stderr == ""
        assert "\x1b" not in jobrunner.refused(78, "apply", says=[str(app.path("jobrunner.toml")), where, says])
    found = everything(database)
    assert found == before


def test_apply_reports_a_schedule_of_an_unknown_job_type(jobrunner: Commands, app: App, database: Database) -> None:
    declare(app, file='[schedules.s]\njob = "sned"\nschedule = "@daily"\n')
    done = jobrunner("apply")
    assert done.stdout.splitlines() == ["+ s: sned at @daily UTC (jobrunner.toml)", "1 added, 0 unchanged"]
    assert done.stderr == (
        "jobrunner: schedules.s: this host has no handler for 'sned'; its runs wait for a host that has one\n"
    )
    assert definitions(database)["s"]["job_type"] == "sned"
