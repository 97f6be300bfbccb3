"""The handlers and the lines of docs/reference/limits.md."""

import pytest

from harness import App, Commands, Database, pages

HEAD = """
from sqlalchemy import create_engine
from jobrunner import Context, group, job

@job
def resize(ctx: Context, photo: str) -> None: ...

@job
def publish(ctx: Context, album: int) -> None: ...

@job
def remove_originals(ctx: Context, album: int) -> None: ...
"""
SCRIPT = """
import os
from sqlalchemy import create_engine
from handlers import *

photos = ["a", "b"]
engine = create_engine(os.environ["JOBRUNNER_DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://"))
"""


def test_the_handlers_of_the_page_are_handlers(jobrunner: Commands, app: App, database: Database) -> None:
    name = "tests/worker/test_limits_docs.py::test_the_handlers_of_the_page_are_handlers"
    *handlers, enqueueing = (block.text for block in pages.checked_by(name))
    app.write("handlers", HEAD + "".join(handlers))
    limits = {each["job_type"]: each for each in jobrunner("types", "--json").json()}
    assert (limits["transcode"]["max_running"], limits["sync"]["max_running_per_key"]) == (3, 1)
    assert (limits["export"]["fair_by"], limits["export"]["max_running_per_key"]) == ("customer_id", None)
    assert (limits["push"]["rate"], limits["push"]["burst"], limits["push"]["burst_per_key"]) == ("100/m", 10, 1)
    enqueued = jobrunner.start_python(SCRIPT + enqueueing)
    assert (enqueued.wait(30), enqueued.stderr and enqueued.stderr.read()) == (0, "")
    jobrunner.tick()
    assert database.value("SELECT count(*) AS n FROM job_runs WHERE status = 'succeeded'") == 4


TOML = """
[jobs.a]
command = ["true"]
max_running = 2
rate = "5/s"
burst = 7
concurrency_key = ["x", "y"]
max_running_per_key = 3
rate_per_key = "1/m"
burst_per_key = 2
"""
WRONG = {
    'max_running = "2"': "max_running",
    "max_running = 0": "jobs.a.max_running: must be a whole number",
    'rate = "fast"': "jobs.a.rate: must be a text such as",
    "burst = 3": "jobs.a.burst: needs a rate",
    'fair_by = ["a"]': "jobs.a.fair_by: must name one argument of the payload",
    'fair_by = "a"\nconcurrency_key = "b"': "jobs.a.fair_by: is 'a', and the concurrency_key is b",
    "max_running_per_key = 1": "jobs.a.max_running_per_key: needs a concurrency_key",
    'concurrency_key = "a b"': "jobs.a.concurrency_key: must name an argument",
    "concurrency_key = []": "jobs.a.concurrency_key: must be the name",
    "concurrency_key = 7": "jobs.a.concurrency_key: must be the name",
}


def test_commands_of_the_file_take_the_same_limits(jobrunner: Commands, app: App) -> None:
    app.path("jobrunner.toml").write_text(TOML)
    (policy,) = [each for each in jobrunner("types", "--json").json() if each["job_type"] == "a"]
    wanted = {"max_running": 2, "rate": "5/s", "burst": 7, "concurrency_key": ["x", "y"], "max_running_per_key": 3}
    wanted |= {"rate_per_key": "1/m", "burst_per_key": 2}
    assert {name: policy[name] for name in wanted} == wanted


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_limit_of_the_file_is_one_line(jobrunner: Commands, app: App, line: str) -> None:
    app.path("jobrunner.toml").write_text(f'[jobs.a]\ncommand = ["true"]\n{line}\n')
    assert WRONG[line] in jobrunner.refused(78, "types")


def test_a_key_that_the_handler_does_not_take_is_refused_at_its_import(jobrunner: Commands, app: App) -> None:
    app.add('@job("a", concurrency_key="customer")\ndef a(ctx, custommer: int): ...\n')
    assert "names 'customer', which it does not take" in jobrunner.refused(78, "types")
