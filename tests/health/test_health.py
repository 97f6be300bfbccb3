"""`jobrunner health` and the findings of `status`: what is printed, and what the page says of it."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from harness import Commands, Database, pages, postgresql_only
from harness.commands import COMMAND
from harness.planted import HOUR, MINUTE, dead_runs, insert_ticks, old_runs, schedule
from jobrunner.errors import ConfigurationError
from jobrunner.settings import config


def test_health_is_one_line_for_each_finding_and_its_exit_status_says_whether_there_is_any(
    jobrunner: Commands, database: Database
) -> None:
    jobrunner.tick()
    done = jobrunner("health")
    assert (done.stdout, done.stderr) == ("ok: nothing is wrong\n", "")
    assert jobrunner("health", "--json").json()["findings"] == []
    schedule(database, "night\x1b[2Jly; rm -rf", last_error="what\n\x1b[31m")
    dead_runs(database, 1, MINUTE)
    done = jobrunner("health", check=False)
    assert (done.returncode, done.stderr) == (1, "")
    first, second = done.stdout.splitlines()
    assert first.startswith("CRITICAL broken_schedules: 1 schedule without runs: night")
    assert first.endswith(": jobrunner explain 'night\\x1b[2Jly; rm -rf'")
    assert second.startswith(
        "WARNING dead: 1 run died in the last hour: 1 of report; repair the cause that jobrunner show "
    )
    assert "\x1b" not in done.stdout
    found = json.loads(jobrunner("health", "--json", check=False).stdout)
    assert (found["healthy"], [each["name"] for each in found["findings"]]) == (False, ["broken_schedules", "dead"])
    assert set(found["findings"][0]) == {"name", "severity", "sentence", "remedy", "detail", "about"}
    assert jobrunner("health", "--only", "ticks_stopped", "--only", "overdue").returncode == 0
    assert jobrunner("health", "--only", "dead", check=False).returncode == 1
    jobrunner.refused(2, "health", "--only", "dead,overdue", says=["is now: --only dead --only overdue"])
    assert "uncertain_effects" in jobrunner.refused(2, "health", "--only", "deaad")


def test_thresholds_come_from_a_table_or_the_environment(tmp_path: Path) -> None:
    (block,) = pages.checked_by("tests/health/test_health.py::test_thresholds_come_from_a_table_or_the_environment")
    file = tmp_path / "jobrunner.toml"
    file.write_text(block.text)
    environ = {"JOBRUNNER_CONFIG": str(file)}
    found = config.load(environ).health
    assert (found.tick_age, found.dead, found.overdue) == (11 * MINUTE, 20, 10 * MINUTE)
    assert config.load({**environ, "JOBRUNNER_HEALTH_DEAD": "7"}).health.dead == 7
    for text, words in (
        ("[health]\ndeaad = 1", "did you mean 'health_dead'?"),
        ("[health]\ndead = 1\n[settings]\nhealth_dead = 2", "[health] has it, too"),
        ("[health]\ntick_age = 'soon'", "health_tick_age"),
    ):
        file.write_text(text)
        with pytest.raises(ConfigurationError, match=re.escape(words)):
            config.load(environ)


def test_the_outputs_of_the_page_are_what_is_printed(jobrunner: Commands, database: Database) -> None:
    printed, check = pages.checked_by("tests/health/test_health.py::test_the_outputs_of_the_page_are_what_is_printed")
    dead_runs(database, 1, MINUTE, "import")
    old_runs(database, 2, 35 * HOUR, "send_report")
    insert_ticks(database, "alpha", 35 * HOUR)
    done = jobrunner("health", check=False)

    def lasting(text: str) -> str:
        return re.sub(r"20\d\d-\S+Z", "…", re.sub(r"(?<=\dh)\d+[ms]|(?<=\dm)\d+s", "", text))

    assert lasting(done.stdout) == lasting(printed.text.partition("\n")[2])
    checked = subprocess.run(["sh", "-c", check.text.replace("jobrunner", COMMAND)], env=jobrunner.environment())
    assert checked.returncode == 2


def test_the_probe_of_the_page_is_a_command(jobrunner: Commands, database: Database) -> None:
    (block,) = pages.checked_by("tests/health/test_health.py::test_the_probe_of_the_page_is_a_command")
    _, *words = yaml.safe_load(block.text)["readinessProbe"]["exec"]["command"]
    insert_ticks(database, "alpha")
    dead_runs(database, 1, MINUTE)
    assert jobrunner(*words).returncode == 0
    database.execute("DELETE FROM job_ticks")
    assert jobrunner(*words, check=False).returncode == 1


def test_a_database_that_cannot_be_reached_is_one_line(jobrunner: Commands) -> None:
    jobrunner.refused(69, "health", env={"JOBRUNNER_DATABASE_URL": "postgresql://127.0.0.1:1/none"})


def test_status_says_first_what_is_wrong(jobrunner: Commands, database: Database) -> None:
    """Ticks that stopped 35 hours ago were to be inferred: `due now 0`, and exit status 0."""
    insert_ticks(database, "alpha", 35 * HOUR)
    dead_runs(database, 1, MINUTE)
    done = jobrunner("status")
    first, second, third = done.stdout.splitlines()[:3]
    assert first.startswith("database ")
    assert second.startswith("CRITICAL   no tick has started for 1d11h on any host: the last one was on alpha at 20")
    assert third.startswith(
        "WARNING    1 run died in the last hour: 1 of report; repair the cause that jobrunner show "
    )
    assert [each["name"] for each in jobrunner.status()["findings"]] == ["ticks_stopped", "dead"]


def test_cron_without_the_handlers_is_told_although_its_ticks_end_well(jobrunner: Commands, database: Database) -> None:
    old_runs(database, 1, HOUR, "echo")
    jobrunner.tick(env={"JOBRUNNER_IMPORT": None})
    (line,) = jobrunner("health", check=False).stdout.splitlines()
    assert line.startswith("CRITICAL unknown_types: due, and no host that ticks has a handler: 1 run of echo for 1h")
    assert "knows no types at all; look at JOBRUNNER_IMPORT" in line
    jobrunner.tick()
    assert jobrunner("health").returncode == 0


@postgresql_only
def test_a_host_whose_clock_is_wrong_is_told(jobrunner: Commands, database: Database) -> None:
    database.move_clock(HOUR)
    jobrunner.tick()
    (line,) = jobrunner("health", check=False).stdout.splitlines()
    assert re.match(r"WARNING clock_skew: the clock of this host is (1h|59m\d+s) behind that of the database", line)
