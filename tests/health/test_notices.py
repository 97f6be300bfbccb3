"""Hooks: who is told of dead, late and recovered runs, and what a message says."""

import json
import re
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, pages
from harness.doc_tables import text_of
from harness.handlers_rows import queue, run_of
from harness.mailbox import mail_server
from harness.notices import CHAT, HOUR, configure, dead, notices, tick, told
from harness.receivers import Web
from jobrunner.errors import ConfigurationError
from jobrunner.notify.message import Group, Message
from jobrunner.settings import config
from jobrunner.settings import notify as notify_settings

MAIL = {"mail_to": ["a@example.com"], "mail_from": "b@example.com", "smtp_host": "mail"}


def test_dead_run_reaches_a_webhook_a_mailbox_and_a_command_with_its_error_and_output(
    jobrunner: Commands, app: App, database: Database, web: Web, tmp_path: Path
) -> None:
    app.write(
        "handlers",
        """
        from jobrunner import job

        @job("speak", max_attempts=1)
        def speak(ctx):
            print("the last words \\x1b[2J")
            raise RuntimeError("no paper")
        """,
    )
    kept = tmp_path / "kept.json"
    script = (
        "import sys, os, json; d = json.load(sys.stdin); d['env'] = dict(os.environ); json.dump(d, open({!r}, 'w'))"
    )
    command = json.dumps([sys.executable, "-I", "-S", "-c", script.format(str(kept))])
    with mail_server() as (box, port):
        mail = f"""
[notify.receivers.ops]
mail_to = ["ops@example.com"]
mail_from = "jobrunner@example.com"
smtp_host = "127.0.0.1"
smtp_port = {port}
smtp_security = "none"
smtp_user = "me"
smtp_password_file = "password"

[notify.receivers.program]
command = {command}
"""
        app.path("password").write_text("hunter2\n")
        configure(app, '[notify]\non_dead = ["chat", "ops", "program"]', CHAT + mail)
        run_id = queue(database, "speak")
        assert tick(jobrunner, web) == ""
    (message,) = (each.json() for each in web.requests)
    assert (message["event"], message["count"], message["subject"]) == ("dead", 1, "speak: 1 run dead")
    (run,) = message["groups"][0]["runs"]
    assert (run["id"], run["error_type"], run["error"], run["attempts"]) == (run_id, "RuntimeError", "no paper", 1)
    assert run.keys() == {"id", "attempts", "error_type", "error", "finished_at", "output", "explanation"}
    assert re.fullmatch(rf"Run {run_id} has been dead for .*, after 1 of 1 attempts: .*no paper\.", run["explanation"])
    assert "the last words" in run["output"]
    assert "\x1b" not in message["text"]
    (sent,) = box.mails
    assert (sent["Subject"], sent["To"]) == ("[jobrunner] speak: 1 run dead", "ops@example.com")
    for part in (
        f"run {run_id}: RuntimeError: no paper",
        "after 1 of 1 attempts",
        "the last words",
        f"jobrunner show {run_id}",
    ):
        assert part in sent.get_content()
    assert box.logins == [("me", "hunter2")]
    given = json.loads(kept.read_text())
    env = given.pop("env")
    assert given == message
    assert env["JOBRUNNER_EVENT"] == "dead"
    assert not {"JOBRUNNER_DATABASE_URL", "DATABASE_URL"} & env.keys()
    assert notices(database) == [("dead", name, "sent", 1) for name in ("chat", "ops", "program")]
    # Once only.
    tick(jobrunner, web)
    assert len(web.requests) == 1


def test_program_that_is_told_can_call_jobrunner(
    jobrunner: Commands, app: App, database: Database, web: Web, tmp_path: Path
) -> None:
    """The variables that tell it of the notice are no settings of the command that it calls."""
    said = tmp_path / "said"
    script = f"{jobrunner.command} types > {said} 2>&1"
    receiver = f"\n[notify.receivers.program]\nshell = true\ncommand = {json.dumps(script)}\n"
    configure(app, '[notify]\non_dead = ["program"]', receiver)
    dead(database)
    assert tick(jobrunner, web) == ""
    assert said.read_text().startswith("JOB TYPE")
    assert notices(database) == [("dead", "program", "sent", 1)]


def test_thousand_dead_runs_of_one_type_are_one_message_with_a_count_and_samples(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]')
    dead(database, count=1003)
    dead(database, "other", count=2)
    # Older than what a new hook is told, and what a person has discarded.
    dead(database, "old", finished_at=database.now() - timedelta(days=2))
    dead(database, "mine", error_type="discarded")
    tick(jobrunner, web)
    (message,) = (each.json() for each in web.requests)
    counts: dict[str, int] = {}
    for group in message["groups"]:
        counts[group["job_type"]] = counts.get(group["job_type"], 0) + group["count"]
        assert 1 <= len(group["runs"]) <= 3
    assert counts == {"fail": 1003, "other": 2}
    assert message["count"] == 1005
    assert len(message["text"].splitlines()) < 50
    tick(jobrunner, web)
    assert len(web.requests) == 1


def test_nearest_rule_says_who_is_told(jobrunner: Commands, app: App, database: Database, web: Web) -> None:
    configure(
        app,
        """
[notify]
on_dead = ["chat"]
[notify.jobs.quiet]
on_dead = []
[notify.jobs.loud]
on_dead = ["chat", "nobody_yet"]
[notify.receivers.nobody_yet]
command = ["/does/not/exist"]
""",
    )
    for job_type in ("quiet", "loud", "plain"):
        dead(database, job_type)
    tick(jobrunner, web)
    assert told(web) == [("dead", 2)]
    found = {(row[1], row[2]) for row in notices(database)}
    assert found == {("chat", "sent"), ("nobody_yet", None)}


def test_late_run_is_told_once_until_it_has_succeeded_and_then_as_recovered(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    configure(app, '[notify]\non_late = ["chat"]\non_recovered = ["chat"]\nlate_after = "10m"')
    now = database.now()
    # Nobody here can run it; and one that is waited for behind its key.
    stranger = queue(database, "unknown_here", run_at=now - HOUR)
    queue(database, "unknown_here", run_at=now - timedelta(minutes=5))
    tick(jobrunner, web)
    tick(jobrunner, web)
    (message,) = (each.json() for each in web.requests)
    assert message["subject"] == "unknown_here: 1 run late"
    assert message["groups"][0]["runs"][0]["id"] == stranger
    database.execute("UPDATE job_runs SET job_type = 'unknown_here' WHERE id = ?", [stranger])
    app.write("handlers", "from jobrunner import job\n\n@job('unknown_here')\ndef known(ctx): ...\n")
    tick(jobrunner, web)
    # What is counted decides up to where is read; the next tick sees it at the latest.
    tick(jobrunner, web)
    assert told(web)[1:] == [("recovered", 1)]
    assert web.requests[1].json()["subject"] == "unknown_here: recovered"
    tick(jobrunner, web)
    assert len(web.requests) == 2


def test_retried_run_that_succeeds_is_a_recovery_and_one_that_dies_again_is_told_again(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]\non_recovered = ["chat"]')
    (again,) = dead(database, "fail", max_attempts=2)
    (good,) = dead(database, "echo")
    tick(jobrunner, web)
    jobrunner("retry", again)
    jobrunner("retry", good)
    tick(jobrunner, web)
    assert run_of(database, good)["status"] == "succeeded"
    subjects = [each.json()["subject"] for each in web.requests]
    assert subjects == ["2 job types and schedules: 2 runs dead", "fail: 1 run dead", "echo: recovered"]


def test_trouble_of_a_renamed_type_is_over_with_a_success_under_its_new_name(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]\non_recovered = ["chat"]')
    code = "from jobrunner import job\n\n@job({})\ndef report(ctx): {}\n"
    app.write("handlers", code.format('"report", schedule="@daily", max_attempts=1', "1 / 0"))
    jobrunner("apply")
    jobrunner("enqueue", "report")
    jobrunner("schedule", "trigger", "report")
    tick(jobrunner, web)
    app.write("handlers", code.format('"send.report", formerly="report", schedule="@daily"', "..."))
    jobrunner("apply")
    jobrunner("enqueue", "send.report")
    jobrunner("schedule", "trigger", "send.report")
    tick(jobrunner, web)
    # What is counted decides up to where is read.
    tick(jobrunner, web)
    assert told(web) == [("dead", 2), ("recovered", 2)]
    groups = [{(each["job_type"], each["schedule"]) for each in sent.json()["groups"]} for sent in web.requests]
    assert groups == [{("report", None), ("report", "report")}] * 2
    assert database.value("SELECT count(*) FROM job_notices WHERE is_open = 1") == 0


def test_paused_run_is_not_late(jobrunner: Commands, app: App, database: Database, web: Web) -> None:
    configure(app, '[notify]\non_late = ["chat"]\nlate_after = "10m"')
    queue(database, "echo", run_at=database.now() - HOUR)
    queue(database, "unknown_here", run_at=database.now() - HOUR)
    jobrunner("pause", "--type", "echo")
    tick(jobrunner, web)
    assert [each.json()["subject"] for each in web.requests] == ["unknown_here: 1 run late"]
    jobrunner("resume", "--type", "echo")
    tick(jobrunner, web)
    assert [each.json()["subject"] for each in web.requests[1:]] == ["echo: 1 run late"]


def test_page_has_every_key_and_its_example_is_read(app: App) -> None:
    page = text_of("notifications.md")
    name = "tests/health/test_notices.py::test_page_has_every_key_and_its_example_is_read"
    example, shown, with_pings = (block.text for block in pages.checked_by(name))
    configure(app, with_pings, "")
    read = config.load({"JOBRUNNER_CONFIG": str(app.path("jobrunner.toml"))}).notify
    assert read is not None
    assert read.tick_ping is not None
    assert read.pings().keys() == {"nightly_cleanup"}
    configure(app, example, "")
    read = config.load({"JOBRUNNER_CONFIG": str(app.path("jobrunner.toml"))}).notify
    assert read is not None
    assert read.told("dead", "send_invoices", "") == ("pager", "ops")
    of_schedule = {"schedules": {"a": {"x": 1}}}
    for table in (
        {"x": 1},
        of_schedule,
        {"receivers": {"a": {"command": ["x"], "x": 1}}},
        {"receivers": {"a": {**MAIL, "x": 1}}},
    ):
        with pytest.raises(ConfigurationError) as refused:
            notify_settings.read(table, app.folder)
        keys = str(refused.value).partition("there are: ")[2].split(", ")
        assert len(keys) > 3
        # Those two are only known to be refused with a reason.
        keys = [key for key in keys if key not in ("url", "smtp_password", "ping", "tick_ping")]
        missing = [key for key in keys if not re.search(rf"\b{key}\b|\[notify\.{key}\.", page)]
        assert not missing
    run = json.loads(shown)["groups"][0]["runs"][0]
    made = Message("a", "dead", [Group("t", "", 1, {"runs": [run]})], [1], "host", "db").data()
    assert made.keys() == json.loads(shown).keys()
    assert made["groups"][0].keys() == json.loads(shown)["groups"][0].keys()


def test_tick_without_hooks_notes_nothing(jobrunner: Commands, database: Database) -> None:
    dead(database)
    jobrunner.tick()
    assert database.value("SELECT count(*) FROM job_runs WHERE told_at IS NOT NULL") == 0
    assert notices(database) == []
