"""A payload that its handler or command cannot take is refused on every way in, with the same words.

`schedule import` is no such way: the commands that it writes take nothing from a payload.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.commands import Completed

HANDLER = """
from jobrunner import Context, Schedule, job

@job("report"{schedule})
def report(ctx: Context, to: str, copies: int = 1): ...
"""
FILE = '[jobs.mail]\ncommand = ["mail", "{payload.to}"]\n'
# The job type, what it is given, and why it cannot take it.
REFUSED: list[tuple[str, Mapping[str, Any], str]] = [
    ("report", {"to": 1}, "argument 'to' must be str, not int"),
    ("report", {"to": "a", "cc": "b"}, "unexpected argument 'cc'; the handler takes to, copies"),
    ("mail", {}, "the command asks for {payload.to}, which the payload does not have"),
]
APPLICATION = """
import json, os, sqlalchemy
import handlers, jobrunner
from jobrunner.errors import BadPayload

url = os.environ["JOBRUNNER_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://")
ways = [
    lambda connection, payload: handlers.report.enqueue(connection, **payload),
    lambda connection, payload: handlers.report.enqueue_many(connection, [payload]),
    lambda connection, payload: jobrunner.enqueue(connection, "report", payload),
    lambda connection, payload: jobrunner.enqueue_many(connection, "report", [payload]),
]
told = []
with sqlalchemy.create_engine(url).begin() as connection:
    for payload in json.loads(PAYLOADS):
        for way in ways:
            try:
                way(connection, payload)
            except BadPayload as error:
                told.append(str(error))
    answer = jobrunner.enqueue(connection, "elsewhere", {"to": 1})
print(json.dumps({"told": told, "of_a_type_that_others_have": answer.id}))
"""


def told(job_type: str, reason: str) -> str:
    return f"the payload does not fit the job type {job_type!r}: {reason}"


def by_command(jobrunner: Commands, app: App) -> Mapping[str, Callable[[str, str], tuple[Completed, int, str]]]:
    """For each command: its output, the expected exit code, and the text before the words."""

    def words(job_type: str, payload: str) -> list[str]:
        return ["--type", job_type, "--cron", "@daily", "--payload", payload]

    def apply_file(job_type: str, payload: str) -> tuple[Completed, int, str]:
        path = app.path("jobrunner.toml")
        table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in json.loads(payload).items())
        schedule = f'[schedules.n]\njob = "{job_type}"\nschedule = "@daily"\n[schedules.n.payload]\n{table}'
        path.write_text(FILE + schedule)
        done = jobrunner("apply", check=False)
        path.write_text(FILE)
        return done, 78, f"{path}: schedules.n: "

    def call(*command: str) -> tuple[Completed, int, str]:
        return jobrunner(*command, check=False), 2, ""

    return {
        "enqueue": lambda job_type, payload: call("enqueue", job_type, "--payload", payload),
        "schedule add": lambda *said: call("schedule", "add", "new", *words(*said)),
        "schedule edit": lambda *said: call("schedule", "edit", "old", *words(*said)),
        "apply": apply_file,
    }


@pytest.mark.promise("P12")
def test_a_payload_that_its_type_cannot_take_is_refused_by_every_command_in_the_same_words(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """Otherwise its run would die at its first attempt, and its creator would not see that."""
    app.write("handlers", HANDLER.format(schedule=""))
    app.path("jobrunner.toml").write_text(FILE)
    jobrunner("schedule", "add", "old", "--type", "mail", "--cron", "@daily", "--payload", '{"to": "a"}')
    before = database.query("SELECT * FROM job_definitions")
    for job_type, payload, reason in REFUSED:
        for name, say in by_command(jobrunner, app).items():
            done, code, place = say(job_type, json.dumps(payload))
            assert (done.returncode, done.stdout) == (code, ""), name
            assert done.stderr == f"jobrunner: {place}{told(job_type, reason)}\n", name
    assert database.query("SELECT * FROM job_definitions") == before
    assert database.value("SELECT count(*) FROM job_runs") == 0
    # Another host may have the code that takes it.
    for words in (["enqueue", "report"], ["schedule", "add", "new", "--type", "report", "--cron", "@daily"]):
        assert jobrunner(*words, "--allow-unknown").stderr == ""
    assert jobrunner("schedule", "edit", "old", "--payload", "{}", "--allow-unknown").stderr == ""


@pytest.mark.promise("P12")
def test_a_type_that_this_host_does_not_have_is_refused_by_every_command_in_the_same_words(
    jobrunner: Commands, database: Database
) -> None:
    jobrunner("schedule", "add", "old", "--type", "echo", "--cron", "@daily")
    adding = ["schedule", "add", "new", "--cron", "@daily"]
    for words in (["enqueue", "ehco"], [*adding, "--type", "ehco"], ["schedule", "edit", "old", "--type", "ehco"]):
        jobrunner.refused(
            2, *words, says=["jobrunner: this host has no handler for 'ehco' (it has append, echo, ", "--allow-unknown"]
        )
    assert database.query("SELECT name, job_type FROM job_definitions") == [{"name": "old", "job_type": "echo"}]
    assert database.value("SELECT count(*) FROM job_runs") == 0
    assert jobrunner(*adding, "--type", "ehco", "--allow-unknown").stderr == ""


def test_a_payload_that_its_handler_cannot_take_is_refused_by_an_application_in_the_same_words(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """By the handler's name, too; a type without a handler in this process is accepted."""
    app.write("handlers", HANDLER.format(schedule=""))
    reasons = {
        json.dumps(payload): told(job_type, reason) for job_type, payload, reason in REFUSED if job_type == "report"
    }
    source = f"PAYLOADS = {json.dumps([json.loads(each) for each in reasons])!r}\n" + APPLICATION
    said = json.loads(jobrunner.python(source))
    assert said["told"] == [
        f"{place}{words}" for words in reasons.values() for place in ("", "payloads[0]: ", "", "payloads[0]: ")
    ]
    assert database.query("SELECT id, job_type FROM job_runs") == [
        {"id": said["of_a_type_that_others_have"], "job_type": "elsewhere"}
    ]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_payload_that_its_handler_cannot_take_is_refused_in_its_own_schedule_in_the_same_words(
    jobrunner: Commands, app: App
) -> None:
    """Where its module is imported, before anything reaches a database, whichever it is."""
    for job_type, payload, reason in REFUSED:
        if job_type == "report":
            app.write("handlers", HANDLER.format(schedule=f', schedule=Schedule("@daily", payload={payload!r})'))
            line = jobrunner.refused(78, "apply")
            assert line.endswith(f"(handlers.py, line 4): schedule: {told(job_type, reason)}\n")
