"""The README is compared with the code. Its commands are run in test_docs_commands.py."""

import re
import subprocess
from pathlib import Path

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, insert, select

from harness import Database, pages
from jobrunner.lifecycle import Status

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
LARGEST_README = 9000


def test_the_readme_is_short_enough_to_be_read_at_once():
    assert len(README.encode()) <= LARGEST_README


def test_the_readme_says_what_each_status_means():
    assert re.findall(r"^\| `(\w+)` \| \w", README, re.MULTILINE) == [status.value for status in Status]


def test_crontab_line_is_the_one_of_the_example():
    (block,) = pages.checked_by("tests/project/test_readme.py::test_crontab_line_is_the_one_of_the_example")
    assert block.text in (ROOT / "crontab.example").read_text().splitlines(keepends=True)


def test_enqueueing_in_ones_own_transaction(database: Database, engine: Engine):
    (block,) = pages.checked_by("tests/project/test_readme.py::test_enqueueing_in_ones_own_transaction")
    users = Table("users", MetaData(), Column("id", Integer, primary_key=True), Column("name", String(20)))
    users.create(engine)
    handlers = next(each.text for each in pages.read("README.md") if each.saved_as == "jobs.py")
    namespace = {"engine": engine, "insert": insert, "users": users}
    exec(handlers + block.text, namespace)
    with engine.connect() as connection:
        assert [tuple(row) for row in connection.execute(select(users))] == [(812, "Ada")]
    assert database.query("SELECT payload, idempotency_key FROM job_runs") == [
        {"payload": {"name": "Ada"}, "idempotency_key": "greet:812"}
    ]


@pytest.mark.parametrize("target", ["demo", "test"])
def test_named_make_targets_exist(target):
    assert f"make {target}" in README
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ci_runs_the_test_command_of_the_readme():
    assert "make test" in README
    check = subprocess.run(["make", "-n", "check"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "make check" in (ROOT / ".ci" / "run").read_text()
    assert "pytest" in check.stdout
