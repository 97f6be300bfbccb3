"""The drill: a hundred mails through a real SMTP server, twenty forced to fail, the tick killed in the middle."""

import asyncio
import contextlib
import os
import signal
import socket
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from email import message_from_bytes
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from harness import App, Commands, Database, wait_for
from harness.connections import sqlalchemy_url
from harness.watchdog import free_port

MAILS = 100
CHILDREN = 4
KILLED_AFTER = 40

MAILER = '''
import os
import smtplib
import sqlite3
from contextlib import closing
from email.message import EmailMessage

from jobrunner import Context, exponential, job


@job("mail", timeout="30s", backoff=exponential("2m", cap="10m", jitter=0.1))
def mail(ctx: Context, number: int, stumbles: bool):
    """At most one mail a run: what was sent is in a table of the application's own, under a unique key."""
    if stumbles and ctx.attempt == 1:
        raise RuntimeError("stumbled as asked")
    with closing(sqlite3.connect(os.environ["SENT"], timeout=20)) as sent:
        if sent.execute("SELECT 1 FROM sent WHERE run_id = ?", [ctx.run_id]).fetchone():
            return "sent before"
        send(ctx.run_id, number)
        with sent:
            sent.execute("INSERT INTO sent (run_id) VALUES (?)", [ctx.run_id])
    return "sent"


def send(run_id, number):
    letter = EmailMessage()
    letter["Message-ID"] = f"<run-{run_id}@app.example>"
    letter["From"] = "app@app.example"
    letter["To"] = f"user-{number}@mail.example"
    letter["Subject"] = "Your weekly report"
    letter.set_content("It was a good week.")
    with smtplib.SMTP("127.0.0.1", int(os.environ["SMTP_PORT"]), local_hostname="app.example") as server:
        server.send_message(letter)


@job("patient_mail", timeout="4s", kill_after="2s", max_attempts=2)
def patient_mail(ctx: Context):
    send(ctx.run_id, 1)
'''


class Mailbox:
    """What aiosmtpd calls for each command of a client. What is accepted is kept; nothing else is."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, str]] = []
        self.refuses_once: set[str] = set()
        self.refused: list[str] = []
        self.holds_after: int | None = None
        self.held = 0

    async def handle_RCPT(  # noqa: N802 - the library's names
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address in self.refuses_once:
            self.refuses_once.remove(address)
            self.refused.append(address)
            return "451 4.7.1 Please try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        if self.holds_after is not None and len(self.letters) >= self.holds_after:
            self.held += 1
            try:
                # Until the client is gone: then this is cancelled, and the letter was never accepted.
                await asyncio.Event().wait()
            finally:
                self.held -= 1
        (address,) = envelope.rcpt_tos
        self.letters.append((message_from_bytes(envelope.content)["Message-ID"], address))
        return "250 OK"


class MailServer(Controller):
    """In a thread of the test's process, on a port of its own."""

    def __init__(self, mailbox: Mailbox) -> None:
        super().__init__(mailbox, hostname="127.0.0.1", port=free_port(), server_hostname="mail.example")
        self.mailbox = mailbox


@pytest.fixture
def server() -> Iterator[MailServer]:
    controller = MailServer(Mailbox())
    controller.start()
    yield controller
    controller.stop()


@pytest.fixture
def mailer(app: App, jobrunner: Commands) -> dict[str, str | None]:
    """The environment of the mailing application."""
    app.add(MAILER)
    sent = app.path("sent.db")
    with closing(sqlite3.connect(sent)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE sent (run_id INTEGER PRIMARY KEY)")
    return {"SENT": str(sent), "JOBRUNNER_CONCURRENCY": str(CHILDREN)}


def enqueue(database: Database, count: int) -> None:
    """As an application does it: in one transaction, through the library."""
    from sqlalchemy import create_engine

    import jobrunner

    engine = create_engine(sqlalchemy_url(database))
    try:
        with engine.begin() as transaction:
            for number in range(count):
                payload = {"number": number, "stumbles": number % 10 == 0}
                jobrunner.enqueue(transaction, "mail", payload, key=f"weekly:{number}")
    finally:
        engine.dispose()


def statuses(database: Database) -> dict[str, int]:
    rows = database.query("SELECT status, count(*) AS runs FROM job_runs GROUP BY status")
    return {row["status"]: row["runs"] for row in rows}


def waits(database: Database, error_type: str) -> list[timedelta]:
    """From the failure to the next try."""
    rows = database.query(
        "SELECT failed_at, run_at FROM job_runs WHERE status = 'failed' AND error_type = ?", [error_type]
    )
    return [row["run_at"] - row["failed_at"] for row in rows]


@pytest.mark.promise("P1", "P6")
def test_a_hundred_mails_arrive_once_each(
    jobrunner: Commands, database: Database, server: MailServer, mailer: dict[str, str | None]
) -> None:
    mailbox, env = server.mailbox, {**mailer, "SMTP_PORT": str(server.port)}
    mailbox.refuses_once = {f"user-{number}@mail.example" for number in range(5, MAILS, 10)}
    mailbox.holds_after = KILLED_AFTER
    enqueue(database, MAILS)

    # The first tick is killed when each of its handlers has a letter under way that the server has not accepted.
    tick = jobrunner.start("tick", env=env)
    wait_for(lambda: mailbox.held == CHILDREN, 60, lambda: f"{mailbox.held} letters under way\n{database.describe()}")
    wait_for(lambda: statuses(database)["running"] == CHILDREN, 20, "the return of those that waited behind them")
    os.kill(tick.pid, signal.SIGKILL)
    tick.communicate(timeout=20)
    wait_for(lambda: not jobrunner.leftover_processes(), 20, jobrunner.describe_leftovers)
    wait_for(lambda: mailbox.held == 0, 20, "the end of the handlers' connections")
    mailbox.holds_after = None
    assert len(mailbox.letters) == KILLED_AFTER
    assert statuses(database)["running"] == CHILDREN

    # The next one recovers them at once and goes on with the rest; the backoff is always the handler's own.
    jobrunner.tick("--budget", "100s", env=env)
    assert statuses(database) == {"succeeded": MAILS - 20 - CHILDREN, "failed": 20 + CHILDREN}
    stumbled, refused = waits(database, "RuntimeError"), waits(database, "SMTPRecipientsRefused")
    assert (len(stumbled), len(refused), len(mailbox.refused)) == (10, 10, 10)
    assert all(timedelta(seconds=108) <= wait <= timedelta(seconds=132) for wait in stumbled + refused)
    crashed = waits(database, "lease_expired")
    assert len(crashed) == CHILDREN
    assert all(timedelta(seconds=108) <= wait <= timedelta(seconds=132) for wait in crashed)

    # Not before their time.
    jobrunner.tick(env=env)
    assert len(mailbox.letters) == MAILS - 20 - CHILDREN

    database.move_clock(timedelta(minutes=3))
    jobrunner.tick("--budget", "100s", env=env)
    assert statuses(database) == {"succeeded": MAILS}
    assert Counter(address for _, address in mailbox.letters) == Counter(
        f"user-{number}@mail.example" for number in range(MAILS)
    )
    assert len({message_id for message_id, _ in mailbox.letters}) == MAILS
    attempts = database.query("SELECT run_id, attempt, outcome FROM job_attempts ORDER BY id")
    outcomes = Counter((row["attempt"], row["outcome"]) for row in attempts)
    assert outcomes == {
        (1, "succeeded"): MAILS - 20 - CHILDREN,
        (1, "failed"): 20,
        (1, "lease_expired"): CHILDREN,
        (2, "succeeded"): 20 + CHILDREN,
    }
    assert database.value("SELECT count(*) AS sent FROM job_runs WHERE last_error IS NOT NULL") == 0


class SilentServer:
    """Accepts and never says a word. Knows how many clients are still there."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.came = 0
        self.left = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                self.came += 1
                threading.Thread(target=self._await_end, args=[client], daemon=True).start()

    def _await_end(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while client.recv(1024):
                pass
        self.left += 1

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def silent_server() -> Iterator[SilentServer]:
    server = SilentServer()
    yield server
    server.close()


@pytest.mark.promise("P1", "P6")
def test_a_handler_that_hangs_in_smtp_is_really_stopped(
    jobrunner: Commands,
    database: Database,
    server: MailServer,
    silent_server: SilentServer,
    mailer: dict[str, str | None],
) -> None:
    run_id = jobrunner.enqueue("patient_mail", {})
    jobrunner.tick(env={**mailer, "SMTP_PORT": str(silent_server.port)})
    run = jobrunner.show(run_id)
    assert (run["status"], run["attempts"], run["error_type"]) == ("failed", 1, "timeout")
    (attempt,) = run["attempt_log"]
    assert attempt["outcome"] == "timed_out"
    assert "smtplib" in attempt["traceback"], "where it hung"
    assert jobrunner.leftover_processes() == []
    wait_for(lambda: silent_server.left == silent_server.came == 1, 20, "the end of the connection")

    database.move_clock(timedelta(minutes=2))
    jobrunner.tick(env={**mailer, "SMTP_PORT": str(server.port)})
    assert jobrunner.show(run_id)["status"] == "succeeded"
    assert len(server.mailbox.letters) == 1
