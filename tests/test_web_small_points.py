"""Points of the page and of commands beside it: what a preview locks, what messages name, and valid HTML."""

import base64
import re
from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.locks import locked_definition
from harness.notices import CHAT, configure, dead, notices
from harness.pages import ROOT
from harness.receivers import web_server
from harness.web import SCHEDULE, Asked, Tags, one_of_each, paths


def test_preview_of_a_backfill_waits_for_no_lock_and_a_span_of_many_years_is_refused_in_words_of_the_page(
    database: Database,
) -> None:
    one_of_each(database)
    asked, now = Asked(database), database.now()
    short = {"name": SCHEDULE, "from": f"{now - timedelta(days=3):%Y-%m-%d}", "to": f"{now:%Y-%m-%d %H:%M}"}
    with locked_definition(database, SCHEDULE):
        found = asked("/schedule/backfill", short)
        assert (found.status, b"4 made" in found.body) == (200, True), found.body.decode()
    database.execute("UPDATE job_definitions SET schedule = '* * * * *'")
    for begin, words in (("2001-01-01", "more than 10000 slots"), (f"{now - timedelta(days=1):%F %R}", "1441 slots")):
        refused = asked("/schedule/backfill", {**short, "from": begin})
        text = refused.body.decode()
        assert refused.status == 400
        assert words in text, text
        assert "choose a shorter span" in text
        assert "--" not in re.sub(r"<[^>]*>", "", text)
    future = {**short, "to": f"{now + timedelta(days=2):%Y-%m-%d}"}
    assert b"the last slot lies in the future" in asked("/schedule/backfill", future).body


def test_json_of_a_schedule_explains_it_as_the_command_does(jobrunner: Commands, database: Database) -> None:
    one_of_each(database)
    database.execute("UPDATE job_definitions SET paused_at = ?", [database.now()])
    found = Asked(database).json(f"/schedule?name={SCHEDULE}")["explanation"]
    assert found["reason"] == jobrunner("schedule", "show", SCHEDULE, "--json").json()["explanation"]["reason"]
    assert found["sentence"].startswith(f"Schedule {SCHEDULE}")


@pytest.mark.parametrize(
    "words",
    [("effects", "settle", "a\udcff", "--applied"), ("pause", "--host", "a\udcff"), ("resume", "--host", "a\udcff")],
    ids=" ".join,
)
def test_argument_with_a_byte_that_is_not_utf_8_is_refused_in_one_line(
    jobrunner: Commands, words: tuple[str, ...]
) -> None:
    done = jobrunner(*words, check=False)
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1
    assert "internal error" not in done.stderr


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
    examples = re.findall(r"^Example: (.*)$", (ROOT / "docs" / "cli.md").read_text(), re.MULTILINE)
    assert len(examples) > 40
    assert [each for each in examples if not re.fullmatch(r"`jobrunner [^`]*`", each)] == []
