"""Settings that are wrong: the name of the setting is told before any database is touched."""

import ast
import re
from pathlib import Path

import pytest

import jobrunner
from harness import Commands, Database, sqlite_only
from harness.calls import WITH_A_SCHEMA
from jobrunner import __version__, names
from jobrunner.errors import ConfigurationError, UnknownVariable
from jobrunner.settings import config


@sqlite_only
def test_a_heartbeat_above_a_third_of_the_lease_is_refused(jobrunner: Commands) -> None:
    for heartbeat, code in (("10s", 0), ("10001ms", 78)):
        env = {"JOBRUNNER_LEASE": "30s", "JOBRUNNER_HEARTBEAT": heartbeat}
        done = jobrunner("tick", env=env, check=False)
        assert done.returncode == code
    assert "third of JOBRUNNER_LEASE" in done.stderr


MISSPELT = {
    "JOBRUNNER_DATABSE_URL": "JOBRUNNER_DATABASE_URL",
    "JOBRUNNER_DATABASE": "JOBRUNNER_DATABASE_URL",
    "JOBRUNNER_KEEP_DAED": "JOBRUNNER_KEEP_DEAD",
    "JOBRUNNER_database_url": "there are: JOBRUNNER_APPLICATION, ",
    "JOBRUNNER_": "there are: JOBRUNNER_APPLICATION, ",
}


@sqlite_only
def test_a_setting_that_is_misspelt_stops_every_command_before_it_goes_to_another_database(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    """Otherwise a tick would silently use the file in the home folder, and exit with 0."""
    env_file = tmp_path / "app.env"
    for name, meant in MISSPELT.items():
        with pytest.raises(ConfigurationError, match=f"^{name} is not a setting of this .*; .*{meant}"):
            config.load({name: database.url})
    env_file.write_text(f"JOBRUNNER_DATABSE_URL={database.url}\n")
    for words in (["tick"], ["status"], ["enqueue", "echo"], ["migrate"]):
        for env, more in (({"JOBRUNNER_DATABSE_URL": database.url}, []), ({}, ["--env-file", env_file])):
            done = jobrunner(*words, *more, env={"JOBRUNNER_DATABASE_URL": None, **env}, check=False)
            assert (done.returncode, done.stdout) == (78, ""), done
            assert done.stderr == (
                f"jobrunner: JOBRUNNER_DATABSE_URL is not a setting of this jobrunner ({__version__});"
                " did you mean 'JOBRUNNER_DATABASE_URL'?\n"
            )
    assert database.query("SELECT id FROM job_ticks") == []


# Those that need no database; completion has no settings, and doctor goes on to its other checks.
OTHERS = [["types"], ["migrate"], ["schedule", "next", "@daily"], ["schedule", "import", "-"], ["crontab", "line"]]


@sqlite_only
def test_variable_of_no_setting_stops_every_command(jobrunner: Commands, database: Database) -> None:
    """It names the version, because a newer one may know the variable: hosts are upgraded one by one."""
    for words in (*WITH_A_SCHEMA, *OTHERS):
        done = jobrunner(*words, env={"JOBRUNNER_KEEP_DAED": "1d"}, stdin="", check=False)
        assert (words, done.returncode, done.stdout) == (words, 78, "")
        assert done.stderr.startswith(
            f"jobrunner: JOBRUNNER_KEEP_DAED is not a setting of this jobrunner ({__version__}); did you mean"
        )


KUBERNETES = ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT", "PORT_80_TCP", "PORT_80_TCP_ADDR"]


def test_variables_of_an_orchestrator_are_not_taken_for_settings() -> None:
    """A job that calls jobrunner has variables of its run, and Kubernetes sets those of services named jobrunner."""
    told = ["RUN_ID", "JOB_TYPE", "ATTEMPT", "MAX_ATTEMPTS", "SLOT", "LATE_SECONDS", "TICK", "ENV_FILE", "FAULT"]
    names = [*told, *KUBERNETES, *(f"WEB_{name}" for name in KUBERNETES)]
    assert config.load({f"JOBRUNNER_{name}": "x" for name in names}) == config.load({})


def variables_in_the_code() -> set[str]:
    """Every name with our prefix that stands in the code, in one piece or put together from a list of names."""
    found = set()
    for file in Path(jobrunner.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(r"^JOBRUNNER_[A-Z]+(?:_[A-Z]+)*$", node.value))
    lists = [each for name, each in vars(names).items() if name.endswith("_FIELDS")]
    return found | {f"JOBRUNNER_{name.upper()}" for each in lists for name in each}


def test_no_variable_that_our_own_code_sets_or_reads_is_refused_as_a_misspelt_setting() -> None:
    """Whatever jobrunner starts may call jobrunner: a command, a handler, a program that receives notices."""
    found = variables_in_the_code()
    assert {"JOBRUNNER_SUBJECT", "JOBRUNNER_RUN_ID", "JOBRUNNER_TICK", "JOBRUNNER_IMPORT"} <= found
    refused = []
    for name in sorted(found):
        try:
            config.load({name: "1"})
        except UnknownVariable:
            refused.append(name)
        except ConfigurationError:
            continue  # a setting, whose value is wrong
    assert refused == []


def test_variables_that_are_put_together_come_from_the_list_of_their_names() -> None:
    """Otherwise the test above would not know them: a prefix followed by a computed name stands in few places."""
    made = {
        str(file.relative_to(Path(jobrunner.__file__).parent))
        for file in Path(jobrunner.__file__).parent.rglob("*.py")
        if re.search(r'f"JOBRUNNER_\{|"JOBRUNNER_" \+|f"\{_?PREFIX\}', file.read_text())
    }
    assert made == {
        "jobs/commands.py",
        "names.py",
        "notify/receivers.py",
        "settings/reader.py",
        "cli/crontab_line.py",
    }
