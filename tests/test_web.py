"""The page without a server: its routes, who may do what, what is escaped and masked, and what it costs."""

import gzip
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest

from harness import Database, PostgresDatabase, postgresql_only
from harness.handlers_rows import queue, status_of
from harness.invariants import insert_runs
from harness.web import HOSTILE, SAME, SCHEDULE, Asked, Tags, is_page, make_hostile, one_of_each, paths
from jobrunner.errors import DatabaseUnavailable
from jobrunner.lifecycle import TRANSITIONS
from jobrunner.store.location import locate
from jobrunner.text import visible_block
from jobrunner.web import READ_ONLY, Verb
from jobrunner.web.access import Access
from jobrunner.web.rendering import STATIC
from jobrunner.web.routes import ROUTES

TRACE = f"00-{'1f' * 16}-{'2e' * 8}-01"
SECRET = '{"password": "x-secret-1"}'
GIVEN = {"reason": "x", "name": SCHEDULE, "key": "k", "applied": "yes"}
FOREIGN = [
    # What the browser says of where the request comes from, and whether it is refused.
    ({"sec-fetch-site": "same-origin"}, False),
    ({"sec-fetch-site": "same-origin", "origin": "http://evil.example"}, False),
    ({"sec-fetch-site": "same-site"}, True),
    ({"sec-fetch-site": "cross-site"}, True),
    ({"sec-fetch-site": "none"}, True),
    ({"sec-fetch-site": "cross-site", "origin": "http://example"}, True),
    ({"sec-fetch-site": "same-origin, cross-site"}, True),
    ({"sec-fetch-site": ""}, True),
    ({"origin": "http://example"}, False),
    ({"origin": "HTTP://EXAMPLE"}, False),
    ({"origin": "https://example"}, True),
    ({"origin": "http://example:8080"}, True),
    ({"origin": "http://example.evil"}, True),
    ({"origin": "null"}, True),
    ({"origin": ""}, True),
    ({"origin": "http://", "host": ""}, True),
    ({}, True),
]


def forms(run_id: int) -> list[tuple[str, Verb]]:
    return [(each.path.replace("{id}", str(run_id)), each.verb) for each in ROUTES if not is_page(each)]


def test_hostile_texts_in_every_column_are_text_on_every_page(database: Database) -> None:
    runs = one_of_each(database)
    make_hostile(database)
    asked = Asked(database)
    hostile = urlencode({"name": database.value("SELECT name FROM job_definitions")})
    for path in (each.replace(urlencode({"name": SCHEDULE}), hostile) for each in paths(runs)):
        page = asked(path)
        assert page.status == 200
        if dict(page.headers)["Content-Type"].startswith("text/plain"):
            assert page.body.decode() == HOSTILE
            continue
        read = Tags(page.body.decode())
        read.check()
        assert visible_block(HOSTILE)[:50] in "".join(read.words) or path in ("/types", "/zone"), path
        assert "\u202e" not in "".join(read.words)


def test_hostile_addresses_are_refused_and_escaped(database: Database) -> None:
    asked = Asked(database)
    for path in (f"/{HOSTILE}", f"/runs/{HOSTILE}", "/runs/0x1", "/runs/" + "9" * 30, "/static/../core.py", "//evil"):
        found = asked(path)
        assert found.status == 404, path
        Tags(found.body.decode()).check()
    queue(database, "append")
    refused = asked(f"/runs/1?done={HOSTILE}&x=%FF", method="GET")
    assert refused.status == 200
    Tags(refused.body.decode()).check()
    assert asked("/runs/1?" + "a=1&" * 200).status == 400


def test_every_response_has_the_headers_that_protect_it(database: Database) -> None:
    runs = one_of_each(database)
    asked = Asked(database)
    for path in [*paths(runs), "/nothing", *(f"/static/{name}" for name in STATIC)]:
        headers = dict(asked(path).headers)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "script-src 'self'; connect-src 'self'; " in policy
        assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "same-origin")
        assert headers["Cache-Control"] == ("no-store" if "static" not in path else headers["Cache-Control"])


@pytest.mark.either_database
def test_every_route_needs_a_visitor_and_every_form_its_verb(database: Database) -> None:
    runs = one_of_each(database)
    before = database.query("SELECT * FROM job_runs ORDER BY id")
    stranger, reader, partly = Asked(database), Asked(database, READ_ONLY), Asked(database, {Verb.LOOK, Verb.RETRY})
    stranger.visitor = None
    for path in [*paths(runs), "/nothing"]:
        assert stranger(path).status == 403
        assert reader(path).status in (200, 404)
    for path, verb in forms(runs["queued"]):
        assert stranger(path, GIVEN).status == 403
        # Who may only look may choose a time zone, which changes nothing but the own cookie.
        assert (reader(path, GIVEN).status == 403) is (verb is not Verb.LOOK)
        assert (partly(path, GIVEN).status == 403) is (verb not in (Verb.LOOK, Verb.RETRY))
        assert reader(path).status == 405, "a form is not sent by a link"
    assert "<button" not in reader.text(f"/runs/{runs['dead']}")
    assert database.query("SELECT * FROM job_runs ORDER BY id") == before


@pytest.mark.either_database
def test_request_of_another_site_changes_nothing(database: Database) -> None:
    for headers, is_refused in FOREIGN:
        run_id = queue(database, "append")
        for path, _ in forms(run_id):
            answer = Asked(database)(path, GIVEN, headers=headers)
            assert (answer.status == 403) is is_refused, (path, headers)
        assert (status_of(database, run_id) == "queued") is is_refused
    json_form = Asked(database)("/runs/1/cancel", {"a": "b"}, headers={**SAME, "content-type": "text/plain"})
    assert json_form.status == 415
    assert Asked(database)("/runs/1/cancel", {"reason": "x" * 70_000}).status == 413


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


def test_secrets_of_a_run_reach_no_page_and_no_json(database: Database) -> None:
    payload = {
        "apiKey": "AAAA-secret-1",
        "nested": [{"db_password": {"deep": ["BBBB-secret-2"]}, "author": "Ada"}],
        "SSN": "CCCC-secret-3",
        "tokens_left": 10**30,
        "url": "postgresql://u:DDDD-secret-4@h/db",
    }
    now = database.now()
    (run_id,) = insert_runs(
        database, 1, payload=payload, status="dead", finished_at=now, last_error="AAAA-secret-1 is wrong"
    )
    database.execute(
        "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
        " outcome, error, traceback, output) VALUES (?, 1, 1, 't', 'w', 'h', ?, ?, 'failed', ?, ?, ?)",
        [run_id, now, now, "BBBB-secret-2", "at AAAA-secret-1", "curl https://x:EEEE-secret-5@h CCCC-secret-3"],
    )
    asked = Asked(database, redact=["ssn"])
    found = [asked.text(f"/runs/{run_id}"), asked.text(f"/runs/{run_id}?format=json")]
    found += [asked.text(f"/runs/{run_id}/attempts/1/{name}") for name in ("output", "traceback")]
    for text in found:
        assert "-secret-" not in text
    # A list does not read the payloads, so it knows only what looks like a password in every text.
    database.execute("UPDATE job_runs SET last_error = 'cannot reach redis://:AAAA-secret-6@h'")
    for path in ("/", "/?format=json"):
        text = Asked(database).text(path)
        assert "cannot reach redis" in text
        assert "-secret-" not in text
    assert asked.json(f"/runs/{run_id}")["payload"]["tokens_left"] == 10**30
    assert "Ada" in found[0]


def test_json_is_that_of_the_command(database: Database) -> None:
    from harness.stores import opening
    from jobrunner.store import overview, queries
    from jobrunner.store.explain import subjects
    from jobrunner.web.rendering import as_json

    runs = one_of_each(database)
    database.execute("UPDATE job_runs SET traceparent = ? WHERE id = ?", [TRACE, runs["dead"]])
    asked = Asked(database)
    with opening(database, 5) as open_store:
        store = open_store()
        shown = store.read(lambda connection: queries.show(connection, runs["dead"]))
        explained = store.read(lambda connection: subjects.explain(connection, str(runs["dead"])))
        state = store.read(lambda connection: overview.status(connection, None))
    assert asked(f"/runs/{runs['dead']}?format=json").body == as_json(
        {**vars(shown), "trace_id": TRACE[3:35], "explanation": explained.brief()}
    )
    assert TRACE[3:35] in asked.text(f"/runs/{runs['dead']}").replace(TRACE, "")
    told = asked.json("/")
    assert set(told) == {"database", "findings", *vars(state), "handlers_problem", "state_problem"}
    assert told["runs"] == state.runs


def test_statement_that_takes_too_long_is_given_up_after_two_seconds(database: Database) -> None:
    access = Access(lambda: locate(database.url))
    endless = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 - 1 FROM s) SELECT count(*) FROM s"
    began = database.now()
    with pytest.raises(DatabaseUnavailable, match="no answer for 2 s"):
        access.read(lambda connection: connection.execute(endless))
    assert database.now() - began < timedelta(seconds=10)
    assert access.read(lambda connection: connection.execute("SELECT 1").scalar_one()) == 1


@pytest.mark.either_database
def test_database_that_is_not_there_is_a_page_that_says_so(database: Database) -> None:
    asked = Asked(database)
    database.execute("DROP VIEW job_stuck")
    database.execute("ALTER TABLE job_effects RENAME TO gone")
    answer = asked("/")
    assert answer.status == 503
    assert "jobrunner migrate" in answer.body.decode()


@pytest.mark.either_database
def test_first_page_is_at_most_25_kb_compressed(database: Database) -> None:
    one_of_each(database)
    insert_runs(database, 100, status="dead", finished_at=database.now(), last_error="an error of some length" * 5)
    parts = [Asked(database)(path).body for path in ("/", *(f"/static/{name}" for name in STATIC))]
    assert sum(len(gzip.compress(part)) for part in parts) < 25_000


@pytest.mark.either_database
def test_viewers_within_two_seconds_share_one_look_at_the_database(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(database)
    asked.text("/")
    run_id = queue(database, "append")
    before = asked.text("/")
    assert re.search(r"queued</span></a></dt><dd>0<", before)
    # Who changes something sees it at once.
    assert asked(f"/runs/{run_id}/cancel", {"x": "y"}).status == 303
    assert re.search(r"cancelled</span></a></dt><dd>1<", asked.text("/"))


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


@pytest.mark.either_database
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


def test_list_of_runs_is_filtered_by_its_address_and_goes_on_page_by_page(database: Database) -> None:
    now = database.now()
    dead = insert_runs(database, 120, "send", status="dead", finished_at=now, last_error="no such host")
    insert_runs(database, 5, "other")
    asked = Asked(database)
    seen, query = list[str](), "?status=dead&type=send&error=SUCH&since=2h"
    while query:
        page = asked.text(f"/runs{query}")
        assert 'value="send"' in page
        seen += re.findall(r'href="\./runs/(\d+)"', page)
        more = re.search(r'href="(\?[^"]*before=\d+[^"]*)"', page)
        query = more[1].replace("&amp;", "&") if more else ""
    assert seen == [str(run_id) for run_id in reversed(dead)]
    assert len(asked.json("/runs?type=other")["runs"]) == 5
    groups = asked.json("/errors?since=2h")["groups"]
    assert [(each["count"], each["error"]) for each in groups] == [(120, "no such host")]
    assert "no such host" in asked.text("/errors")


@pytest.mark.either_database
def test_filter_that_cannot_be_used_says_why_and_stays_in_the_form(database: Database) -> None:
    asked = Asked(database)
    for query, says in (
        ("since=yesterday&type=send", "is no time"),
        ("status=done&type=send", "is no status"),
        ("schedule=none&type=send", "there is no schedule"),
        ("waiting_for=Godot&type=send", "no run waits for"),
        ("before=x&type=send", "is not a whole number"),
        ("key=%00&type=send", "is in no run"),
    ):
        found = asked(f"/runs?{query}")
        text = found.body.decode()
        assert found.status == 400, query
        assert says in text, query
        assert 'value="send"' in text
        Tags(text).check()


@postgresql_only
def test_list_that_the_database_does_not_answer_in_time_leaves_its_filter_to_be_changed(database: Database) -> None:
    assert isinstance(database, PostgresDatabase)
    asked = Asked(database)
    with database.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE job_runs")
        for path in ("/runs?type=send", "/errors?type=send"):
            found = asked(path)
            assert found.status == 503
            assert 'value="send"' in found.body.decode()
            assert "narrower filter" in found.body.decode()
    assert asked("/runs?type=send").status == 200
    # Nobody looks now, so no session is kept.
    mine = "SELECT count(*) = 0 AS none FROM pg_stat_activity WHERE datname = current_database()"
    database.wait_until(f"{mine} AND backend_type = 'client backend' AND pid <> pg_backend_pid()")


@pytest.mark.either_database
def test_life_of_a_run_is_drawn_with_the_moves_it_has_made(database: Database) -> None:
    now = database.now()
    (run_id,) = insert_runs(database, 1, status="dead", finished_at=now, failed_at=now, started_at=now)
    for sequence, outcome in enumerate(("failed", "released", "failed"), 1):
        database.execute(
            "INSERT INTO job_attempts (run_id, sequence, attempt, lease_token, worker, host, started_at, finished_at,"
            " outcome) VALUES (?, ?, 1, ?, 'w', 'h', ?, ?, ?)",
            [run_id, sequence, f"t{sequence}", now, now, outcome],
        )
    page = Asked(database).text(f"/runs/{run_id}")
    way = "queued, then running, then failed, then running, then queued, then running, then dead"
    assert f"<figcaption>{way}</figcaption>" in page
    lit = set(re.findall(r'class="arrow lit"><title>(\w+ to \w+)', page))
    assert lit == {
        "queued to running",
        "running to failed",
        "failed to running",
        "running to queued",
        "running to dead",
    }
    drawn = set(re.findall(r"<title>(\w+ to \w+): ", page))
    moves = {(source, each.target) for each in TRANSITIONS for source in each.sources if source is not each.target}
    assert drawn == {f"{source} to {target}" for source, target in moves}
    # No line crosses a box, and each ends in a head that touches its box from outside.
    boxes = [(int(x), int(y)) for x, y in re.findall(r'<rect x="(\d+)" y="(\d+)" width="120" height="38"', page)]
    lines = re.findall(r'<path class="line" d="M([^"]*)"/><path class="head" d="M([\d.]+) ([\d.]+)', page)
    assert (len(boxes), len(lines)) == (6, len(moves))
    for line, x, y in lines:
        assert any(is_within((float(x), float(y)), box, 0) for box in boxes), line
        for point in points_of(line):
            assert not any(is_within(point, box, -0.1) for box in boxes), line


def points_of(line: str) -> list[tuple[float, float]]:
    """Points of a path: of a cubic curve, or of an upright line, between its ends."""
    numbers = [float(each) for each in re.findall(r"[\d.]+", line)]
    if len(numbers) == 3:
        x, begin, end = numbers
        return [(x, begin + (end - begin) * n / 20) for n in range(21)]
    a, b, c, d = zip(numbers[::2], numbers[1::2], strict=True)
    return [
        tuple(
            (1 - t) ** 3 * a[i] + 3 * (1 - t) ** 2 * t * b[i] + 3 * (1 - t) * t**2 * c[i] + t**3 * d[i] for i in (0, 1)
        )  # type: ignore[misc]
        for t in (n / 50 for n in range(51))
    ]


def is_within(point: tuple[float, float], box: tuple[int, int], more: float) -> bool:
    return all(low - more <= at <= low + size + more for at, low, size in zip(point, box, (120, 38), strict=True))


@pytest.mark.either_database
def test_first_page_says_what_is_wrong_first(database: Database) -> None:
    one_of_each(database)
    database.execute("UPDATE job_ticks SET started_at = ?, finished_at = ?", [database.now() - timedelta(days=1)] * 2)
    page = Asked(database).text("/")
    assert page.index("What is wrong") < page.index('class="counts"')
    assert "no tick has started" in page.lower() or "jobrunner" in re.findall(r"<li class=[^>]*>.*", page)[0]
