"""The example application: a guard against sending a report twice, and the runs that its pages enqueue."""

import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from harness import App, Commands, Database
from harness.processes import Patient

EXAMPLE = Path(__file__).parents[2] / "examples" / "saas"
WEEK = "2026-01-05"


class Mailbox:
    """What the example's mail server wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def mails(self) -> list[Message]:
        return [message_from_bytes(path.read_bytes()) for path in sorted(self.folder.glob("*.eml"))]

    def recipients(self) -> Counter[str]:
        return Counter(str(mail["To"]) for mail in self.mails())

    def log(self) -> Counter[str]:
        """How often the server did what: stored, dropped, 451, 550."""
        path = self.folder / "server.log"
        return Counter(line.split()[0] for line in path.read_text().splitlines()) if path.exists() else Counter()


class Saas(App):
    """The example in place of the harness's own handlers; `also` is a module of the test's own beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.imports = "handlers"
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.smtp = ""

    def also(self, module: str, source: str) -> None:
        self.write(module, source)
        self.imports = f"{self.imports},{module}"

    def environment(self) -> dict[str, str]:
        return {
            "JOBRUNNER_APP_DIR": str(EXAMPLE),
            "JOBRUNNER_IMPORT": self.imports,
            "PYTHONPATH": f"{EXAMPLE}:{self.folder}",
            "SAAS_SMTP": self.smtp,
            "SAAS_TEMP_DIR": str(self.temporary),
            "SAAS_FIRST_WAIT": "20s",
        }


@pytest.fixture
def app(tmp_path: Path) -> Saas:
    return Saas(tmp_path / "saas")


@pytest.fixture
def mailbox(app: Saas, jobrunner: Commands, tmp_path: Path) -> Iterator[Mailbox]:
    """A running mail server."""
    folder = tmp_path / "mails"
    folder.mkdir()
    server = Patient(
        [sys.executable, str(EXAMPLE / "mailserver.py"), str(folder)],
        env=jobrunner.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with contextlib.closing(server.stdout):
        app.smtp = f"127.0.0.1:{int(server.stdout.readline())}"
        yield Mailbox(folder)
        server.stdin.close()
        assert server.wait(20) == 0


Site = Callable[[str], list[str]]


@pytest.fixture
def site(jobrunner: Commands) -> Site:
    """Runs Python in a process of the application's own, and gives the lines that it prints."""

    def run(source: str) -> list[str]:
        script = "from datetime import date\nimport app, tables\n" + dedent(source)
        return jobrunner.python(script).splitlines()

    run("tables.metadata.create_all(tables.engine())")
    return run


@pytest.fixture
def with_users(site: Site, database: Database) -> Callable[..., None]:
    """Adds users who have been there for long."""

    def add(*addresses: str) -> None:
        for address in addresses:
            row = [address, address.partition("@")[0], "2025-01-01"]
            database.execute("INSERT INTO users (email, name, since) VALUES (?, ?, ?)", row)

    return add


def report(jobrunner: Commands, user_id: int = 1, **more: Any) -> int:
    # The type is known; not to be asked for it saves the start of a child.
    payload = {"user_id": user_id, "week_start": WEEK}
    return jobrunner.enqueue("send_weekly_report", payload, allow_unknown=True, **more)


def run_of(database: Database, run_id: int) -> dict[str, Any]:
    (row,) = database.query("SELECT * FROM job_runs WHERE id = ?", [run_id])
    return row


def outcomes(database: Database, run_id: int) -> list[str]:
    statement = "SELECT outcome FROM job_attempts WHERE run_id = ? ORDER BY sequence"
    return [row["outcome"] for row in database.query(statement, [run_id])]


def tick_until(jobrunner: Commands, *statuses: str) -> None:
    """Tick every two minutes of jobrunner's clock, until all runs have one of the statuses."""
    listed = ", ".join(f"'{status}'" for status in statuses)
    left = f"SELECT count(*) AS n FROM job_runs WHERE status NOT IN ({listed})"
    for _ in range(10):
        if not jobrunner.database.value(left):
            return
        # Beyond the wait for the next attempt, which no tick of the test is to sit out by chance.
        jobrunner.database.move_clock(timedelta(minutes=2))
        jobrunner.tick()
    raise AssertionError(jobrunner.database.describe())


CRASH_AFTER_SENDING = """
import os
import signal
import smtplib

send_message = smtplib.SMTP.send_message


def send_and_die(self, message):
    send_message(self, message)
    if not os.path.exists(os.environ["SAAS_TEMP_DIR"] + "/died"):
        open(os.environ["SAAS_TEMP_DIR"] + "/died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)


smtplib.SMTP.send_message = send_and_die
"""


def test_a_crash_after_the_server_took_the_mail_gives_no_second_mail(
    app: Saas, jobrunner: Commands, mailbox: Mailbox, with_users: Callable[..., None]
) -> None:
    app.also("crashing", CRASH_AFTER_SENDING)
    with_users("ann@customers.example")
    run_id = report(jobrunner)
    jobrunner.tick()
    assert mailbox.log() == {"stored": 1}
    # The server has the mail, and the application does not know: the gap that its docstring tells of.
    assert jobrunner.database.query("SELECT run_id, sent_at FROM sent_reports") == [{"run_id": run_id, "sent_at": None}]
    tick_until(jobrunner, "succeeded")
    assert outcomes(jobrunner.database, run_id) == ["crashed", "succeeded"]
    assert mailbox.log() == {"stored": 1, "dropped": 1}
    assert mailbox.recipients() == {"ann@customers.example": 1}
    assert jobrunner.database.value("SELECT sent_at FROM sent_reports") is not None


def test_a_crash_after_the_report_was_noted_sends_nothing_more(
    jobrunner: Commands, mailbox: Mailbox, with_users: Callable[..., None]
) -> None:
    with_users("ann@customers.example")
    run_id = report(jobrunner)
    jobrunner.tick(env={"JOBRUNNER_FAULT": "child.handler_returned=kill"})
    assert jobrunner.database.value("SELECT sent_at FROM sent_reports") is not None
    tick_until(jobrunner, "succeeded")
    assert outcomes(jobrunner.database, run_id) == ["crashed", "succeeded"]
    assert run_of(jobrunner.database, run_id)["result"] == f"<report-1-{WEEK}-2026-01-11@saas.example> was sent before"
    assert mailbox.log() == {"stored": 1}


def test_two_runs_for_the_same_report_send_one_mail(
    app: Saas, jobrunner: Commands, mailbox: Mailbox, with_users: Callable[..., None]
) -> None:
    app.also("crashing", CRASH_AFTER_SENDING)
    with_users("ann@customers.example")
    first = report(jobrunner, max_attempts=1)
    tick_until(jobrunner, "dead")
    second = report(jobrunner, max_attempts=1)  # by hand, and so without the key
    tick_until(jobrunner, "dead")
    assert run_of(jobrunner.database, second)["last_error"] == f"run {first} has begun to send this report"
    jobrunner("retry", first)
    tick_until(jobrunner, "dead", "succeeded")
    jobrunner("retry", second)
    tick_until(jobrunner, "succeeded")
    assert mailbox.log() == {"stored": 1, "dropped": 1}


def test_temporary_mail_refusal_is_retried_and_a_permanent_one_is_not(
    jobrunner: Commands, mailbox: Mailbox, with_users: Callable[..., None]
) -> None:
    with_users("busy-1@customers.example", "gone-1@customers.example")
    busy, gone = report(jobrunner, 1), report(jobrunner, 2)
    jobrunner.tick()
    assert run_of(jobrunner.database, busy)["last_error"] == "451 4.7.1 try again later"
    tick_until(jobrunner, "succeeded", "dead")
    assert run_of(jobrunner.database, busy)["attempts"] == 3
    dead = run_of(jobrunner.database, gone)
    assert (dead["status"], dead["attempts"], dead["last_error"]) == ("dead", 1, "550 5.1.1 no such user here")
    assert mailbox.recipients() == {"busy-1@customers.example": 1}
    # What was refused for good is not reserved: it can be asked for when the address has been put right.
    assert jobrunner.database.query("SELECT user_id FROM sent_reports") == [{"user_id": 1}]


def test_unreachable_mail_server_is_retried(app: Saas, jobrunner: Commands, with_users: Callable[..., None]) -> None:
    app.smtp = "127.0.0.1:1"
    with_users("ann@customers.example")
    run_id = report(jobrunner)
    jobrunner.tick()
    assert run_of(jobrunner.database, run_id)["status"] == "failed"
    assert run_of(jobrunner.database, run_id)["error_type"] == "ConnectionRefusedError"


@pytest.mark.promise("P4")
def test_report_requested_three_times_for_a_week_is_one_run_per_user(
    jobrunner: Commands, site: Site, with_users: Callable[..., None]
) -> None:
    with_users(*(f"user-{number}@customers.example" for number in range(5)))
    for _ in range(2):
        jobrunner.enqueue("enqueue_weekly_reports", {"week_start": WEEK}, allow_unknown=True)
    jobrunner.tick("--type", "enqueue_weekly_reports")
    found = "SELECT idempotency_key, payload FROM job_runs WHERE job_type = 'send_weekly_report' ORDER BY id"
    assert jobrunner.database.query(found) == [
        {"idempotency_key": f"{number}:{WEEK}", "payload": {"user_id": number, "week_start": WEEK}}
        for number in range(1, 6)
    ]
    clicks = site("""
        for last_day in (11, 18, 18):
            print(app.click_report(1, date(2026, 1, 5), date(2026, 1, last_day)).created)
    """)
    assert clicks == ["False", "True", "False"]
    (clicked,) = jobrunner.database.query(found)[5:]
    assert clicked["payload"] == {"user_id": 1, "week_start": WEEK, "until": "2026-01-18"}


def test_a_sign_up_that_is_rolled_back_leaves_no_run(jobrunner: Commands, site: Site) -> None:
    printed = site("""
        app.sign_up("ann@customers.example", "Ann")
        try:
            app.sign_up("ann@customers.example", "another Ann")
        except app.AddressTaken:
            print("taken")
        try:
            with tables.engine().begin() as connection:
                app.enqueue_report(connection, 1, date(2026, 1, 5))
                raise KeyError
        except KeyError:
            print("rolled back")
    """)
    assert printed == ["taken", "rolled back"]
    (run,) = jobrunner.database.query("SELECT * FROM job_runs")
    assert run["run_at"].weekday() == 0
    assert run["run_at"] > jobrunner.database.now()
    assert jobrunner.database.value("SELECT count(*) AS n FROM job_keys") == 1


def test_cleanup_deletes_only_old_rows(app: Saas, jobrunner: Commands, with_users: Callable[..., None]) -> None:
    with_users("ann@customers.example")
    for hours in (-30, -1, 1, 30):
        at = (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%d %H:%M:%S.%f")
        jobrunner.database.execute("INSERT INTO sessions (user_id, expires_at) VALUES (1, ?)", [at])
    for name, age in (("old", 200_000), ("new", 100)):
        path = app.temporary / name
        path.touch()
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    run_id = jobrunner.enqueue("cleanup_nightly", allow_unknown=True)
    jobrunner.tick()
    assert run_of(jobrunner.database, run_id)["result"] == {"sessions": 2, "files": 1}
    assert [path.name for path in app.temporary.iterdir()] == ["new"]
    assert jobrunner.database.value("SELECT count(*) AS n FROM sessions") == 2
