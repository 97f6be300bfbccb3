"""A job type gets another name: its runs, keys and schedules go on, also beside older code and after a rollback."""

from pathlib import Path
from textwrap import dedent

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.handlers_rows import queue, run_of, status_of
from harness.invariants import insert_runs
from harness.judge import breaches_at
from harness.pages import checked_by

NAME = "tests/worker/test_renamed_type.py::test_runs_of_both_names_are_done_and_the_schedule_follows"
BEFORE = """
from jobrunner import Context, job


@job("send_report", schedule="0 6 * * *")
def send_report(ctx: Context, month: str = "last") -> None:
    print(f"the report of {month}")
"""


def test_runs_of_both_names_are_done_and_the_schedule_follows(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", BEFORE)
    jobrunner("apply")
    waiting = int(jobrunner("enqueue", "send_report", "--payload", '{"month": "May"}', "--key", "May").stdout)
    before = database.query("SELECT id, last_slot_at FROM job_definitions")
    (shown,) = checked_by(NAME)
    app.write("handlers", shown.text)
    jobrunner("apply")
    new = int(jobrunner("enqueue", "report.send", "--payload", '{"month": "June"}').stdout)
    # The key is taken, under both names.
    assert [int(jobrunner("enqueue", each, "--key", "May").stdout) for each in ("report.send", "send_report")] == [
        waiting
    ] * 2
    jobrunner.tick()
    assert [run_of(database, each)["status"] for each in (waiting, new)] == ["succeeded", "succeeded"]
    assert [run_of(database, each)["job_type"] for each in (waiting, new)] == ["send_report", "report.send"]
    for run_id, month in ((waiting, "May"), (new, "June")):
        assert f"\nthe report of {month}\n" in jobrunner("logs", run_id).stdout
    # The same row, with its history: no slot is lost, and none fires twice.
    assert database.query("SELECT id, last_slot_at FROM job_definitions") == before
    (schedule,) = database.query("SELECT name, job_type, removed_at FROM job_definitions")
    assert schedule == {"name": "report.send", "job_type": "report.send", "removed_at": None}
    assert "FORMERLY" in jobrunner("types").stdout


SIDE = """
import os, time
from pathlib import Path
from jobrunner import Context, job

HERE, THERE = Path(__file__).with_name("{here}"), Path(__file__).with_name("{there}")

@job("{name}", {options}timeout="5m")
def work(ctx: Context):
    HERE.touch()
    # Each side begins one run before the other side has ended its own.
    while not THERE.exists():
        time.sleep(0.01)
    line = f"{{ctx.run_id}} {here} {{ctx.job_type}}\\n".encode()
    trace = os.open(os.environ["TRACE_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(trace, line)
    os.close(trace)
"""


@pytest.mark.promise("P1")
@pytest.mark.promise("P12")
def test_old_and_new_code_work_side_by_side_and_nothing_runs_twice_or_waits_after_a_rollback(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("old_code", SIDE.format(name="old", options="", here="old_side", there="new_side"))
    app.write("new_code", SIDE.format(name="new", options="formerly='old', ", here="new_side", there="old_side"))
    ago = database.now()
    of_old = insert_runs(database, 6, "old", run_at=ago)
    of_new = insert_runs(database, 6, "new", run_at=ago)
    sides = {
        side: {"JOBRUNNER_IMPORT": f"{side}_code", "JOBRUNNER_HOST": side, "JOBRUNNER_CONCURRENCY": "1"}
        for side in ("old", "new")
    }
    for tick in [jobrunner.start("tick", env=env) for env in sides.values()]:
        assert (*tick.communicate(timeout=60), tick.returncode) == ("", "", 0)
    trace = [line.split() for line in app.trace_file.read_text().splitlines()]
    assert sorted(int(run_id) for run_id, _, _ in trace) == of_old + of_new
    # Both have had runs of the old name; those of the new one are for new code only.
    assert {(side, name) for _, side, name in trace} >= {("old_side", "old"), ("new_side", "new")}
    assert ("old_side", "new") not in {(side, name) for _, side, name in trace}
    rows = database.query("SELECT status, attempts FROM job_runs")
    assert rows == [{"status": "succeeded", "attempts": 1}] * 12

    # A rollback: old code leaves the runs of the new name as they are, and says that they wait.
    (waiting,) = insert_runs(database, 1, "new", run_at=ago)
    (other,) = insert_runs(database, 1, "old", run_at=ago)
    jobrunner.tick(env=sides["old"])
    assert (status_of(database, waiting), status_of(database, other)) == ("queued", "succeeded")
    assert run_of(database, waiting)["attempts"] == 0
    # The next deploy, and nothing waits any more. A host with both names is one that can run each of them.
    told = jobrunner("explain", waiting, "--json").json()
    jobrunner.tick(env=sides["new"])
    assert status_of(database, waiting) == "succeeded", told
    assert breaches_at(database.url) == []


COMMANDS = """
[jobs."report.send"]
command = ["echo", "the report"]
formerly = ["send_report"]
schedule = "0 6 * * *"
"""


def test_renamed_command_of_the_file_runs_what_is_left_and_its_schedule_follows(
    jobrunner: Commands, app: App, database: Database
) -> None:
    file = app.folder / "jobrunner.toml"
    env = {"JOBRUNNER_CONFIG": str(file), "JOBRUNNER_IMPORT": None}
    file.write_text(COMMANDS.replace("report.send", "send_report").replace("formerly", "# formerly"))
    jobrunner("apply", env=env)
    (run_id,) = insert_runs(database, 1, "send_report")
    file.write_text(COMMANDS)
    said = jobrunner("apply", env=env).stdout
    assert "name: send_report -> report.send" in said
    jobrunner.tick("--type", "report.send", env=env)
    assert status_of(database, run_id) == "succeeded"
    assert "the report" in jobrunner("logs", run_id).stdout
    told = jobrunner("pause", "--type", "send_report", env=env).stdout
    assert [line.partition(":")[0] for line in told.splitlines()] == ["type send_report", "type report.send"]
    assert "so is send_report" in jobrunner("resume", "--type", "report.send", env=env).stdout


ASYNC = """
import asyncio
from jobrunner import Context, job

now, most = 0, 0

@job("new", formerly="old", concurrency=2)
async def work(ctx: Context):
    global now, most
    now += 1
    most = max(most, now)
    # While one of the old name is at work, many of the new one end.
    await asyncio.sleep(0.02 if ctx.job_type == "old" else 0.002)
    now -= 1
    return [ctx.job_type, most]
"""


def test_async_handler_runs_what_is_left_under_its_former_name_in_the_places_of_its_type(
    jobrunner: Commands, app: App, database: Database
) -> None:
    app.write("handlers", ASYNC)
    names = ["old", "new"] * 40
    runs = [queue(database, name) for name in names]
    jobrunner.tick("--type", "new")
    results = [run_of(database, each)["result"] for each in runs]
    assert [name for name, _ in results] == names
    assert max(most for _, most in results) == 2


WRONG = {
    "still declared": ("@job('old')\ndef old(ctx): pass\n", "formerly has 'old', a type that is still declared"),
    "declared later": ("", "its job type 'old' is a former name (formerly) of 'new'"),
    "of two types": (
        "@job('other', formerly='old')\ndef other(ctx): pass\n",
        "formerly has 'old', and so has that of 'other'",
    ),
    "a cycle": ("@job('old', formerly='new')\ndef old(ctx): pass\n", "formerly has 'old', a type that is still"),
    "its own name": ("", "formerly has 'new', which is the name of the type today"),
    "no name": ("", "formerly has a name that no type can have had: 'no name'"),
}


@sqlite_only
@pytest.mark.parametrize("case", WRONG)
def test_name_that_would_have_two_handlers_is_refused_with_file_and_line(
    jobrunner: Commands, app: App, case: str
) -> None:
    others, says = WRONG[case]
    former = {"its own name": "new", "no name": "no name"}.get(case, "old")
    source = f"from jobrunner import job\n{others}@job('new', formerly={former!r})\ndef new(ctx): pass\n"
    later = "@job('old')\ndef old(ctx): pass\n" if case == "declared later" else ""
    path = app.write("handlers", source + later)
    line = (source + later).count("\n") - 1
    refused = jobrunner.refused(78, "types")
    assert says in refused
    assert f"{Path(path).name}, line {line}" in refused


@sqlite_only
@pytest.mark.parametrize(
    ("file", "says"),
    [
        ('[jobs.old]\ncommand = ["true"]\n', "jobs.new.formerly: has 'old', a type that is still declared"),
        ('[jobs.z]\ncommand = ["true"]\nformerly = "old"\n', "jobs.z.formerly: has 'old', and so has that of 'new'"),
    ],
)
def test_name_of_the_file_that_would_have_two_commands_is_refused_with_file_and_key(
    jobrunner: Commands, app: App, file: str, says: str
) -> None:
    path = app.folder / "jobrunner.toml"
    path.write_text(dedent(f'[jobs.new]\ncommand = ["true"]\nformerly = "old"\n{file}'))
    assert f"{path}: {says}" in jobrunner.refused(None, "types", env={"JOBRUNNER_CONFIG": str(path)})
