"""Sets and reads limits, and starts a user's own applications, for the tests of backpressure."""

import json
import subprocess
from typing import Any

from harness import Commands, Database

HANDLERS = """
@job("refusing", max_waiting=2)
def refusing(ctx: Context, **payload):
    pass


@job("dropping", max_waiting=2, when_full="drop")
def dropping(ctx: Context, **payload):
    pass
"""
BEGIN = """
import json, os, sys, time
import jobrunner
from jobrunner.errors import QueueFull
from sqlalchemy import create_engine, exc, text

url = os.environ["JOBRUNNER_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://")
engine = create_engine(url, connect_args={"timeout": 60} if url.startswith("sqlite") else {})


def tried(enqueue, *args, **options):
    try:
        answer = enqueue(*args, **options)
    except QueueFull as error:
        return str(error)
    return [answer.id, answer.created, answer.dropped]
"""


def limit(database: Database, job_type: str, max_waiting: int, when_full: str = "refuse") -> None:
    """As a tick or an enqueue writes it that knows the type's code."""
    database.execute(
        "INSERT INTO job_types (job_type, max_waiting, when_full, updated_at) VALUES (?, ?, ?, ?)",
        [job_type, max_waiting, when_full, database.now()],
    )


def waiting(database: Database, job_type: str) -> int:
    statement = "SELECT count(*) FROM job_runs WHERE job_type = ? AND status IN ('queued', 'failed')"
    return int(database.value(statement, [job_type]))


def dropped(database: Database, job_type: str) -> int:
    return int(database.value("SELECT dropped FROM job_types WHERE job_type = ?", [job_type]))


def start(jobrunner: Commands, script: str, *args: object) -> "subprocess.Popen[str]":
    """An application of a user's own, beside jobrunner."""
    return jobrunner.start_python(BEGIN + script, *args)


def answer_of(process: "subprocess.Popen[str]") -> Any:
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    return json.loads(out)
