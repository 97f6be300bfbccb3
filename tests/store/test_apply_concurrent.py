"""`jobrunner apply` by several hosts and versions at once, beside ticks, killed midway, and with many schedules."""

import signal
import time
from datetime import timedelta
from pathlib import Path

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
from harness.slots import NO_HANDLERS, go_to, skipped_ranges, slots_with_runs, utc
from harness.waiting import stretched

VERSIONS = {
    "one": """
[schedules.kept]
job = "echo"
schedule = "0 2 * * *"
[schedules.edited]
job = "echo"
schedule = "0 3 * * *"
[schedules.only-one]
job = "echo"
schedule = "0 4 * * *"
""",
    "two": """
[schedules.only-two]
job = "echo"
schedule = "0 4 * * *"
[schedules.edited]
job = "echo"
schedule = "30 3 * * *"
[schedules.kept]
job = "echo"
schedule = "0 2 * * *"
""",
}
STATES = {
    "one": {"edited": "0 3 * * *", "kept": "0 2 * * *", "only-one": "0 4 * * *"},
    "two": {"edited": "30 3 * * *", "kept": "0 2 * * *", "only-two": "0 4 * * *"},
}


def deployed(tmp_path: Path) -> dict[str, dict[str, str | None]]:
    """Two versions of an application, as two hosts have them in the midst of a deploy."""
    environments: dict[str, dict[str, str | None]] = {}
    for name, text in VERSIONS.items():
        (tmp_path / f"{name}.toml").write_text(text)
        environments[name] = {
            "JOBRUNNER_CONFIG": str(tmp_path / f"{name}.toml"),
            "JOBRUNNER_IMPORT": None,
            "JOBRUNNER_HOST": name,
        }
    return environments


def state(database: Database) -> dict[str, str]:
    return {name: row["schedule"] for name, row in definitions(database).items()}


@pytest.mark.promise("P3")
def test_concurrent_applies_of_two_versions_leave_one_version_complete(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    environments = deployed(tmp_path)
    for round_ in range(3):
        if round_ == 2:
            # The first time that anything is declared at all is a race of its own.
            for table in ("job_events", "job_definitions"):
                database.execute(f"DELETE FROM {table}")
        started = [jobrunner.start("apply", env=environments[name]) for name in ("one", "two") * 3]
        ends = [process.communicate(timeout=60) for process in started]
        assert [process.returncode for process in started] == [0] * 6, ends
        assert state(database) in STATES.values()
        assert database.value("SELECT count(*) FROM job_definitions") == 4
        for name in ("one", "two"):
            applied(jobrunner, env=environments[name])
            assert state(database) == STATES[name]
            assert applied(jobrunner, env=environments[name]) == nothing(3)
    # Everything that was done was told, and nothing that was not.
    actions = trail(database)
    for name in ("only-one", "only-two"):
        of_name = [action for action, each in actions if each == name]
        pairs = ["add schedule", "remove schedule"] * len(of_name)
        assert of_name == pairs[: len(of_name)]


@pytest.mark.promise("P3", "P12")
def test_applies_and_ticks_at_once_fire_each_slot_once(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    """The slot is due by the old declaration when half of the hosts bring a new one."""
    environments = deployed(tmp_path)
    go_to(database, utc(2026, 5, 1, 2, 30))
    jobrunner("apply", env=environments["one"])
    go_to(database, utc(2026, 5, 1, 3, 10))
    words = [("apply", "two"), ("tick", "one"), ("tick", "two"), ("apply", "two"), ("tick", "one")]
    started = [jobrunner.start(command, env=environments[name]) for command, name in words]
    ends = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0] * 5, ends
    assert slots_with_runs(database, "edited") == [utc(2026, 5, 1, 3)]
    database.execute("UPDATE job_runs SET status = 'succeeded', finished_at = ?", [database.now()])
    go_to(database, utc(2026, 5, 1, 3, 30, 1))
    jobrunner.tick(env=environments["two"])
    assert slots_with_runs(database, "edited") == [utc(2026, 5, 1, 3), utc(2026, 5, 1, 3, 30)]
    assert skipped_ranges(database, "edited") == []


@pytest.mark.parametrize("action", ["kill", "cut"])
def test_killed_apply_has_written_nothing(action: str, jobrunner: Commands, app: App, database: Database) -> None:
    deploy(jobrunner, code=CODE, file=FILE)
    before = everything(database)
    changed = CODE.replace("0 2 * * *", "15 2 * * *").replace("send fr", "send it")
    declare(app, code=changed, file=FILE.replace("@hourly", "@weekly"))
    trace = app.path("faults")
    faults = {"JOBRUNNER_FAULT": f"change.before_commit={action}", "JOBRUNNER_FAULT_TRACE": str(trace)}
    died = jobrunner("apply", env=faults, check=False)
    assert trace.read_text().startswith("change.before_commit")
    assert (died.returncode, died.stdout) == (-signal.SIGKILL if action == "kill" else 69, "")
    assert everything(database) == before
    done = applied(jobrunner)
    assert (done["added"], sorted(done["changed"]), done["disabled"]) == (
        ["send it"],
        ["hourly", "nightly"],
        ["send fr"],
    )
    assert applied(jobrunner) == nothing(5)


MANY = """
from jobrunner import Schedule

@job("many", schedule=[
    Schedule(f"{{number % 60}} {hour} * * *", name=f"many {{number:04}}", payload={{"number": number}})
    for number in range({count})
])
def many(ctx: Context, number: int): ...
"""


@pytest.mark.long(sample=0.5)
@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.long)])
def test_apply_writes_a_thousand_schedules(jobrunner: Commands, app: App, database: Database, count: int) -> None:
    """Declared, changed, expanded and disabled in one transaction each, in seconds."""
    go_to(database, utc(2026, 5, 1, 12))
    began = time.monotonic()
    declare(app, code=MANY.format(hour=13, count=count))
    assert len(applied(jobrunner)["added"]) == count
    assert applied(jobrunner) == nothing(count)
    go_to(database, utc(2026, 5, 1, 13, 30, 1))
    declare(app, code=MANY.format(hour=14, count=count - 10))
    done = applied(jobrunner)
    assert (len(done["changed"]), len(done["disabled"]), done["unchanged"]) == (count - 10, 10, 0)
    # The slots that were due by the old declaration, and had no tick; also of those that are declared no more.
    due = [number for number in range(count) if number % 60 <= 30]
    rows = database.query("SELECT payload, scheduled_for FROM job_runs")
    assert sorted(row["payload"]["number"] for row in rows) == due
    assert {row["scheduled_for"].hour for row in rows} == {13}
    jobrunner.tick(env=NO_HANDLERS)
    assert database.value("SELECT count(*) FROM job_runs") == len(due)
    declare(app, code="")
    assert len(applied(jobrunner)["disabled"]) == count - 10
    assert definitions(database) == {}
    assert time.monotonic() - began < stretched(90)
    assert len(trail(database)) == count + (count - 10) + count


HOSTILE = "\x1b[2J\x07\r\n\t\x9b31m\u202edrow\u2066 é ' \" ; -- {}"


def test_hostile_texts_are_escaped_in_the_diff(jobrunner: Commands, app: App, database: Database) -> None:
    declare(app, code=one("kind", payload={"a": HOSTILE}, description=HOSTILE))
    ends = [jobrunner("apply", "--dry-run"), jobrunner("apply", "--json"), jobrunner("apply")]
    assert definitions(database)["kind"]["payload"] == {"a": HOSTILE}
    # What somebody wrote by hand.
    database.execute(
        "UPDATE job_definitions SET job_type = ?, schedule = ?, timezone = ?, description = ?",
        [HOSTILE, HOSTILE, HOSTILE, HOSTILE * 100],
    )
    now = database.now()
    database.execute(
        "INSERT INTO job_definitions (name, job_type, payload, schedule, timezone, source, last_slot_at, created_at,"
        " updated_at) VALUES (?, 'echo', '{}', '@daily', 'UTC', 'code', ?, ?, ?)",
        [HOSTILE, now, now, now],
    )
    ends += [jobrunner("apply", "--dry-run"), jobrunner("apply", "--dry-run", "--json"), jobrunner("apply")]
    for done in ends:
        assert [line for line in done.stdout.split("\n") if not line.isprintable()] == []
        assert "--json" in done.args or max(map(len, done.stdout.split("\n"))) < 1000
        assert done.stderr == ""
    assert ends[-1].stdout.count("\n") == 1 + 4 + 1 + 1
    assert applied(jobrunner) == nothing(1)
    jobrunner.tick(env=NO_HANDLERS)


def test_apply_corrects_a_definition_broken_by_hand(jobrunner: Commands, app: App, database: Database) -> None:
    go_to(database, utc(2026, 5, 1, 12))
    deploy(jobrunner, code=one("mended", "@hourly"))
    database.execute("UPDATE job_definitions SET schedule = 'whenever', next_run_at = NULL")
    jobrunner.tick(env=NO_HANDLERS)
    assert definitions(database)["mended"]["last_error"] is not None
    go_to(database, utc(2026, 5, 1, 15, 30))
    assert applied(jobrunner)["changed"] == {"mended": {"schedule": ("whenever", "@hourly")}}
    assert definitions(database)["mended"]["last_error"] is None
    database.move_clock(timedelta(minutes=30, seconds=1))
    jobrunner.tick(env=NO_HANDLERS)
    assert slots_with_runs(database, "mended") == [utc(2026, 5, 1, 16)]


def test_apply_lists_names_in_alphabetical_order(jobrunner: Commands, app: App, database: Database) -> None:
    """So that two hosts wait for each other in one order, and a person finds what she looks for."""
    declare(app, code=CODE, file=FILE)
    assert [line.split(":")[0] for line in jobrunner("apply").stdout.splitlines()[:-1]] == [f"+ {n}" for n in NAMES]
