"""Who may do what in the page, what is escaped, and what is masked."""

from urllib.parse import urlencode

from harness import Database
from harness.handlers_rows import queue, status_of
from harness.web import HOSTILE, SAME, SCHEDULE, Asked, Tags, is_page, make_hostile, one_of_each, paths
from jobrunner.text import visible_block
from jobrunner.web import READ_ONLY, Verb
from jobrunner.web.rendering import STATIC
from jobrunner.web.routes import ROUTES

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
