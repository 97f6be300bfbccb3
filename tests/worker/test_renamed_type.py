"""A job type gets another name: the way of docs/howto/operations.md."""

from harness import App, Commands, Database
from harness.handlers_rows import run_of
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
    waiting = int(jobrunner("enqueue", "send_report", "--payload", '{"month": "May"}').stdout)
    (shown,) = checked_by(NAME)
    app.write("handlers", shown.text)
    jobrunner("apply")
    new = int(jobrunner("enqueue", "report.send", "--payload", '{"month": "June"}').stdout)
    jobrunner.tick()
    assert [run_of(database, each)["status"] for each in (waiting, new)] == ["succeeded", "succeeded"]
    for run_id, month in ((waiting, "May"), (new, "June")):
        assert f"\nthe report of {month}\n" in jobrunner("logs", run_id).stdout
    schedules = database.query("SELECT job_type FROM job_definitions WHERE removed_at IS NULL")
    assert [each["job_type"] for each in schedules] == ["report.send"]
