"""The demo of the example application, run as a user runs it; its parts are tested in test_saas.py."""

import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest

from harness import Database, SQLiteDatabase, pages, postgresql_only, wait_for
from harness.commands import clean_environment
from harness.processes import Patient, command_line, kill_marked, marked_processes

EXAMPLE = Path(__file__).parents[2] / "examples" / "saas"


class Demo:
    """Runs the script in an environment as bare as a new user's."""

    def __init__(self, tmp_path: Path, database: Database) -> None:
        self.output = tmp_path / "demo-output"
        self.mails = self.output / "mails"
        self.environment = clean_environment(tmp_path) | {"DEMO_OUTPUT": str(self.output)}
        self.database = database
        if isinstance(database, SQLiteDatabase):
            self.database = SQLiteDatabase(self.output / "demo.db")  # which the demo makes
        else:
            self.environment["DEMO_DATABASE_URL"] = database.url
        self.marks = [f"{self.output}".encode()]

    def run(self, **more: str) -> "subprocess.CompletedProcess[str]":
        script = [sys.executable, str(EXAMPLE / "demo.py")]
        environment = self.environment | more
        return subprocess.run(script, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)


@pytest.fixture
def demo(tmp_path: Path, database: Database) -> Iterator[Demo]:
    made = Demo(tmp_path, database)
    yield made
    kill_marked(made.marks)


def without_luck(text: str) -> str:
    """Without the numbers that depend on the moment of the kill, and without places."""
    text = re.sub(r"JOBRUNNER_DATABASE_URL=\S+ \S+/jobrunner web", "LOOK", text)
    return re.sub(r"(dropped:|tried again|for good) \d+", r"\1 N", text)


def first_line_of(demo: Demo, command: str) -> str:
    """What a command that goes on prints first; then it is interrupted."""
    with Patient(
        f"exec env {command} --port 0",
        shell=True,
        env=demo.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
    return line


@pytest.mark.promise("P1")
@pytest.mark.long(sample=1)
def test_the_demo_sends_each_report_once_although_a_tick_is_killed(demo: Demo) -> None:
    # Settings of whoever runs it must not get into it.
    done = demo.run(JOBRUNNER_IMPORT="no_such_module", DATABASE_URL="sqlite:////nowhere/else.db", JOBRUNNER_LEASE="9")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""

    # One weekly report each, and one more for the user who clicked on other days.
    mails = [message_from_bytes(path.read_bytes()) for path in demo.mails.glob("*.eml")]
    reports = Counter((mail["To"], mail["Subject"]) for mail in mails)
    assert set(reports.values()) == {1}
    assert len(reports) == 60
    per_user = Counter(mail["To"] for mail in mails)
    assert {address for address, number in per_user.items() if number > 1} == {"user-60@customers.example"}
    assert per_user.keys() == {
        *(f"busy-{number}@customers.example" for number in range(1, 6)),
        *(f"user-{number}@customers.example" for number in range(7, 61)),
    }
    server = Counter(line.split()[0] for line in (demo.mails / "server.log").read_text().splitlines())
    assert server["451"] == 10
    assert server["550"] >= 1

    database = demo.database
    assert database.value("SELECT count(*) AS n FROM job_runs WHERE attempts > 1 AND status = 'succeeded'") >= 5
    (dead,) = database.query("SELECT * FROM job_runs WHERE status = 'dead'")
    assert dead["last_error"].startswith("550 ")
    assert f"show {dead['id']}" in done.stdout
    assert "550 5.1.1 no such user here" in done.stdout
    (shown,) = pages.checked_by(
        "tests/project/test_demo.py::test_the_demo_sends_each_report_once_although_a_tick_is_killed"
    )
    assert without_luck(done.stdout).endswith(without_luck(shown.text))
    assert first_line_of(demo, done.stdout.splitlines()[-1].strip().removeprefix("$ ")).startswith("http://127.0.0.1:")
    # The killed tick left a trail: its own open row, and an attempt that ended with its lease.
    (killed,) = database.query("SELECT * FROM job_ticks WHERE finished_at IS NULL")
    cut_short = database.query("SELECT * FROM job_attempts WHERE outcome = 'lease_expired'")
    assert cut_short
    assert {attempt["worker"] for attempt in cut_short} == {killed["worker"]}
    left = marked_processes(demo.marks)
    assert not left, [command_line(pid) for pid in left]


@postgresql_only
def test_demo_does_not_touch_a_database_in_use(demo: Demo) -> None:
    demo.database.execute("CREATE TABLE users (id integer)")
    done = demo.run()
    assert done.returncode == 1
    assert "is in use (table users)" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_demo_does_not_touch_a_folder_of_another_user(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("not the demo's")
    environment = clean_environment(tmp_path) | {"DEMO_OUTPUT": str(tmp_path)}
    script = [sys.executable, str(EXAMPLE / "demo.py")]
    done = subprocess.run(script, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "DEMO_OUTPUT" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert precious.exists()


def test_mail_server_ends_when_the_process_that_started_it_ends(tmp_path: Path) -> None:
    script = (
        "import os, subprocess, sys;"
        f"p = subprocess.Popen([sys.executable, {str(EXAMPLE / 'mailserver.py')!r}, {str(tmp_path)!r}],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE);"
        "p.stdout.readline(); print(p.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    pid = int(done.stdout)
    wait_for(lambda: not command_line(pid).endswith(str(tmp_path)), 20, "the end of the mail server")
