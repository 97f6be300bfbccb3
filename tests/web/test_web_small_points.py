"""Points of the page and of commands beside it: what a preview locks, what messages name, and valid HTML."""

import base64
import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest

from harness import App, Commands, Database
from harness.doc_tables import text_of
from harness.invariants import insert_runs
from harness.locks import locked_definition
from harness.notices import CHAT, configure, dead, notices
from harness.receivers import web_server
from harness.web import SCHEDULE, Asked, Tags, one_of_each, paths
from jobrunner.store.questions import search


def test_preview_of_a_backfill_waits_for_no_lock_and_a_span_of_many_years_is_refused_in_words_of_the_page(
    database: Database,
) -> None:
    one_of_each(database)
    asked, now = Asked(database), database.now()
    short = {"name": SCHEDULE, "since": f"{now - timedelta(days=3):%Y-%m-%d}", "until": f"{now:%Y-%m-%d %H:%M}"}
    with locked_definition(database, SCHEDULE):
        found = asked("/schedule/backfill", short)
        assert (found.status, b"4 would be made" in found.body) == (200, True), found.body.decode()
    database.execute("UPDATE job_definitions SET schedule = '* * * * *'")
    for begin, words in (("2001-01-01", "more than 10000 slots"), (f"{now - timedelta(days=1):%F %R}", "1441 slots")):
        refused = asked("/schedule/backfill", {**short, "since": begin})
        text = refused.body.decode()
        assert refused.status == 400
        assert words in text, text
        assert "choose a shorter span" in text
        assert "--" not in re.sub(r"<[^>]*>", "", text)
    future = {**short, "until": f"{now + timedelta(days=2):%Y-%m-%d}"}
    assert b"the last slot lies in the future" in asked("/schedule/backfill", future).body


@pytest.mark.parametrize(
    "words",
    [("effects", "settle", "a\udcff", "--applied"), ("pause", "--host", "a\udcff"), ("resume", "--host", "a\udcff")],
    ids=" ".join,
)
def test_argument_with_a_byte_that_is_not_utf_8_is_refused_in_one_line(
    jobrunner: Commands, words: tuple[str, ...]
) -> None:
    assert "internal error" not in jobrunner.refused(None, *words)


def test_webhook_whose_url_has_a_login_is_told(jobrunner: Commands, app: App, database: Database) -> None:
    configure(app, '[notify]\non_dead = ["chat"]', CHAT)
    dead(database)
    with web_server() as web:
        jobrunner.tick(env={"CHAT_URL": web.url.replace("http://", "http://ada:s%40cret@")})
        (told,) = web.requests
    assert told.headers["Authorization"] == f"Basic {base64.b64encode(b'ada:s@cret').decode()}"
    assert notices(database) == [("dead", "chat", "sent", 1)]


def test_instants_have_three_digits_of_a_second_and_a_figure_with_a_caption_has_no_role(database: Database) -> None:
    runs = one_of_each(database)
    asked = Asked(database)
    instants = []
    for path in paths(runs):
        if "/attempts/" not in path:
            tags = Tags(asked.text(path)).found
            instants += [given["datetime"] or "" for tag, given in tags if "datetime" in given]
            assert [given for tag, given in tags if tag == "figure" and "role" in given] == [], path
    assert len(instants) > 20
    assert [each for each in instants if not re.fullmatch(r"[\d-]{10}T[\d:]{8}(\.\d{3})?Z", each)] == []


def test_each_example_in_the_page_of_commands_is_code_as_a_whole() -> None:
    examples = re.findall(r"^Example: (.*)$", text_of("cli.md"), re.MULTILINE)
    assert len(examples) > 40
    assert [each for each in examples if not re.fullmatch(r"`jobrunner [^`]*`", each)] == []


def test_filter_by_error_tells_nothing_of_what_the_page_hides(database: Database) -> None:
    ended = {"status": "dead", "finished_at": database.now(), "error_type": "LoginError"}
    payload = {"password": "hunter2-is-secret", "pin": 1}
    (secret,) = insert_runs(database, 1, payload=payload, last_error="no login with hunter2-is-secret today", **ended)
    insert_runs(database, 1, last_error="no login with a key today", **ended)
    asked = Asked(database)
    for part, count in (("login with", 2), ("LOGIN WITH", 2), ("h", 2), ("hunter2", 0), ("hunter2-is-s", 0)):
        query = urlencode({"error": part})
        assert len(asked.json(f"/runs?{query}")["runs"]) == count, part
        groups = asked.json(f"/errors?{query}")
        assert (len(groups["groups"]), groups["runs"]) == (count, count), part
        counted = asked("/bulk/retry", {"which": "all", "error": part}).body.decode()
        assert (f"Retry: {count} run" in counted) is (count > 0), part
    asked("/bulk/retry", {"which": "all", "error": "hunter2", "agreed": "yes"})
    assert database.query("SELECT status FROM job_runs WHERE id = ?", [secret])[0]["status"] == "dead"
    asked("/bulk/retry", {"which": "all", "error": "login with", "agreed": "yes"})
    assert database.query("SELECT status FROM job_runs WHERE id = ?", [secret])[0]["status"] == "queued"


def test_runs_of_a_key_are_found_by_the_key_and_not_among_all_runs(
    database: Database, jobrunner: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ("--key", "order-7", "--allow-unknown")
    first = int(jobrunner("enqueue", "send", *key).stdout)
    second = int(jobrunner("enqueue", "bill", *key).stdout)
    insert_runs(database, 300, status="succeeded", finished_at=database.now())
    monkeypatch.setattr(search, "_walk", None)
    asked = Asked(database)
    assert [run["id"] for run in asked.json("/runs?key=order-7")["runs"]] == [second, first]
    assert [run["id"] for run in asked.json("/runs?key=order-7&type=send")["runs"]] == [first]
    assert asked.json("/runs?key=order-7&status=dead")["runs"] == []


def test_runs_that_had_a_key_which_was_free_again_are_found(database: Database, jobrunner: Commands) -> None:
    now = database.now()
    ended = insert_runs(database, 2, "send", idempotency_key="order-7", status="succeeded", finished_at=now)
    insert_runs(database, 1, "send", idempotency_key="order-8")
    (newest,) = insert_runs(database, 1, "send", idempotency_key="order-7")
    database.execute(
        "INSERT INTO job_types (job_type, when_full, key_scope, updated_at) VALUES ('send', 'refuse', 'active', ?)",
        [now],
    )
    database.execute("INSERT INTO job_keys VALUES ('send', 'order-7', ?, ?)", [newest, now])
    asked = Asked(database)
    found = asked.json("/runs?key=order-7")["runs"]
    assert [run["id"] for run in found] == [newest, *sorted(ended, reverse=True)]
