"""A secret leaves by no notice, ping or metric."""

import json
from pathlib import Path

import pytest

from harness import App, Commands, Database
from harness.canaries import canaries, readable
from harness.handlers_rows import queue
from harness.invariants import insert_runs
from harness.mailbox import mail_server
from harness.notices import CHAT, configure, dead
from harness.receivers import web_server
from harness.web import Asked
from jobrunner.notify.pings import MOST_BYTES, Ping
from jobrunner.web.messages import Request

ALL = canaries()


def test_secret_of_any_shape_reaches_no_webhook_no_mail_and_no_program(
    jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    redact = sorted({name for each in ALL for name in each.needs})
    with web_server() as web, mail_server() as (box, port):
        mail = (
            f'[notify.receivers.ops]\nmail_to = ["o@example.com"]\nmail_from = "j@example.com"\nsmtp_host = "127.0.0.1"'
            f'\nsmtp_port = {port}\nsmtp_security = "none"\n'
        )
        program = f'[notify.receivers.program]\nshell = true\ncommand = "cat >> {kept}"\n'
        rules = f'[notify]\non_dead = ["chat", "ops", "program"]\nredact = {json.dumps(redact)}'
        configure(app, rules, CHAT + mail + program)
        for number, canary in enumerate(ALL):
            texts = [canary.texts[0], canary.texts[-1]]
            for text in texts[: len(canary.texts)]:
                values = {"payload": canary.payload, "last_error": text}
                (run_id,) = dead(database, f"type_{number}", **values)
                attempt = [run_id, database.now(), database.now(), text]
                database.execute(
                    "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at,"
                    " finished_at, outcome, output) VALUES (?, 1, 1, 't', 'w', 'h', ?, ?, 'failed', ?)",
                    attempt,
                )
        jobrunner.tick(env={"CHAT_URL": web.url})
        said = [each.body.decode() for each in web.requests] + [kept.read_text()]
    (sent,) = box.mails
    said.append(sent.get_content())
    # A message has fifty of the types, and the mail its beginning.
    assert min(map(len, said)) > 1000
    assert [each.name for each in ALL if any(each.secret in readable(text.encode()) for text in said)] == []


def test_secret_of_a_run_reaches_no_monitor_by_its_ping(jobrunner: Commands, app: App, database: Database) -> None:
    app.write(
        "handlers",
        """
        from jobrunner import job

        @job("leak", max_attempts=1)
        def leak(ctx, password, iban):
            print("tried", password, "for", iban)
            raise RuntimeError(f"no login with {password} at x://u:canary-url@h")
        """,
    )
    with web_server() as web:
        configure(app, '[notify]\nredact = ["iban"]', '[notify.schedules.nightly]\nping_env = "PING"')
        payload = {"password": "canary-ping", "iban": "canary-iban"}
        given = ("--payload", json.dumps(payload))
        jobrunner("schedule", "add", "nightly", "--type", "leak", "--cron", "0 0 1 1 *", *given)
        definition = database.value("SELECT id FROM job_definitions")
        queue(database, "leak", payload, definition_id=definition)
        jobrunner.tick(env={"PING": web.url})
        begun, failed = (each.body.decode() for each in web.requests)
    assert begun == ""
    assert "no login with ••• at x://u:•••@h" in failed
    assert "tried ••• for •••" in failed


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_secret_that_only_the_progress_of_a_run_names_reaches_no_monitor_by_its_ping(
    jobrunner: Commands, app: App, database: Database, is_async: bool
) -> None:
    """A notice of the same run hides it: its progress is among the values from which secrets are known."""
    app.write(
        "handlers",
        f"""
        from jobrunner import job

        @job("leak", max_attempts=1)
        {"async " * is_async}def leak(ctx):
            ctx.progress(1, 2, "login with password=canary-progress")
            print("tried canary-progress")
            raise RuntimeError("no login with canary-progress")
        """,
    )
    with web_server() as web:
        configure(app, "[notify]", '[notify.schedules.nightly]\nping_env = "PING"')
        jobrunner("schedule", "add", "nightly", "--type", "leak", "--cron", "0 0 1 1 *")
        queue(database, "leak", {}, definition_id=database.value("SELECT id FROM job_definitions"))
        jobrunner.tick(env={"PING": web.url})
        _, failed = (each.body.decode() for each in web.requests)
    assert "no login with •••" in failed
    assert "tried •••" in failed


def test_secret_reaches_no_monitor_when_its_name_is_cut_off() -> None:
    """A ping has the end of the output, which may begin between a name and its value."""
    body = Ping(output=f"password=canary-ping-2026 {'y' * (MOST_BYTES - 10)}").body().decode()
    assert (len(body) <= MOST_BYTES, "ping-2026" in body) == (True, False)


def test_metrics_show_no_password_of_an_address(database: Database) -> None:
    insert_runs(database, 1, "x://u:canary-metric@h")
    assert "x://u:•••@h" in Asked(database).web.metrics(Request("GET", "/metrics")).body.decode()


def test_texts_of_a_run_whose_values_are_too_long_to_be_read_are_not_told(
    jobrunner: Commands, app: App, database: Database
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]', CHAT)
    payload = {"password": "canary-long", "text": "x" * 30_000}
    (run_id,) = dead(database, payload=payload, last_error="no login with canary-long")
    with web_server() as web:
        jobrunner.tick(env={"CHAT_URL": web.url})
        (told,) = web.requests
    assert "canary-long" not in told.body.decode()
    assert told.json()["groups"][0]["runs"][0]["error"] == f"••• see: jobrunner show {run_id}"
