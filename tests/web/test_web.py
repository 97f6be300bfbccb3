"""The page without a server: its buttons, its JSON, its lists, and what it costs."""

import gzip
import re
from datetime import UTC, datetime, timedelta

import pytest

from harness import Database
from harness.handlers_rows import queue, status_of
from harness.invariants import insert_runs
from harness.waiting import stretched
from harness.web import Asked, one_of_each
from jobrunner.errors import DatabaseUnavailable
from jobrunner.store.drivers.location import locate
from jobrunner.web.access import Access
from jobrunner.web.rendering import STATIC

TRACE = f"00-{'1f' * 16}-{'2e' * 8}-01"
SECRET = '{"password": "x-secret-1"}'


def test_buttons_do_what_the_commands_do_with_the_visitor_in_the_audit_trail(database: Database) -> None:
    runs = one_of_each(database)
    asked = Asked(database)
    done = asked(f"/runs/{runs['dead']}/retry", {"x": "y"})
    assert (done.status, dict(done.headers)["Location"]) == (303, f"../../runs/{runs['dead']}?done=retry")
    assert "Queued again." in asked.text(f"/runs/{runs['dead']}?done=retry")
    assert asked(f"/runs/{runs['queued']}/discard", {"reason": " "}).status == 400
    assert asked(f"/runs/{runs['queued']}/discard", {"reason": "why not"}).status == 303
    assert asked(f"/runs/{runs['running']}/cancel", {"x": "y"}).status == 303
    assert [status_of(database, runs[name]) for name in ("dead", "queued", "running")] == ["queued", "dead", "running"]
    # Somebody else was quicker: the answer is the truth, and a refusal.
    late = asked(f"/runs/{runs['succeeded']}/cancel", {"x": "y"})
    assert late.status == 409
    assert "Not done: cancel is not possible. The run already succeeded" in late.body.decode()
    assert asked("/runs/999/cancel", {"x": "y"}).status == 404
    events = database.query("SELECT actor, action, detail FROM job_events WHERE id > 1 ORDER BY id")
    assert [(each["actor"], each["action"]) for each in events] == [
        ("ada (page)", "retry"),
        ("ada (page)", "discard"),
        ("ada (page)", "cancel"),
    ]
    assert events[1]["detail"]["reason"] == "why not"


def test_statement_that_takes_too_long_is_given_up_after_two_seconds(database: Database) -> None:
    access = Access(lambda: locate(database.url))
    endless = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 - 1 FROM s) SELECT count(*) FROM s"
    began = database.now()
    with pytest.raises(DatabaseUnavailable, match="no answer for 2 s"):
        access.read(lambda connection: connection.execute(endless))
    assert database.now() - began < timedelta(seconds=stretched(10))
    assert access.read(lambda connection: connection.execute("SELECT 1").scalar_one()) == 1


def test_database_that_is_not_there_is_a_page_that_says_so(database: Database) -> None:
    asked = Asked(database)
    database.execute("DROP VIEW job_stuck")
    database.execute("ALTER TABLE job_effects RENAME TO gone")
    answer = asked("/")
    assert answer.status == 503
    assert "jobrunner migrate" in answer.body.decode()


def test_first_page_is_at_most_25_kb_compressed(database: Database) -> None:
    one_of_each(database)
    insert_runs(database, 100, status="dead", finished_at=database.now(), last_error="an error of some length" * 5)
    parts = [Asked(database)(path).body for path in ("/", *(f"/static/{name}" for name in STATIC))]
    assert sum(len(gzip.compress(part)) for part in parts) < 25_000


def test_viewers_within_two_seconds_share_one_look_at_the_database(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(database)
    asked.text("/")
    run_id = queue(database, "append")
    before = asked.text("/")
    assert re.search(r'status=queued">0<', before)
    # Who changes something sees it at once.
    assert asked(f"/runs/{run_id}/cancel", {"x": "y"}).status == 303
    assert re.search(r'status=cancelled">1<', asked.text("/"))


def test_schedule_is_paused_resumed_and_triggered_from_its_page(database: Database) -> None:
    one_of_each(database)
    # The slot at half past two does not exist on the day when the clocks go forward.
    zone = {"timezone": "Europe/Berlin", "schedule": "30 2 * * *"}
    database.execute("UPDATE job_definitions SET timezone = ?, schedule = ?, payload = ?", [*zone.values(), SECRET])
    database.set_clock_offset(datetime(2027, 3, 26, 12, tzinfo=UTC) - datetime.now(UTC))
    asked = Asked(database)
    page = asked.text("/schedule?name=nightly")
    assert "At 02:30" in page
    assert re.findall(r">(S\w\w [\d:-]+ [\d:]+ \w+)<", page) == [
        "Sat 2027-03-27 02:30 CET",
        "Sun 2027-03-28 03:00 CEST",
    ]
    assert "-secret-" not in page + asked.text("/schedule?name=nightly&format=json")
    assert "Sat 2027-03-27 02:30 CET" in asked.text("/schedules")

    paused = asked("/schedule/pause", {"name": "nightly", "reason": "a move"})
    assert (paused.status, dict(paused.headers)["Location"]) == (303, "../schedule?name=nightly&done=pause")
    page = asked.text("/schedule?name=nightly&done=pause")
    assert re.search(r"Paused <time[^>]*>now</time> by ada \(page\)", page), page
    assert asked("/schedule/resume", {"name": "nightly"}).status == 303
    assert database.value("SELECT paused_at FROM job_definitions") is None
    made = asked("/schedule/trigger", {"name": "nightly"})
    assert dict(made.headers)["Location"] == f"../runs/{database.value('SELECT max(id) FROM job_runs')}"
    assert asked("/schedule/pause", {"name": "nightlz"}).status == 404
    assert "did you mean" in asked("/schedule?name=nightlz").body.decode()
    events = database.query("SELECT actor, action, detail FROM job_events WHERE id > 1 ORDER BY id")
    assert [each["action"] for each in events if "schedule" in each["action"]][:2] == [
        "pause schedule",
        "resume schedule",
    ]
    assert {each["actor"] for each in events} == {"ada (page)"}
    assert events[0]["detail"]["reason"] == "a move"


def test_trails_go_on_page_by_page(database: Database) -> None:
    one_of_each(database)
    for number in range(120):
        database.execute(
            "INSERT INTO job_events (at, actor, action, detail) VALUES (?, 'a', ?, ?)",
            [database.now(), f"act {number}", SECRET],
        )
    asked, seen = Asked(database), list[str]()
    query = ""
    for _ in range(3):
        page = asked.text(f"/audit{query}")
        assert "-secret-" not in page + asked.text(f"/audit{query}{'&' if query else '?'}format=json")
        seen += re.findall(r">(act \d+)<", page)
        more = re.search(r'href="(\?before=\d+)"', page)
        query = more[1] if more else query
        if not more:
            break
    assert seen == [f"act {number}" for number in reversed(range(120))]
    assert asked("/audit?before=x").status == 400
    assert asked("/effects/settle", {"key": "k", "applied": "maybe"}).status == 400
    assert asked("/effects/settle", {"key": "k", "applied": "no"}).status == 303
    assert asked("/effects/settle", {"key": "k", "applied": "no"}).status == 404
    assert database.value("SELECT count(*) FROM job_effects") == 0
    assert "There are none." in asked.text("/effects")


def test_first_page_says_what_is_wrong_first(database: Database) -> None:
    one_of_each(database)
    database.execute("UPDATE job_ticks SET started_at = ?, finished_at = ?", [database.now() - timedelta(days=1)] * 2)
    page = Asked(database).text("/")
    assert page.index("What is wrong") < page.index('class="cards"')
    assert "no tick has started" in page.lower() or "jobrunner" in re.findall(r"<li class=[^>]*>.*", page)[0]
