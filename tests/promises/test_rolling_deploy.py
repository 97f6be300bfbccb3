"""Two versions of an application on one database, as in every deploy: no run is lost or charged."""

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, wait_for
from harness.handlers_rows import attempts_of, queue, run_of, status_of, wait_until_running
from harness.listening_ticks import linger, log_lines, stop, wait_for_success

TOML = """
[jobs.announce]
command = ["true", "{payload.PLACEHOLDER}"]
max_attempts = 1
"""
OLD = """
from jobrunner import job

@job("mail", max_attempts=1)
def mail(ctx, user: int): pass

@job("amail", max_attempts=1)
async def amail(ctx, user: int): pass

@job("report", max_attempts=1)
def report(ctx): pass
"""
NEW = """
from jobrunner import job

@job("mail", max_attempts=1)
def mail(ctx, user: int, subject: str): pass

@job("amail", max_attempts=1)
async def amail(ctx, user: int, subject: str): pass

@job("digest", max_attempts=1)
def digest(ctx): pass
"""
NEXT_TRY = timedelta(seconds=31)


class Deploy:
    """Hosts with the old code and hosts with the new one; each is one tick at a time."""

    def __init__(self, jobrunner: Commands, database: Database, folder: Path) -> None:
        self.jobrunner = jobrunner
        self.database = database
        self.folder = folder
        for name, source, placeholder in (("old", OLD, "user"), ("new", NEW, "subject")):
            (folder / name).mkdir()
            (folder / name / "handlers.py").write_text(source)
            (folder / name / "jobrunner.toml").write_text(TOML.replace("PLACEHOLDER", placeholder))

    def tick(self, version: str) -> None:
        done = self.jobrunner.tick(
            env={"JOBRUNNER_APP_DIR": str(self.folder / version), "JOBRUNNER_HOST": f"host-{version}"}
        )
        assert (done.stdout, done.stderr) == ("", "")
        self.database.move_clock(NEXT_TRY)

    def outcomes(self, run_id: int) -> list[tuple[str, str]]:
        return [(each["host"].removeprefix("host-"), each["outcome"]) for each in attempts_of(self.database, run_id)]


@pytest.mark.promise("P1", "P7", "P12")
def test_a_rolling_deploy_and_its_rollback_lose_and_charge_no_run_that_fits_one_of_the_versions(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    deploy = Deploy(jobrunner, database, tmp_path)
    types = ("mail", "amail", "announce")
    for_old = [queue(database, each, {"user": 1}) for each in types]
    for_new = [queue(database, each, {"user": 1, "subject": "x"}) for each in types[:2]]
    for_new.append(queue(database, "announce", {"subject": "x"}))
    only_old, only_new = queue(database, "report"), queue(database, "digest")
    deploy.tick("old")
    assert [status_of(database, each) for each in (*for_old, only_old)] == ["succeeded"] * 4
    failing = {row["id"]: row for row in jobrunner.status()["failing"]}
    for run_id in for_new:
        row = run_of(database, run_id)
        assert (row["status"], row["attempts"], row["error_type"]) == ("failed", 0, "bad_payload")
        # Told where the operator looks, from the first try on.
        assert "(tried again for 10m: a deploy?)" in failing[run_id]["last_error"]
    # The rollback: the old code is asked once more, and the new one meets what was made for the old.
    late = [queue(database, each, {"user": 2}) for each in types]
    deploy.tick("new")
    assert [status_of(database, each) for each in (*for_new, only_new)] == ["succeeded"] * 4
    deploy.tick("old")
    for run_id in for_new:
        assert deploy.outcomes(run_id) == [("old", "incompatible"), ("new", "succeeded")]
    for run_id in late:
        assert deploy.outcomes(run_id) == [("new", "incompatible"), ("old", "succeeded")]
    ended = database.query("SELECT status, attempts, incompatible_at FROM job_runs")
    assert {tuple(row.values()) for row in ended} == {("succeeded", 1, None)}
    assert len(ended) == 11


@pytest.mark.promise("P7", "P12")
def test_a_run_that_fits_no_version_ends_dead_in_clear_words_when_the_grace_is_over(
    jobrunner: Commands, database: Database, tmp_path: Path
) -> None:
    deploy = Deploy(jobrunner, database, tmp_path)
    since = database.now() - timedelta(minutes=9)
    # Tried for nine minutes so far; and one that a clock of the future has seen.
    misfit = queue(database, "mail", {"usr": 1}, status="failed", incompatible_at=since)
    ahead = queue(database, "mail", {"usr": 1}, incompatible_at=since + timedelta(days=900))
    deploy.tick("old")
    assert run_of(database, misfit)["incompatible_at"] == since
    assert run_of(database, ahead)["incompatible_at"] <= database.now()
    database.move_clock(timedelta(minutes=1))
    deploy.tick("new")
    row = run_of(database, misfit)
    assert (row["status"], row["attempts"], row["error_type"]) == ("dead", 1, "bad_payload")
    assert row["last_error"] == (
        "unexpected argument 'usr'; the handler takes user, subject; the same on every try for 10m"
    )
    assert deploy.outcomes(misfit) == [("old", "incompatible"), ("new", "incompatible")]
    assert status_of(database, ahead) == "failed"
    # A person who tries it again gives it a grace of its own.
    jobrunner("retry", misfit)
    deploy.tick("old")
    assert (status_of(database, misfit), run_of(database, misfit)["attempts"]) == ("failed", 1)


@pytest.mark.promise("P1", "P7")
def test_a_tick_whose_code_is_replaced_claims_no_more_of_the_types_that_changed(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.add("""
        @job("gone", max_attempts=1)
        def gone(ctx: Context): pass

        @job("changed", max_attempts=1)
        def changed(ctx: Context): pass
    """)
    held = queue(database, "wait_for", {"path": str(app.path("go"))})
    tick = linger(jobrunner, "--concurrency", "2")
    wait_until_running(database, held)
    first = queue(database, "append")
    wait_for_success(database, first)
    app.add("""
        @job("changed", max_attempts=1)
        async def changed(ctx: Context): pass
    """)
    # Another child is started in its place: it has the new code.
    (idle_pid,) = (line.pid for line in app.trace() if line.run_id == first)
    os.kill(idle_pid, signal.SIGKILL)
    waiting = [queue(database, each) for each in ("gone", "changed", "gone")]
    wait_for(lambda: log_lines(jobrunner, "deploy"), describe="a line about the deploy")
    unchanged = queue(database, "append")
    wait_for_success(database, unchanged)
    for run_id in waiting:
        row = run_of(database, run_id)
        assert (row["status"], row["attempts"], attempts_of(database, run_id)) == ("queued", 0, [])
    app.release("go")
    wait_for_success(database, held)
    stop(tick)
    (line,) = log_lines(jobrunner, "deploy")
    assert line["types"] == ["changed", "gone"]
