"""Hooks: who is told of dead, late and recovered runs. At most once, whatever dies; and no run waits for it."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import App, Commands, Database, pages
from harness.handlers_rows import queue, run_of
from harness.invariants import insert_runs, read_log
from harness.pages import ROOT
from harness.plan_calls import hooks
from harness.receivers import Web, mail_server, web_server
from jobrunner.errors import ConfigurationError
from jobrunner.failpoints import NOTICE_POINTS
from jobrunner.notify.message import Group, Message
from jobrunner.settings import config
from jobrunner.settings import notify as notify_settings
from jobrunner.store import idle

MAIL = {"mail_to": ["a@example.com"], "mail_from": "b@example.com", "smtp_host": "mail"}
HOUR = timedelta(hours=1)
CHAT = '[notify.receivers.chat]\nurl_env = "CHAT_URL"\n'


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as found:
        yield found


def configure(app: App, text: str, receivers: str = CHAT) -> None:
    app.path("jobrunner.toml").write_text(f"{text}\n{receivers}", encoding="utf-8")


def tick(jobrunner: Commands, web: Web, **env: str) -> str:
    return jobrunner.tick(env={"CHAT_URL": web.url, **env}).stderr


def dead(database: Database, job_type: str = "fail", count: int = 1, **values: Any) -> list[int]:
    """Runs that have just died, and nobody was told."""
    now = database.now()
    columns = {"status": "dead", "finished_at": now, "error_type": "E", "last_error": "as asked", "attempts": 1}
    return insert_runs(database, count, job_type, **{**columns, **values})


def notices(database: Database) -> list[tuple[str, str, str, int]]:
    rows = database.query("SELECT event, receiver, outcome, runs FROM job_notices ORDER BY id")
    return [(row["event"], row["receiver"], row["outcome"], row["runs"]) for row in rows]


def told(web: Web) -> list[tuple[str, int]]:
    return [(each.json()["event"], each.json()["count"]) for each in web.requests]


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


def test_many_ticks_at_once_and_a_kill_tell_each_dead_run_at_most_once_and_say_what_is_lost(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]')
    # Killed before it has told, and after.
    for index, point in enumerate(NOTICE_POINTS):
        dead(database, f"lost_{index}")
        killed = jobrunner.tick(env={"CHAT_URL": web.url, "JOBRUNNER_FAULT": f"{point}=kill"}, check=False)
        assert killed.returncode == -9
        assert len(web.requests) == index
    dead(database, "fail", count=30)
    env = {"CHAT_URL": web.url}
    ticks = [jobrunner.start("tick", env=env) for _ in range(4)]
    for each in ticks:
        assert each.wait(60) == 0
    assert sum(runs for _, runs in told(web)) == 31
    database.move_clock(timedelta(minutes=20))
    tick(jobrunner, web)
    assert sum(runs for _, runs in told(web)) == 31
    unsent = jobrunner.status()["unsent_notices"]
    found = {(each["job_type"], each["outcome"], each["receiver"]) for each in unsent}
    assert found == {("lost_0", "lost", "chat"), ("lost_1", "lost", "chat")}
    assert "chat" in jobrunner("status").stdout


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


def test_receiver_that_hangs_holds_up_no_run_and_its_secret_is_nowhere(
    jobrunner: Commands, app: App, database: Database, web: Web, tmp_path: Path
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]\ngive_up_after = "1s"')
    web.behave = "hang"
    dead(database)
    first = queue(database, "echo")
    log = tmp_path / "log"
    process = jobrunner.start("tick", "--log-file", log, env={"CHAT_URL": web.url})
    web.wait_for(1)
    # The tick that waits for the receiver has ended all its runs, and another one begins new runs meanwhile.
    assert run_of(database, first)["status"] == "succeeded"
    assert database.value("SELECT count(*) FROM job_ticks WHERE finished_at IS NULL") == 0
    line = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode()
    second = queue(database, "echo")
    assert tick(jobrunner, web) == ""
    assert run_of(database, second)["status"] == "succeeded"
    assert process.wait(20) == 0
    assert notices(database) == [("dead", "chat", "failed", 1)]
    status = jobrunner("status").stdout
    assert "no answer in time" in status
    assert len(web.requests) == 1, "what may have been told is not told again"
    assert "s3cret" not in line + status + json.dumps(read_log(log)) + database.describe()


def test_message_that_did_not_leave_is_sent_by_a_later_tick(
    jobrunner: Commands, app: App, database: Database, web: Web
) -> None:
    configure(app, '[notify]\non_dead = ["chat"]')
    dead(database)
    jobrunner.tick(env={"CHAT_URL": "http://127.0.0.1:1/s3cret"})
    assert notices(database) == [("dead", "chat", None, 1)]
    web.behave = 503
    tick(jobrunner, web)
    web.behave = 200
    tick(jobrunner, web)
    assert notices(database) == [("dead", "chat", "sent", 1)]
    dead(database)
    for _ in range(5):
        jobrunner.tick(env={"CHAT_URL": None})
    assert notices(database)[1:] == [("dead", "chat", "failed", 1)]
    assert "the environment has no CHAT_URL" in jobrunner("status").stdout


def insert_notice(database: Database, **values: Any) -> None:
    row = {"at": database.now(), "event": "dead", "job_type": "fail", "schedule": "", "receiver": "chat", "runs": 1}
    row |= {"detail": {}, "is_open": 1, **values}
    database.execute(f"INSERT INTO job_notices ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", row.values())


def test_tick_with_nothing_to_do_is_idle_unless_somebody_is_to_be_told(database: Database) -> None:
    now = database.now()
    of_types = hooks(
        on_dead=[], on_late=[], jobs={"fail": {"on_dead": ["chat"]}}, schedules={"s": {"on_dead": ["chat"]}}
    )
    situations: dict[str, tuple[Callable[[], object], bool, bool]] = {
        "nothing": (lambda: None, True, True),
        "a dead run": (lambda: dead(database), False, False),
        "one that was told": (lambda: dead(database, told_at=now + HOUR), True, True),
        "one of another type": (lambda: dead(database, "other"), False, True),
        "an old one": (lambda: dead(database, finished_at=now - timedelta(days=2)), True, True),
        "a late run that waits for its key": (lambda: blocked(database, now - HOUR), False, True),
        "a notice that nobody has taken": (lambda: insert_notice(database), False, False),
        "one for nobody here": (lambda: insert_notice(database, receiver="other"), True, True),
        "one that is being sent": (lambda: insert_notice(database, claimed_at=now), True, True),
        "one of a killed tick": (lambda: insert_notice(database, claimed_at=now - HOUR), False, False),
        "one that is settled": (lambda: insert_notice(database, settled_at=now, outcome="sent"), True, True),
    }
    database.execute("UPDATE job_state SET pruned_at = ?", [now])
    for name, (set_up, *expected) in situations.items():
        set_up()
        found = [
            idle.was_idle(database.url, None, "here", "here:1:a", "1", "", notify) for notify in (hooks(), of_types)
        ]
        assert found == expected, name
        assert idle.was_idle(database.url, None, "here", "here:1:a", "1", ""), name
        for table in ("job_runs", "job_notices"):
            database.execute(f"DELETE FROM {table}")


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


def blocked(database: Database, run_at: datetime) -> None:
    """A run that is due and waits behind another one with its key."""
    later = database.now() + timedelta(minutes=5)
    at_work = {"status": "running", "locked_by": "o", "host": "h", "lease_token": "t", "locked_until": later}
    insert_runs(database, 1, concurrency_key="k", run_at=run_at, **at_work)
    insert_runs(database, 1, concurrency_key="k", run_at=run_at)


def test_page_has_every_key_and_its_example_is_read(app: App) -> None:
    page = (ROOT / "docs" / "notifications.md").read_text()
    name = "tests/test_notices.py::test_page_has_every_key_and_its_example_is_read"
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
