"""The table notify: what it may say, and what each mistake is answered with."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jobrunner.errors import ConfigurationError
from jobrunner.notify.message import Group, Message
from jobrunner.settings import notify

CHAT = {"url_env": "CHAT"}
MAIL = {"mail_to": ["a@example.com"], "mail_from": "b@example.com", "smtp_host": "mail"}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"on_dead": ["caht"], "receivers": {"chat": CHAT}}, "notify.on_dead: 'caht' is not one of .*did you mean 'chat'"),
    ({"on_dead": ["chat"]}, r"notify.on_dead: .*add a table \[notify.receivers.chat\]"),
    ({"on_ded": []}, "notify.on_ded: is not a key .*did you mean 'on_dead'"),
    ({"late_after": "soon"}, "notify.late_after: "),
    ({"late_after": "0s"}, "notify.late_after: must be more than 0"),
    ({"give_up_after": "2m"}, "notify.give_up_after: must be at most 60s"),
    ({"jobs": {"a": 1}}, r"notify.jobs.a: must be a table, as in \[notify.jobs.a\]"),
    ({"receivers": {"a": {}}}, "notify.receivers.a.command: write one of"),
    ({"receivers": {"a": {**CHAT, "command": ["x"]}}}, "notify.receivers.a.command: write one of"),
    ({"receivers": {"a": {"url": "https://s3cret"}}}, "notify.receivers.a.url: is a secret; .* url_env or url_file"),
    ({"receivers": {"a": {"command": "page me"}}}, "a.command: must be a list of arguments, or .* shell = true"),
    ({"receivers": {"a": {"command": ["x"], "shell": True}}}, "a.command: must be a list of arguments, or"),
    ({"receivers": {"a": {**MAIL, "mail_from": "me\nBcc: x@y"}}}, "a.mail_from: must be a mail address"),
    ({"receivers": {"a": {**MAIL, "smtp_password_env": "P"}}}, "a.smtp_user: needs"),
    ({"receivers": {"a": {**MAIL, "smtp_security": "ssl"}}}, "a.smtp_security: must be one of: starttls, tls, none"),
    ({"receivers": {"a": {**MAIL, "smtp_port": 0}}}, "a.smtp_port: must lie between 1 and 65535"),
]


@pytest.mark.parametrize(("table", "answer"), WRONG, ids=[str(index) for index in range(len(WRONG))])
def test_mistake_in_the_table_is_named_with_its_remedy_and_no_secret(table: dict[str, Any], answer: str) -> None:
    with pytest.raises(ConfigurationError, match=answer) as refused:
        notify.read(table, Path("/"))
    assert "s3cret" not in str(refused.value)


def test_rules_of_a_schedule_go_before_those_of_its_type_and_those_for_all() -> None:
    table = {
        "on_dead": ["a"],
        "late_after": "1h",
        "receivers": {"a": CHAT, "b": CHAT},
        "jobs": {"report": {"on_dead": ["b"], "late_after": "2h"}},
        "schedules": {"nightly": {"on_dead": [], "on_late": ["a"]}},
    }
    found = notify.read(table, Path("/"))
    assert found.told("dead", "other", "") == ("a",)
    assert found.told("dead", "report", "") == ("b",)
    assert found.told("dead", "report", "nightly") == ()
    assert found.told("late", "report", "nightly") == ("a",)
    assert found.told("late", "report", "") == ()
    assert found.late_after("report", "nightly").total_seconds() == 7200
    assert found.least_late() == timedelta(hours=1)


def test_hostile_texts_of_a_run_reach_no_receiver_as_control_characters() -> None:
    run = {
        "id": 1,
        "error_type": "E\x1b[2J",
        "error": "x\r\nBcc: y\u202e",
        "output": "a\x1b]0;t\x07\nb\x00",
        "attempts": 1,
    }
    message = Message("a", "dead", [Group("t\x1b", "s\n", 1, {"runs": [run]})], [1], "host", "db")
    assert message.subject.isprintable()
    assert not {"\x1b", "\r", "\x07", "\x00", "\u202e"} & set(message.text())
