"""Settings: every variable has its effect, a flag overrides it, and a wrong value is named."""

import json
import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, PostgresDatabase, postgresql_only, sqlite_only, wait_for
from harness.commands import COMMAND
from jobrunner.settings.config import load
from jobrunner.store.drivers.waits import COMMAND as COMMAND_PATIENCE

PYTHON = Path(COMMAND).with_name("python")


def hold(jobrunner: Commands, count: int) -> list[int]:
    """Enqueue runs that stay at work until `go` is released."""
    return [jobrunner.enqueue("wait_for", {"path": str(jobrunner.app.path("go"))}) for _ in range(count)]


def running(database: Database) -> int:
    return int(database.value("SELECT count(*) AS n FROM job_runs WHERE status = 'running'"))


def test_command_waits_as_long_as_an_application_unless_a_setting_says_otherwise() -> None:
    assert load({}).patience == COMMAND_PATIENCE
    assert load({"JOBRUNNER_PATIENCE": "90s"}).patience == timedelta(seconds=90)


def test_the_modules_of_import_are_all_imported(jobrunner: Commands, app: App) -> None:
    app.write("more", "from jobrunner import job\n\n@job('extra')\ndef extra(ctx): ...\n")
    found = jobrunner("types", "--json", env={"JOBRUNNER_IMPORT": " handlers , more,"}).json()
    assert {"echo", "extra"} <= {row["job_type"] for row in found}


def test_the_application_folder_is_first_on_the_import_path_and_the_current_one_is_not(
    jobrunner: Commands, app: App, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    app.add("""
        import sys

        @job("paths")
        def paths(ctx: Context):
            import tabnanny
            return {"path": sys.path, "stdlib": tabnanny.__file__, "folder": os.getcwd()}
    """)
    app.write("tabnanny", "")
    (here / "tabnanny.py").write_text("raise SystemExit('the current folder was searched')")
    run_id = jobrunner.enqueue("paths")
    jobrunner.tick(cwd=here)
    result = jobrunner.show(run_id)["result"]
    assert result["path"][0] == str(app.folder)
    assert result["stdlib"] == str(app.folder / "tabnanny.py")
    assert not {"", ".", str(here), result["folder"]} & set(result["path"])


def test_without_an_application_folder_only_what_is_installed_is_found(jobrunner: Commands, app: App) -> None:
    done = jobrunner("types", env={"JOBRUNNER_APP_DIR": None}, cwd=app.folder, check=False)
    assert done.returncode == 78
    assert "No module named 'handlers'" in done.stderr


def test_lease_and_heartbeat_from_the_environment_are_used(jobrunner: Commands, app: App, database: Database) -> None:
    hold(jobrunner, 1)
    env = {"JOBRUNNER_LEASE": "1m30s", "JOBRUNNER_HEARTBEAT": "0.2"}
    tick = jobrunner.start("tick", env=env)
    database.wait_until("SELECT heartbeat_at > claimed_at AS beaten FROM job_runs", describe="a beat")
    (row,) = database.query("SELECT heartbeat_at, locked_until FROM job_runs")
    app.end(tick, "go")
    assert row["locked_until"] - row["heartbeat_at"] == timedelta(seconds=90)


def said(given: str, flag: str, value: str, other: str) -> tuple[list[str], dict[str, str]]:
    """The words and variables that say it in this way; a flag beats what the variable says else."""
    variable = f"JOBRUNNER_{flag[2:].upper()}"
    return ([], {variable: value}) if given == "variable" else ([flag, value], {variable: other})


@pytest.mark.parametrize("given", ["variable", "flag"])
def test_budget_from_flag_or_variable_limits_a_tick(jobrunner: Commands, database: Database, given: str) -> None:
    """When none is left nothing is claimed. The flag beats the variable."""
    jobrunner.enqueue("echo")
    words, env = said(given, "--budget", "1ms", "50s")
    jobrunner.tick(*words, env=env)
    assert database.value("SELECT status FROM job_runs") == "queued"
    jobrunner.tick("--budget", "50s", env={"JOBRUNNER_BUDGET": "1ms"})
    assert database.value("SELECT status FROM job_runs") == "succeeded"


@pytest.mark.parametrize("given", ["variable", "flag"])
def test_concurrency_from_flag_or_variable_limits_runs_at_once(
    jobrunner: Commands, app: App, database: Database, given: str
) -> None:
    hold(jobrunner, 4)
    words, env = said(given, "--concurrency", "2", "4")
    tick = jobrunner.start("tick", *words, env=env)
    wait_for(lambda: len(app.trace()) == 2, 30, "two handlers at work")
    # A second tick of this host finds no free place, whatever time it takes to look.
    jobrunner.tick("--concurrency", "2")
    assert running(database) == 2
    assert len(app.trace()) == 2
    app.end(tick, "go")
    assert len(app.trace()) == 4


@pytest.mark.parametrize("given", ["variable", "flag"])
def test_batch_from_flag_or_variable_limits_the_runs_of_a_tick(jobrunner: Commands, app: App, given: str) -> None:
    for _ in range(5):
        jobrunner.enqueue("append")
    words, env = said(given, "--batch", "2", "5")
    jobrunner.tick(*words, env=env)
    assert len(app.trace()) == 2


@pytest.mark.parametrize("given", ["variable", "flag"])
def test_grace_from_flag_or_variable_is_used_at_a_stop(
    jobrunner: Commands, app: App, database: Database, given: str
) -> None:
    hold(jobrunner, 1)
    words, env = said(given, "--grace", "0", "10m")
    tick = jobrunner.start("tick", *words, env=env)
    wait_for(app.trace, 30, "the handler is at work")
    tick.send_signal(signal.SIGTERM)
    tick.wait(30)
    assert database.value("SELECT status FROM job_runs") == "queued"


def test_type_option_limits_the_claimed_job_types(jobrunner: Commands, database: Database) -> None:
    for job_type in ("echo", "append", "sleep"):
        jobrunner.enqueue(job_type, {"seconds": 0} if job_type == "sleep" else {})
    jobrunner.tick("--type", "echo", "--type", "sleep")
    done = database.query("SELECT job_type FROM job_runs WHERE status = 'succeeded' ORDER BY job_type")
    assert [row["job_type"] for row in done] == ["echo", "sleep"]


@pytest.mark.parametrize("given", ["variable", "flag"])
def test_log_file_from_flag_or_variable_is_written(jobrunner: Commands, tmp_path: Path, given: str) -> None:
    wanted, other = tmp_path / "wanted", tmp_path / "other"
    if given == "variable":
        jobrunner.tick(env={"JOBRUNNER_LOG": str(wanted)})
    else:
        jobrunner.tick("--log", wanted, env={"JOBRUNNER_LOG": str(other)})
    assert wanted.read_text().count("\n") == 1
    assert not other.exists()


def test_host_from_the_environment_names_the_tick(jobrunner: Commands) -> None:
    jobrunner.tick(env={"JOBRUNNER_HOST": "alpha"})
    assert [tick["host"] for tick in jobrunner.status()["ticks"]] == ["alpha"]


def test_database_url_variable_is_used_if_jobrunner_database_url_is_not_set(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    other = f"sqlite:///{tmp_path}/other.db"
    jobrunner("migrate", env={"JOBRUNNER_DATABASE_URL": other})
    both = {"JOBRUNNER_DATABASE_URL": database.url, "DATABASE_URL": other}
    assert jobrunner("enqueue", "echo", env=both).stdout == "1\n"
    assert database.value("SELECT count(*) FROM job_runs") == 1
    for first in (None, "", "  "):
        second = {"JOBRUNNER_DATABASE_URL": first, "DATABASE_URL": database.url}
        jobrunner("enqueue", "echo", env=second)
    assert database.value("SELECT count(*) FROM job_runs") == 4


@postgresql_only
@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2"])
@pytest.mark.parametrize("variable", ["JOBRUNNER_DATABASE_URL", "DATABASE_URL"])
def test_database_urls_of_other_programs_are_understood(
    jobrunner: Commands, database: PostgresDatabase, scheme: str, variable: str
) -> None:
    url = f"{scheme}:{database.url.partition(':')[2]}?application_name=my-app"
    env = {"JOBRUNNER_DATABASE_URL": None, variable: url}
    jobrunner("enqueue", "echo", env=env)
    jobrunner.tick(env=env)
    assert database.value("SELECT status FROM job_runs") == "succeeded"


@sqlite_only
def test_environment_of_the_tests_has_no_settings(jobrunner: Commands) -> None:
    assert not [name for name in jobrunner.environment() if name.startswith("XDG") or name == "DATABASE_URL"]
    assert os.environ.get("JOBRUNNER_DATABASE_URL") is None


def test_relative_database_path_in_the_file_is_the_same_under_cron(jobrunner: Commands, app: App) -> None:
    """Cron starts in the home folder: a path that the file names is meant from where the file lies."""
    app.path("jobrunner.toml").write_text('[settings]\ndatabase_url = "sqlite:///data/app.db"\n')
    app.path("data").mkdir()
    without = {"JOBRUNNER_DATABASE_URL": None}
    migrated = jobrunner("migrate", env=without, cwd=jobrunner.home)
    assert migrated.stdout == f"sqlite:///{app.path('data/app.db')}: migrated\n"
    assert jobrunner("status", env=without, cwd=app.folder).stdout.startswith(
        f"database   sqlite:///{app.path('data/app.db')}"
    )


def test_log_of_a_host_that_wants_problems_only_has_no_step_of_normal_work(
    jobrunner: Commands, app: App, tmp_path: Path
) -> None:
    env = {"JOBRUNNER_LOG": str(tmp_path / "log"), "JOBRUNNER_LOG_LEVEL": "warning"}
    jobrunner("enqueue", "echo")
    jobrunner("enqueue", "fail", "--max-attempts", "1")
    for _ in range(2):
        jobrunner.tick(env=env)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["level"], line["event"]) for line in lines] == [("warning", "dead")]
    jobrunner.refused(78, "tick", env={**env, "JOBRUNNER_LOG_LEVEL": "loud"}, says=["JOBRUNNER_LOG_LEVEL", "'loud'"])
