"""Readers that go away, and output that cannot be written."""

import subprocess

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.commands import COMMAND
from harness.environments import COMMANDS, check_exit, run_in
from harness.long import some
from harness.processes import Patient

# Where its text is all that a command is for, it has not done its work. What is committed is done.
LISTINGS = dict.fromkeys(["status", "show", "schedule list", "types"], 1)


@sqlite_only
@pytest.mark.long(sample=2)
@pytest.mark.parametrize("name", LISTINGS)
def test_listing_to_a_full_disk_is_reported_in_one_line(jobrunner: Commands, name: str) -> None:
    jobrunner.enqueue("echo")
    done = run_in(jobrunner, 'exec "$@" >/dev/full', *COMMANDS[name])
    check_exit(done, 1)
    assert "No space left on device" in done.stderr


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["plain", "json"])
def test_a_run_whose_id_cannot_be_printed_is_not_enqueued_twice(
    jobrunner: Commands, database: Database, form: list[str]
) -> None:
    """Exit 1 would make the caller try again, although the run is committed."""
    done = run_in(jobrunner, '"$@" >/dev/full || "$@" >/dev/full', "enqueue", "echo", *form)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert "done, but standard output cannot be written (No space left on device): " in done.stderr
    assert done.stderr.endswith(
        '{"id": 1, "created": true, "replaced": false, "dropped": false}\n' if form else ": 1\n"
    )
    assert database.query("SELECT id FROM job_runs") == [{"id": 1}]


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("redirection", [">/dev/full", ">&- 2>/dev/full"])
def test_change_whose_output_cannot_be_written_is_still_done(
    jobrunner: Commands, database: Database, redirection: str
) -> None:
    ids = [str(jobrunner.enqueue("echo")) for _ in range(3)]
    for words in (
        ["cancel", *ids],
        ["retry", *ids],
        ["schedule", "add", "n", "--type", "echo", "--cron", "@daily"],
        ["schedule", "remove", "n"],
        ["migrate"],
    ):
        done = run_in(jobrunner, f'exec "$@" {redirection}', *words)
        assert (words, done.returncode) == (words, 0)
        assert all(line.startswith("jobrunner: done, but ") for line in done.stderr.splitlines())
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'queued'") == 3
    actions = [row["action"] for row in database.query("SELECT action FROM job_events ORDER BY id")]
    assert sorted(actions) == sorted([*["cancel"] * 3, *["retry"] * 3, "add schedule", "remove schedule"])


@sqlite_only
@pytest.mark.parametrize("lost", ["stdout", "stderr"])
def test_all_runs_are_changed_even_if_the_reader_has_closed(jobrunner: Commands, database: Database, lost: str) -> None:
    """With the first line lost, the second run was left as it was."""
    ids = [str(jobrunner.enqueue("echo")) for _ in range(3)]
    words = ["cancel", *ids] if lost == "stdout" else ["cancel", "77", "88", *ids]
    command = Patient([COMMAND, *words], env=jobrunner.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pipe = command.stdout if lost == "stdout" else command.stderr
    assert pipe is not None
    pipe.close()
    assert command.wait(timeout=30) == (0 if lost == "stdout" else 1)
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'cancelled'") == 3
    for other in (command.stdout, command.stderr):
        if other is not None:
            other.close()


@sqlite_only
def test_output_to_head_ends_without_an_error(jobrunner: Commands, database: Database) -> None:
    """More than a pipe holds, so that the command is still writing when its reader goes."""
    jobrunner("enqueue", "echo", "--payload", "-", stdin=f'{{"name": "{"x" * 200_000}"}}')
    jobrunner("schedule", "add", "n" * 190, "--type", "echo", "--cron", "@daily")
    columns = "job_type, payload, schedule, timezone, source, last_slot_at, next_run_at, created_at, updated_at"
    many = "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 600)"
    database.execute(
        f"INSERT INTO job_definitions (name, {columns})"
        f" {many} SELECT name || n, {columns} FROM job_definitions CROSS JOIN many"
    )
    for words in some("head", [["status"], ["schedule", "list"], ["show", "1"]], 1):
        for form in ([], ["--json"]):
            command = Patient(
                [COMMAND, *words, *form],
                env=jobrunner.environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert command.stdout is not None
            assert command.stderr is not None
            assert command.stdout.readline()
            command.stdout.close()
            assert (words, command.wait(timeout=30), command.stderr.read()) == (words, 0, "")
            command.stderr.close()


def test_tick_goes_on_after_the_reader_of_its_log_has_closed(jobrunner: Commands, app: App) -> None:
    """`jobrunner tick -v 2>&1 | head -1`: the handler goes on, and is finalized."""
    run_id = jobrunner.enqueue("wait_for", {"path": str(app.path("go"))})
    tick = Patient(
        [COMMAND, "tick", "-v"],
        env=jobrunner.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tick.stderr is not None
    assert "claimed" in tick.stderr.readline()
    tick.stderr.close()
    app.release("go")
    assert tick.wait(timeout=30) == 0
    assert jobrunner.show(run_id)["status"] == "succeeded"
