"""`jobrunner tick --probe`: whether a tick can work here. It does no work."""

import socket
import subprocess

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.handlers_rows import queue, status_of


def test_probe_names_the_database_and_the_types_and_claims_nothing(jobrunner: Commands, database: Database) -> None:
    run_id = queue(database, "echo")
    said = jobrunner("tick", "--probe").stdout
    assert said.startswith("ok: ")
    assert said.endswith(": append, echo, fail, sleep, wait_for\n")
    assert status_of(database, run_id) == "queued"
    assert database.value("SELECT count(*) FROM job_ticks") == 0


@sqlite_only
def test_probe_of_a_host_without_job_types_says_so(jobrunner: Commands) -> None:
    done = jobrunner("tick", "--probe", env={"JOBRUNNER_IMPORT": None})
    assert done.stdout.endswith(": no job types\n")
    assert done.stderr == (
        "jobrunner: this host can run nothing; set JOBRUNNER_IMPORT, or write commands into a jobrunner.toml\n"
    )


@sqlite_only
@pytest.mark.parametrize(
    ("code", "env", "says"),
    [
        (69, {"JOBRUNNER_DATABASE_URL": "sqlite:////nowhere/jobs.db"}, "/nowhere/jobs.db"),
        (78, {"JOBRUNNER_IMPORT": "broken"}, "no such luck"),
        (78, {"JOBRUNNER_LOG": "/nowhere/log"}, "cannot write the log file"),
    ],
)
def test_probe_refuses_what_a_tick_would_refuse(
    code: int, env: dict[str, str], says: str, jobrunner: Commands, app: App
) -> None:
    app.write("broken", "raise RuntimeError('no such luck')")
    jobrunner.refused(code, "tick", "--probe", env=env, says=[says])


@sqlite_only
def test_log_goes_to_a_standard_output_that_is_a_socket(jobrunner: Commands) -> None:
    """As the journal of systemd: such a stream cannot be opened by its name."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = [jobrunner.command, "tick", "--log", "/dev/stdout"]
        assert subprocess.run(words, env=jobrunner.environment(), stdout=theirs).returncode == 0
        assert b'"event": "tick"' in ours.recv(4096)
