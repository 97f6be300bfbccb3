"""What the page can do: each action of the command line, counted, with a reason and a row in the audit trail."""

import os
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest

from harness import Database, postgresql_only, sqlite_only
from harness.handlers_rows import status_of
from harness.invariants import insert_runs
from harness.web import Asked, is_page, one_of_each, paths
from harness.web_day import insert
from jobrunner.cli.program import every_command
from jobrunner.web import Verb
from jobrunner.web.routes import ROUTES

# What these change is declared: by the code, by a file, or by the person who writes the command.
DECLARING = {
    "apply",
    "schedule add",
    "schedule edit",
    "schedule remove",
    "schedule rename",
    "schedule import",
    "run",
    "move",
    "restore",
}


def test_every_action_of_the_command_line_has_its_route() -> None:
    of_page = {each.path.strip("/").replace("/", " ") for each in ROUTES if not is_page(each)}
    with_reason = (name for name, each in every_command().items() if any("--reason" in one.opts for one in each.params))
    actions = {*with_reason} - DECLARING
    assert actions >= {"retry", "cancel", "pause", "schedule backfill", "effects settle"}
    for action in actions:
        assert {action, f"bulk {action}"} & of_page, action
        if f"bulk {action}" in of_page:
            assert f"runs {{id}} {action}" in of_page


def hidden(page: str) -> dict[str, list[str]]:
    """The fields of the last form, which asks whether to go on."""
    found: dict[str, list[str]] = {}
    form = page[page.rindex("<form method") :]
    for name, value in re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form):
        found.setdefault(name, []).append(unescape(value))
    return found


def test_all_runs_that_match_are_counted_and_asked_before_they_change(database: Database) -> None:
    now = database.now()
    dead = insert_runs(database, 60, "send", status="dead", finished_at=now, last_error="no host", error_type="E")
    insert_runs(database, 3, "send", status="succeeded", finished_at=now)
    asked = Asked(database)
    form = {"which": "all", "type": "send", "since": "2h"}
    page = asked("/bulk/retry", form).body.decode()
    assert "retry: 60 runs (60 dead)" in page
    assert status_of(database, dead[0]) == "dead"
    again = hidden(page)
    assert again["since"] != ["2h"], "the same runs in the second step"
    done = asked("/bulk/retry", {**again, "reason": ["the host is back"]}).body.decode()
    assert "Retry: 60 of 60 runs changed" in done
    assert database.value("SELECT count(*) FROM job_runs WHERE status = 'queued'") == 60
    (event,) = database.query("SELECT actor, action, detail FROM job_events")
    assert (event["actor"], event["action"], event["detail"]["reason"]) == ("ada (page)", "retry", "the host is back")
    assert event["detail"]["filter"]["job_types"] == ["send"]
    assert "There is no run to retry." in asked("/bulk/retry", {**again, "reason": ["again"]}).body.decode()
    assert asked("/bulk/cancel", {"which": "all", "status": "dead"}).status == 400


def test_each_bulk_action_does_to_the_selected_runs_what_its_command_does(database: Database) -> None:
    asked, later = Asked(database), "2040-01-01 10:00"
    cases: list[tuple[str, dict[str, str], str, Any]] = [
        ("cancel", {}, "status", "cancelled"),
        ("discard", {"reason": "of no use"}, "last_error", "of no use"),
        ("reschedule", {"run_at": later}, "run_at", datetime(2040, 1, 1, 10, tzinfo=UTC)),
        ("priority", {"priority": "7"}, "priority", 7),
    ]
    for action, fields, column, value in cases:
        (mine,) = insert_runs(database, 1, "send")
        (other,) = insert_runs(database, 1, "send")
        (late,) = insert_runs(database, 1, "send", status="succeeded", finished_at=database.now())
        form = {"id": str(mine), **fields}
        page = asked(f"/bulk/{action}", form).body.decode()
        assert f"{action}: 1 run (1 queued)" in page, action
        assert asked(f"/bulk/{action}", {**form, "agreed": "yes"}).status == 200
        found = {row["id"]: row[column] for row in database.query(f"SELECT id, {column} FROM job_runs")}
        assert found[mine] == value or database.value(
            f"SELECT count(*) FROM job_runs WHERE id = ? AND {column} = ?", [mine, value]
        ), action
        assert found[other] != value
        # Somebody was quicker.
        page = asked(f"/bulk/{action}", {**form, "id": str(late)}).body.decode()
        assert re.search(r"Not possible.*succeeded", page, re.DOTALL), action
        assert asked(f"/bulk/{action}", fields).status == 400
    assert asked("/bulk/discard", {"id": "1", "agreed": "yes"}).status == 400
    assert asked("/bulk/reschedule", {"id": "1", "run_at": "soon"}).status == 400
    assert asked("/bulk/priority", {"id": "1", "priority": "9999"}).status == 400


def test_all_runs_of_an_error_are_retried_from_their_group(database: Database) -> None:
    now = database.now()
    for number in range(5):
        text = f"no row {number} of it"
        insert_runs(database, 2, "send", status="dead", finished_at=now, last_error=text, error_type="E")
    insert_runs(database, 1, "send", status="dead", finished_at=now, last_error="another", error_type="E")
    asked = Asked(database)
    page = asked.text("/errors")
    form = next(each for each in re.findall(r"<form method.*?</form>", page, re.DOTALL) if "no row" in each)
    fields = hidden(form)
    assert fields["error"] == ["E: no row "]
    assert "retry: 10 runs (10 dead)" in asked("/bulk/retry", fields).body.decode()


def test_who_was_too_late_is_told_what_became_of_the_run(database: Database) -> None:
    now = database.now() - timedelta(seconds=3)
    (done,) = insert_runs(database, 1, "send", status="succeeded", finished_at=now)
    page = Asked(database)(f"/runs/{done}/cancel", {"x": "y"})
    assert page.status == 409
    assert re.search(r"Not done: cancel is not possible. The run already succeeded, \d+s ago", page.body.decode())


def test_types_hosts_and_everything_are_paused_and_resumed(database: Database) -> None:
    one_of_each(database)
    asked = Asked(database)
    for kind, name, page in (("type", "append", "/types"), ("host", "h", "/hosts"), ("all", "", "/")):
        form = {"kind": kind, "name": name, "reason": "a move"}
        assert asked("/pause", form).status == 303
        assert asked("/pause", form).status == 303
        (row,) = database.query("SELECT name, actor, reason FROM job_pauses")
        assert tuple(row.values()) == (name, "ada (page)", "a move")
        assert "a move" in asked.text(page), page
        assert "Somebody else has paused it already." in asked.text(f"{page}?done=paused")
        assert asked("/resume", form).status == 303
        assert database.value("SELECT count(*) FROM job_pauses") == 0
    assert asked("/pause", {"kind": "dog", "name": "x"}).status == 400
    assert asked("/pause", {"kind": "type", "name": " no type"}).status == 400


def test_limits_of_a_type_are_set_shown_and_taken_back(database: Database) -> None:
    one_of_each(database)
    asked = Asked(database)
    form = {"name": "append", "max_running": "2", "ends_at": "2h", "reason": "<b>slow</b>"}
    assert asked("/limit", form).status == 303
    (row,) = database.query("SELECT job_type, max_running, rate, actor, reason, set_at, ends_at FROM job_set_limits")
    assert [*row.values()][:5] == ["append", 2, None, "ada (page)", "<b>slow</b>"]
    assert row["ends_at"] - row["set_at"] < timedelta(hours=2, seconds=1)
    for page in ("/types", "/"):
        shown = asked.text(page)
        assert "append to max_running 2, " in shown
        assert "&lt;b&gt;slow&lt;/b&gt;" in shown
        assert "<b>slow" not in shown
        assert re.search(r'action="[^"]*unlimit"', shown)
    again = asked("/limit", {"name": "append", "rate": "10/m", "reason": "slower"})
    assert (again.status, database.value("SELECT rate FROM job_set_limits")) == (303, "10/m")
    assert "It replaces what was set before." in asked.text("/types?done=limited")
    assert asked("/unlimit", {"name": "append"}).status == 303
    assert "append to" not in asked.text("/types")
    assert asked("/unlimit", {"name": "append"}).status == 303
    actions = [each["action"] for each in database.query("SELECT action FROM job_events ORDER BY id")]
    assert actions[-3:] == ["limit type", "limit type", "unlimit type"]
    for wrong in (
        {"max_running": "0"},
        {"max_running": "many"},
        {"rate": "often"},
        {"max_running": "2", "ends_at": "2020-01-01"},
        {"max_running": "2", "reason": ""},
        {"max_running": "2", "name": " no type"},
        {},
    ):
        refused = asked("/limit", {"name": "append", "reason": "r", **wrong})
        assert refused.status == 400, wrong
        # What was typed comes back.
        for name in ("max_running", "rate", "ends_at"):
            assert f'value="{wrong.get(name, "")}"' in refused.body.decode(), wrong


def test_who_may_not_limit_sees_what_is_set_and_no_form(database: Database) -> None:
    one_of_each(database)
    assert Asked(database)("/limit", {"name": "append", "max_running": "2", "reason": "r"}).status == 303
    reader = Asked(database, verbs={Verb.LOOK, Verb.PAUSE})
    shown = reader.text("/types")
    assert "append to max_running 2, " in shown
    assert not re.search(r'action="[^"]*limit"', shown)
    assert reader("/limit", {"name": "append", "max_running": "9", "reason": "r"}).status == 403
    assert reader("/unlimit", {"name": "append"}).status == 403


def test_backfill_shows_what_it_would_make_and_then_makes_it(database: Database) -> None:
    one_of_each(database)
    now = database.now()
    database.execute("DELETE FROM job_types")
    begin, end = ((now - timedelta(days=days)).date() for days in (4, 1))
    asked, form = (
        Asked(database),
        {"name": "nightly", "since": f"{begin} 00:00", "until": f"{end} 00:00", "reason": "lost"},
    )
    before = database.value("SELECT count(*) FROM job_runs")
    page = asked("/schedule/backfill", form).body.decode()
    assert "make 4 runs" in page
    assert database.value("SELECT count(*) FROM job_runs") == before
    assert asked("/schedule/backfill", hidden(page)).status == 200
    assert database.value("SELECT count(*) FROM job_runs") == before + 4
    page = asked("/schedule/backfill", form).body.decode()
    assert "4 has a run" in page
    assert "make " not in page
    assert database.query("SELECT detail FROM job_events ORDER BY id DESC")[0]["detail"]["reason"] == "lost"
    assert asked("/schedule/backfill", {**form, "since": "yesterday"}).status == 400


def test_all_schedules_are_counted_and_asked_before_they_are_paused_or_resumed(database: Database) -> None:
    # Half past: no slot comes while the test runs.
    database.set_clock_offset(datetime(2027, 3, 26, 12, 30, tzinfo=UTC) - datetime.now(UTC))
    now = database.now()
    times = {"created_at": now - timedelta(days=9), "updated_at": now, "last_slot_at": now - timedelta(hours=3)}
    fixed = {"job_type": "append", "payload": {}, "schedule": "0 * * * *", "timezone": "UTC", "source": "cli", **times}
    names = ["a", "b", "c"]
    insert(database, "job_definitions", [{"name": name, **fixed, "next_run_at": now} for name in names])
    database.execute("UPDATE job_definitions SET paused_at = ? WHERE name = 'c'", [now])
    asked, partly = Asked(database), Asked(database, {Verb.LOOK, Verb.PAUSE})
    paused = "SELECT count(*) FROM job_definitions WHERE paused_at IS NOT NULL"
    assert 'action="./schedules/resume"' in asked.text("/schedules")
    assert 'action="./schedules/resume"' not in partly.text("/schedules")
    page = asked("/schedules/pause", {"reason": "a move"}).body.decode()
    assert ("2 schedules would be paused" in page, database.value(paused)) == (True, 1)
    # The reason is asked for once.
    assert hidden(page) == {"agreed": ["yes"], "reason": ["a move"]}
    assert "pause: 2 schedules changed." in asked("/schedules/pause", hidden(page)).body.decode()
    assert "pause: 0 schedules changed." in asked("/schedules/pause", hidden(page)).body.decode(), (
        "somebody was quicker"
    )
    assert database.value(paused) == 3
    assert "./schedules/pause" not in asked.text("/schedules")
    assert partly("/schedules/resume", {"missed": "no", "agreed": "yes"}).status == 403
    assert asked("/schedules/resume", {"agreed": "yes"}).status == 400
    page = asked("/schedules/resume", {"missed": "yes"}).body.decode()
    assert ("3 schedules would be resumed" in page, database.value(paused)) == (True, 3)
    again = {**hidden(page), "reason": ["moved"]}
    assert "The next tick decides on 9 missed slots." in asked("/schedules/resume", again).body.decode()
    assert database.value(paused) == 0
    page = asked("/schedules/resume", {"missed": "no"}).body.decode()
    assert "3 schedules would go on from now" in page
    assert "9 slots are passed over." in asked("/schedules/resume", hidden(page)).body.decode()
    events = [
        (each["actor"], each["detail"].get("reason"))
        for each in database.query("SELECT actor, action, detail FROM job_events ORDER BY id")
        if each["action"] in ("pause schedule", "resume schedule")
    ]
    assert {actor for actor, _ in events} == {"ada (page)"}
    assert [reason for _, reason in events] == ["a move"] * 2 + ["moved"] * 3 + [None] * 3


def buttons(asked: Asked, runs: dict[str, int]) -> set[str]:
    """The addresses of all forms of all pages that change something in the database. The choice of a zone does not."""
    found = set[str]()
    for path in paths(runs):
        found |= set(re.findall(r'<form[^>]* method="post" action="([^"]*)"', asked(path).body.decode()))
    return found - {"./keep-zone"}


@sqlite_only
def test_page_of_a_file_that_cannot_be_written_has_no_buttons(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = one_of_each(database)
    assert buttons(Asked(database), runs)
    # What the system says to users other than root, by whom the tests may run.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert buttons(Asked(database), runs) == set()
    assert "read-only" in Asked(database).text("/runs")


@postgresql_only
def test_page_of_a_database_that_is_read_only_has_no_buttons(database: Database) -> None:
    runs = one_of_each(database)
    assert buttons(Asked(database), runs)
    name = database.value("SELECT current_database()")
    database.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    asked = Asked(database)
    assert buttons(asked, runs) == set()
    assert "read-only" in asked.text("/runs")
    refused = asked(f"/runs/{runs['queued']}/cancel", {"x": "y"})
    assert refused.status in (403, 503), refused.body
