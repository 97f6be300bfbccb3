"""A place to go on from for commands: the file that `JOBRUNNER_CHECKPOINT` names."""

import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import App, Commands, Database, wait_for
from harness.at_work import BEATS
from harness.command_jobs import python, shell, write_jobs
from harness.handlers_rows import attempts_of, make_due, queue, run_of, status_of
from harness.stops import check_clean_exit, start_tick, wait_until_gone

GOES_ON = shell(
    "seen=$(cat $JOBRUNNER_CHECKPOINT 2>/dev/null || echo 0); echo $seen >> seen;"
    " echo $((seen + 1)) > $JOBRUNNER_CHECKPOINT.new; mv $JOBRUNNER_CHECKPOINT.new $JOBRUNNER_CHECKPOINT;"
    " touch at-work; [ -e done ]"
)
HOLDS = shell(
    "seen=$(cat $JOBRUNNER_CHECKPOINT 2>/dev/null || echo 0); echo $seen >> seen;"
    " echo $((seen + 1)) > $JOBRUNNER_CHECKPOINT; touch at-work; until [ -e done ]; do sleep 0.05; done"
)


def kept(database: Database, run_id: int) -> Any:
    return run_of(database, run_id)["checkpoint"]


def seen(app: App) -> list[str]:
    return app.path("seen").read_text().split()


def folders(jobrunner: Commands) -> list[Path]:
    """What is left of the files of commands."""
    return list(jobrunner.state_dir.rglob("*.checkpoints"))


@pytest.mark.promise("P1")
def test_command_finds_what_its_attempt_before_has_written(jobrunner: Commands, app: App, database: Database) -> None:
    write_jobs(app, f"[jobs.nightly]\ncommand = {GOES_ON}\nmax_attempts = 9\n")
    run_id = queue(database, "nightly")
    for count in (1, 2, 3):
        if count == 3:
            app.release("done")
        make_due(database, run_id)
        jobrunner.tick()
        assert kept(database, run_id) == {"value": count, "steps": {}}
    assert (status_of(database, run_id), seen(app)) == ("succeeded", ["0", "1", "2"])
    assert folders(jobrunner) == []


@pytest.mark.promise("P9")
def test_command_of_a_stopped_tick_goes_on_where_it_was_stopped(
    jobrunner: Commands, app: App, database: Database
) -> None:
    write_jobs(app, f"[jobs.nightly]\ncommand = {HOLDS}\nkill_after = '1s'\n")
    run_id = queue(database, "nightly")
    tick = start_tick(jobrunner, "--grace", "0s", JOBRUNNER_LEASE="10m", JOBRUNNER_HEARTBEAT="3m")
    wait_for(app.path("at-work").exists, 20, "the command")
    tick.send_signal(signal.SIGTERM)
    check_clean_exit(jobrunner, tick)
    assert (status_of(database, run_id), kept(database, run_id)) == ("queued", {"value": 1, "steps": {}})
    app.release("done")
    jobrunner.tick()
    assert (status_of(database, run_id), seen(app)) == ("succeeded", ["0", "1"])


@pytest.mark.promise("P1")
def test_file_is_read_with_the_heartbeats_and_goes_with_a_killed_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    write_jobs(app, f"[jobs.nightly]\ncommand = {HOLDS}\n")
    run_id = queue(database, "nightly")
    tick = start_tick(jobrunner, **BEATS)
    database.wait_until("SELECT count(*) FROM job_runs WHERE checkpoint IS NOT NULL", describe="a beat")
    assert kept(database, run_id) == {"value": 1, "steps": {}}
    assert len(folders(jobrunner)) == 1
    tick.kill()
    tick.communicate()
    wait_until_gone(jobrunner)
    app.release("done")
    jobrunner.tick()
    assert folders(jobrunner) == []
    make_due(database, run_id)
    jobrunner.tick()
    assert [each["outcome"] for each in attempts_of(database, run_id)] == ["lease_expired", "succeeded"]
    assert seen(app) == ["0", "1"]


WRONG = {
    "no JSON": ("echo '{\"page\": 3' > $JOBRUNNER_CHECKPOINT", "it is not JSON: "),
    "NaN": ("echo NaN > $JOBRUNNER_CHECKPOINT", "it holds NaN, which is not JSON"),
    "twice": ('echo \'{"a": 1, "a": 2}\' > $JOBRUNNER_CHECKPOINT', "it names 'a' twice"),
    "too large": (
        "head -c 70000 /dev/zero | tr '\\0' 1 > $JOBRUNNER_CHECKPOINT",
        "is larger than 65536 bytes",
    ),
    "too large with its frame": (
        "(printf '\"'; head -c 65530 /dev/zero | tr '\\0' 1; printf '\"') > $JOBRUNNER_CHECKPOINT",
        "is larger than 65536 bytes",
    ),
    "NUL": ("echo '\"\\u0000\"' > $JOBRUNNER_CHECKPOINT", "holds a NUL character"),
    "no text": ("printf '\\377' > $JOBRUNNER_CHECKPOINT", "it is not in UTF-8"),
    "a pipe": ("rm $JOBRUNNER_CHECKPOINT; mkfifo $JOBRUNNER_CHECKPOINT", "it is not a regular file"),
    "a folder": ("rm $JOBRUNNER_CHECKPOINT; mkdir $JOBRUNNER_CHECKPOINT", "it is not a regular file"),
    "a link": ("ln -sf /etc/passwd $JOBRUNNER_CHECKPOINT", "Too many levels of symbolic links"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_kept_is_said_in_the_output_and_the_old_one_stays(
    name: str, jobrunner: Commands, app: App, database: Database
) -> None:
    script, said = WRONG[name]
    write_jobs(app, f"[jobs.wrong]\ncommand = {shell(f'{script}; printf end; exit 3')}\n")
    old = {"value": {"page": 2}, "steps": {"kept": 1}}
    run_id = queue(database, "wrong", checkpoint=old)
    jobrunner.tick()
    (attempt,) = attempts_of(database, run_id)
    assert kept(database, run_id) == old
    first, last, *none = attempt["output"].splitlines()
    assert (first, none) == ("end", [])
    assert last.startswith("jobrunner: the file of JOBRUNNER_CHECKPOINT was not kept: ")
    assert said in last
    # The reason of the failure is what the command has said last.
    assert attempt["error"] == "exit status 3: end"
    assert folders(jobrunner) == []


@pytest.mark.parametrize(
    "script", ["true", ": > $JOBRUNNER_CHECKPOINT", "rm $JOBRUNNER_CHECKPOINT", "rm -r ${JOBRUNNER_CHECKPOINT%/*}"]
)
def test_file_that_is_left_empty_or_removed_changes_nothing(
    script: str, jobrunner: Commands, app: App, database: Database
) -> None:
    """A program that truncates its file and is killed before it has written has not lost its place."""
    write_jobs(app, f"[jobs.none]\ncommand = {shell(script)}\n")
    old = {"value": [1, {"é": "😀"}], "steps": {"kept": 1}}
    run_id = queue(database, "none", checkpoint=old)
    jobrunner.tick()
    assert (status_of(database, run_id), kept(database, run_id)) == ("succeeded", old)
    assert attempts_of(database, run_id)[0]["output"] is None


def test_null_in_the_file_takes_the_place_away_and_steps_stay(
    jobrunner: Commands, app: App, database: Database
) -> None:
    write_jobs(app, f"[jobs.clears]\ncommand = {shell('echo null > $JOBRUNNER_CHECKPOINT')}\n")
    run_id = queue(database, "clears", checkpoint={"value": 5, "steps": {"kept": 1}})
    jobrunner.tick()
    assert kept(database, run_id) == {"value": None, "steps": {"kept": 1}}


def test_commands_side_by_side_have_each_a_file_of_their_own(jobrunner: Commands, app: App, database: Database) -> None:
    script = (
        "import os, json, time; path = os.environ['JOBRUNNER_CHECKPOINT']\n"
        "number = json.load(open(path)) if os.path.exists(path) else int(os.environ['JOBRUNNER_RUN_ID']) * 100\n"
        "json.dump(number + 1, open(path, 'w')); time.sleep(0.05); raise SystemExit(number % 100 < 1)"
    )
    write_jobs(app, f"[jobs.many]\ncommand = {python(script)}\n")
    runs = [queue(database, "many") for _ in range(12)]
    for _ in range(2):
        jobrunner.tick()
        database.move_clock(timedelta(hours=1))
    assert [kept(database, run_id)["value"] for run_id in runs] == [run_id * 100 + 2 for run_id in runs]
    assert folders(jobrunner) == []


def test_command_does_not_inherit_the_file_of_the_command_that_started_its_tick(
    jobrunner: Commands, app: App, database: Database
) -> None:
    script = "[ $JOBRUNNER_CHECKPOINT != /stale ] && [ $(stat -c %a ${JOBRUNNER_CHECKPOINT%/*}) = 700 ]"
    write_jobs(app, f"[jobs.new]\ncommand = {shell(script)}\n")
    run_id = queue(database, "new")
    jobrunner.tick(env={"JOBRUNNER_CHECKPOINT": "/stale"})
    assert status_of(database, run_id) == "succeeded"
