"""jobrunner.toml: a mistake is reported in one line with its key; its settings; where it is searched."""

import os
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.command_jobs import quoted, shell, write_jobs
from harness.commands import Completed, describe
from harness.databases import sqlite_only
from harness.environments import as_nobody, run_in
from harness.handlers_rows import attempt_of, queue, status_of
from harness.tables.bad_jobfiles import GOOD, MISTAKES, SECRET

COMMANDS = (["tick"], ["enqueue", "x"], ["status"], ["migrate"])
TABLES = ("job_runs", "job_ticks", "job_definitions")


def counts(database: Database) -> list[int]:
    return [database.value(f"SELECT count(*) FROM {table}") for table in TABLES]


def complaints(done: Completed, file: Path, says: list[str]) -> list[str]:
    """What is wrong with a refusal of the file."""
    checks = {
        f"exit {done.returncode}": done.returncode == 78,
        "something on stdout": done.stdout == "",
        "not one line": done.stderr.count("\n") == 1 and done.stderr.endswith("\n"),
        "not ours": done.stderr.startswith("jobrunner: "),
        "a traceback": "Traceback" not in done.stderr,
        "controls": done.stderr[:-1].isprintable(),
        "very long": len(done.stderr) < 1200,
        "no file": str(file) in done.stderr,
        "a secret": SECRET not in done.stderr,
    }
    found = [complaint for complaint, is_fine in checks.items() if not is_fine]
    return found + [f"does not say {each!r}" for each in says if each not in done.stderr]


@pytest.mark.timeout(300)
def test_mistake_in_jobrunner_toml_is_reported_in_one_line_with_its_key(
    jobrunner: Commands, app: App, database: Database
) -> None:
    before = counts(database)
    wrong: dict[str, Any] = {}
    # One half on each database: most are found before it is opened.
    rows = list(MISTAKES.items())[database.name == "sqlite" :: 2]
    for number, (name, (text, says)) in enumerate(rows):
        file = write_jobs(app, text)
        done = jobrunner(*COMMANDS[number % len(COMMANDS)], check=False)
        if found := complaints(done, file, says):
            wrong[name] = (found, done.stderr)
    assert wrong == {}
    assert counts(database) == before


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_every_command_refuses_a_wrong_file(
    words: list[str], jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    before = counts(database)
    good = write_jobs(app, GOOD)
    text, says = MISTAKES["key of a job"]
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(text)
    for arguments, env in (
        ([*words, "--config", wrong], {}),
        (["--config", wrong, *words], {"JOBRUNNER_CONFIG": str(good)}),
        (words, {"JOBRUNNER_CONFIG": str(wrong)}),
        (words, {"JOBRUNNER_APP_DIR": None, "JOBRUNNER_CONFIG": "../wrong.toml"}),
    ):
        done = jobrunner(*arguments, env=env, check=False)
        assert complaints(done, wrong if ".." not in str(env) else Path("wrong.toml"), says) == [], describe(done)
    assert counts(database) == before


def make_odd_files(folder: Path) -> dict[str, str]:
    """Paths that cannot be a configuration file, and the error for each."""
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "latin1").write_bytes("[jobs.x]\ncommand = ['é']\n".encode("latin-1"))
    (folder / "utf16").write_bytes(GOOD.encode("utf-16"))
    (folder / "large").write_text(GOOD + "#" * (5 * 1024 * 1024))
    (folder / "loop").symlink_to("loop")
    return {
        "missing": "No such file or directory",
        "fifo": "is not a regular file",
        "folder": "is not a regular file",
        "latin1": "is not UTF-8",
        "utf16": "is not UTF-8",
        "large": "is larger than 4194304 bytes",
        "loop": "symbolic link",
        "latin1/below": "Not a directory",
        "x" * 300: "File name too long",
    }


def test_invalid_configuration_file_is_reported(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    app.imports = ""
    before = counts(database)
    for number, (name, says) in enumerate(make_odd_files(tmp_path).items()):
        words = COMMANDS[number % len(COMMANDS)]
        done = jobrunner(*words, "--config", tmp_path / name, check=False)
        assert complaints(done, tmp_path / name, [says]) == [], describe(done)
        if not os.path.lexists(tmp_path / name):
            continue
        # The same where the application folder holds it.
        app.path("jobrunner.toml").symlink_to(tmp_path / name)
        done = jobrunner(*words, check=False)
        assert complaints(done, app.path("jobrunner.toml"), [says]) == [], describe(done)
        app.path("jobrunner.toml").unlink()
    assert counts(database) == before


@sqlite_only
def test_unreadable_configuration_file_or_folder_is_reported(jobrunner: Commands, app: App, database: Database) -> None:
    """As a user for whom permissions count, unlike root."""
    file = write_jobs(app, GOOD)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    drop = "setpriv --bounding-set=-all --inh-caps=-all" if os.geteuid() == 0 else ""
    for path, mode in ((file, 0), (app.folder, 0)):
        before = path.stat().st_mode
        path.chmod(mode)
        try:
            done = run_in(jobrunner, f'exec {drop or as_nobody()} "$@"', "tick")
        finally:
            path.chmod(before)
        assert complaints(done, file, ["Permission denied"]) == [], describe(done)


def test_configuration_file_is_optional(jobrunner: Commands, app: App, database: Database) -> None:
    run_id = queue(database, "echo")
    for env in ({}, {"JOBRUNNER_CONFIG": ""}, {"JOBRUNNER_CONFIG": " "}):
        assert jobrunner("types", "--json", env=env).json()[0]["job_type"] == "append"
    jobrunner.tick()
    assert status_of(database, run_id) == "succeeded"


def test_configuration_file_in_the_current_folder_is_not_read(
    jobrunner: Commands, app: App, database: Database
) -> None:
    (jobrunner.home / "jobrunner.toml").write_text("nonsense")
    for app_dir in (None, "", str(app.folder)):
        done = jobrunner("types", cwd=jobrunner.home, env={"JOBRUNNER_APP_DIR": app_dir, "JOBRUNNER_IMPORT": ""})
        assert "no handlers" in done.stdout


def test_settings_come_from_flag_environment_file_default(jobrunner: Commands, app: App, database: Database) -> None:
    where = shell('echo "$JOBRUNNER_RUN_ID"')
    write_jobs(app, f'[settings]\nbatch = 1\nlog = "logs/../ours.log"\n[jobs.x]\ncommand = {where}\n')
    runs = [queue(database, "x") for _ in range(8)]

    def done() -> int:
        return sum(status_of(database, run_id) == "succeeded" for run_id in runs)

    app.path("logs").mkdir()
    # From another folder: what the file names is meant from its own.
    jobrunner.tick(cwd=Path("/"))
    assert done() == 1
    assert '"event": "tick"' in app.path("ours.log").read_text()
    jobrunner.tick(env={"JOBRUNNER_BATCH": "2", "JOBRUNNER_LOG": str(app.path("theirs.log"))})
    assert (done(), app.path("theirs.log").exists()) == (3, True)
    jobrunner.tick("--batch", "3", env={"JOBRUNNER_BATCH": "2"})
    assert done() == 6
    jobrunner.tick(env={"JOBRUNNER_BATCH": ""})
    assert done() == 7
    # The next tick reads the file again.
    write_jobs(app, f"[settings]\nbatch = '5'\n[jobs.x]\ncommand = {where}\n")
    jobrunner.tick()
    assert done() == 8


def test_the_database_and_the_handlers_may_be_named_in_the_file(
    jobrunner: Commands, app: App, database: Database
) -> None:
    write_jobs(
        app,
        f"""
        [settings]
        database_url = {quoted(database.url)}
        import = ["handlers"]
        app_dir = "."
        state_dir = "state"
        host = "from-the-file"
        keep_dead = "1d"
        [jobs.x]
        command = {shell("true")}
        """,
    )
    env = {"JOBRUNNER_DATABASE_URL": None, "JOBRUNNER_IMPORT": None, "JOBRUNNER_STATE_DIR": None}
    env |= {"JOBRUNNER_APP_DIR": None}
    echo, command = queue(database, "echo"), queue(database, "x")
    jobrunner.tick("--config", "../app/jobrunner.toml", env=env)
    assert (status_of(database, echo), status_of(database, command)) == ("succeeded", "succeeded")
    assert attempt_of(database, command)["host"] == "from-the-file"
    assert app.path("state").is_dir()
    # The environment's URL wins, and a wrong one in the file is told without its password.
    write_jobs(app, f"[settings]\ndatabase_url = 'mysql://u:{SECRET}@h/d'\n")
    elsewhere = {"JOBRUNNER_DATABASE_URL": database.url, "JOBRUNNER_STATE_DIR": str(app.path("state"))}
    jobrunner("status", env=env | elsewhere | {"JOBRUNNER_APP_DIR": str(app.folder)})
    for url in (f"mysql://u:{SECRET}@h/d", f"postgresql://u:{SECRET}@127.0.0.1:1/d", f"://u:{SECRET}@x"):
        write_jobs(app, f"[settings]\ndatabase_url = '{url}'\n")
        assert SECRET not in jobrunner.refused(None, "status", env=env | {"JOBRUNNER_APP_DIR": str(app.folder)})


def test_change_of_the_configuration_file_counts_for_the_next_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    def tick(text: str, code: int = 0) -> list[str]:
        write_jobs(app, text)
        assert jobrunner.tick(check=False).returncode == code
        database.execute("UPDATE job_runs SET run_at = ? WHERE status = 'failed'", [database.now()])
        return [status_of(database, run_id) for run_id in (first, second)]

    first, second = queue(database, "first"), queue(database, "second")
    assert tick(f"[jobs.second]\ncommand = {shell('exit 1')}\n") == ["queued", "failed"]
    assert tick("[jobs.second]\ncommand = 'exit 0'\n", 78) == ["queued", "failed"]
    assert tick(f"[jobs.first]\ncommand = {shell('exit 0')}\n") == ["succeeded", "failed"]
    assert tick(f"[jobs.second]\ncommand = {shell('exit 0')}\n") == ["succeeded", "succeeded"]


def test_an_application_that_enqueues_sees_a_changed_file(jobrunner: Commands, app: App, database: Database) -> None:
    """In one process: what is remembered of the file is given up when it changes."""
    file = write_jobs(app, "[settings]\npayload_limit = 10\n")
    script = f"""
import os, pathlib, time
from jobrunner.settings import config
file = pathlib.Path({str(file)!r})
print(config.load(os.environ).payload_limit)
file.write_text("[settings]\\npayload_limit = 2000\\n")
print(config.load(os.environ).payload_limit)
file.write_text("[settings]\\npayload_limit = 'x'\\n")
try:
    config.load(os.environ)
except Exception as error:
    print(error)
"""
    python = Path(jobrunner.command).with_name("python")
    done = subprocess.run([python, "-c", script], env=jobrunner.environment(), capture_output=True, text=True)
    assert done.stdout.splitlines()[:2] == ["10", "2000"], done.stderr
    assert "settings.payload_limit" in done.stdout.splitlines()[2]


def test_durations_of_a_job_are_read(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(
        app,
        """
        [jobs.numbers]
        command = ["/bin/true"]
        timeout = 90
        kill_after = 1.5
        backoff = { exponential = 30, factor = 3, cap = "1h", jitter = 0.5 }
        [jobs.texts]
        command = ["/bin/true"]
        timeout = "1h30m"
        kill_after = "500ms"
        backoff = { polynomial = "10s", power = 1.5, cap = "1d" }
        [jobs.waits]
        command = ["/bin/true"]
        max_waiting = 10
        when_full = "drop"
        on_stop = "drop"
        concurrency = 2
        backoff = { waits = ["1m", 600], jitter = 0 }
        """,
    )
    numbers, texts, waits = jobrunner("types", "--json").json()
    assert (numbers["timeout"], numbers["kill_after"]) == (90, 1.5)
    assert numbers["backoff"] == {
        "shape": "exponential", "seconds": [30.0], "exponent": 3, "cap_seconds": 3600.0, "jitter": 0.5,
    }  # fmt: skip
    assert (texts["timeout"], texts["kill_after"]) == (5400, 0.5)
    assert (texts["backoff"]["shape"], texts["backoff"]["cap_seconds"]) == ("polynomial", 86400.0)
    assert (waits["max_waiting"], waits["when_full"], waits["on_stop"], waits["concurrency"]) == (10, "drop", "drop", 2)
    assert waits["backoff"]["seconds"] == [60.0, timedelta(minutes=10).total_seconds()]
