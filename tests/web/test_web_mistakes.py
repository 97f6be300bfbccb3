"""A form with a mistake comes back with what was typed, and says what is wrong. Nothing is changed."""

import json
import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest

from harness import Database
from harness.invariants import insert_runs
from harness.web import HOSTILE, SCHEDULE, Asked, Tags, one_of_each
from jobrunner.web.messages import Response
from jobrunner.web.routes import Found, find

# For each form: the mistake, and what says so.
ONE_RUN = {
    "reschedule": ({"run_at": "soon"}, "'soon' is no time"),
    "priority": ({"priority": "9999"}, "9999"),
}


def fields_of(response: Response, action: str) -> dict[str, list[str]]:
    """What the fields of a form have, as a browser would send them, without those that are hidden or empty."""
    page = response.body.decode()
    forms = re.findall(r'<form[^>]* method="post".*?</form>', page, re.DOTALL)
    (form,) = (each for each in forms if f'/{action}"' in each)
    found: dict[str, list[str]] = {}
    for tag, attributes in Tags(form).found:
        kind, value = attributes.get("type"), attributes.get("value")
        is_sent = tag == "input" and kind != "hidden" and (kind != "checkbox" or "checked" in attributes)
        if is_sent and value:
            found.setdefault(str(attributes["name"]), []).append(value)
    if match := re.search(r'<option value="([^"]*)" selected', form):
        found["which"] = [match[1]]
    return found


def check_links(response: Response, path: str) -> None:
    """Each link leads to a page, though the page stands at the address of a form."""
    links = {
        str(value)
        for _, attributes in Tags(response.body.decode()).found
        for name, value in attributes.items()
        if name == "href" and not str(value).startswith("#")
    }
    assert len(links) > 8
    for link in links:
        place = urlsplit(urljoin(f"http://example{path}", link)).path
        assert isinstance(find("GET", place), Found) or place.startswith("/static/"), (link, place)


@pytest.mark.parametrize("verb", ONE_RUN)
def test_form_of_a_run_with_a_mistake_keeps_what_was_typed_and_the_other_forms_are_as_before(
    database: Database, verb: str
) -> None:
    run_id, asked = one_of_each(database)["queued"], Asked(database)
    # What follows is shown by the names of its characters.
    visible = HOSTILE.partition("\x1b")[0]
    mistake, says = ONE_RUN[verb]
    before = database.query("SELECT * FROM job_runs ORDER BY id")
    others = fields_of(asked(f"/runs/{run_id}"), "payload")
    path, form = f"/runs/{run_id}/{verb}", {**mistake, "reason": f"because {visible}"}
    refused = asked(path, form)
    page = refused.body.decode()
    Tags(page).check()
    assert (refused.status, "Not done: " in page, says in unescape(page)) == (400, True, True)
    expected = {"priority": "0", **form}
    assert fields_of(refused, verb) == {name: [value] for name, value in expected.items()}
    assert fields_of(refused, "payload") == others
    check_links(refused, path)
    assert database.query("SELECT * FROM job_runs ORDER BY id") == before
    told = asked(f"{path}?format=json", form)
    assert (told.status, says in json.loads(told.body)["error"]) == (400, True)


def test_page_that_says_that_a_change_came_too_late_has_links_that_lead_to_pages_and_what_was_typed(
    database: Database,
) -> None:
    path = f"/runs/{one_of_each(database)['succeeded']}/cancel"
    late = Asked(database)(path, {"reason": "a long story"})
    check_links(late, path)
    assert (late.status, fields_of(late, "retry")) == (409, {"reason": ["a long story"]})
    assert fields_of(late, "payload") == {}


@pytest.mark.parametrize("which", ["selected", "all"])
def test_change_of_many_runs_with_a_mistake_keeps_the_selection_the_filter_and_what_was_typed(
    database: Database, which: str
) -> None:
    insert_runs(database, 3, "other")
    first, second, third, newer = insert_runs(database, 4, "send")
    # The newest one was not there, and another type is not in the list.
    (gone,) = insert_runs(database, 1, "other")
    asked = Asked(database)
    typed = {"which": which, "reason": "a deploy", "run_at": "soon", "over": "10m", "priority": "7", "force": "yes"}
    form = {**typed, "id": [str(first), str(third), str(gone)], "type": "send", "before": str(newer), "format": "json"}
    refused = asked("/bulk/reschedule", form)
    page = unescape(refused.body.decode())
    Tags(refused.body.decode()).check()
    assert (refused.status, "Not done: 'soon' is no time" in page) == (400, True)
    expected = {name: [value] for name, value in typed.items() if (name, value) != ("which", "selected")}
    found = fields_of(refused, "reschedule")
    assert {name: sorted(values) for name, values in found.items()} == {**expected, "id": sorted(form["id"])}
    assert f'name="id" value="{second}"' in page
    assert f'name="id" value="{newer}"' not in page
    assert f"run {gone}, which is not in this list any more" in page
    # Sent again without the mistake, it means the same runs.
    again = {**found, "run_at": "+2h", "type": "send", "before": str(newer)}
    words = asked("/bulk/reschedule", again).body.decode()
    assert ("4 runs" if which == "all" else "3 runs") in words
    check_links(refused, "/bulk/reschedule")


def test_filter_that_cannot_be_read_is_said_and_kept_when_many_runs_are_to_be_changed(database: Database) -> None:
    insert_runs(database, 1, "send")
    refused = Asked(database)("/bulk/cancel", {"which": "all", "type": "send", "since": "some day"})
    page = unescape(refused.body.decode())
    assert (refused.status, "Not done: 'some day' is no time" in page) == (400, True)
    assert 'value="some day"' in page


def test_backfill_with_a_mistake_keeps_what_was_typed(database: Database) -> None:
    one_of_each(database)
    asked = Asked(database)
    form = {"name": SCHEDULE, "since": "2026-01-31", "until": "2026-01-30", "again": "yes", "reason": "lost"}
    refused = asked("/schedule/backfill", form)
    page = refused.body.decode()
    assert (refused.status, "Not done: since is later than until" in page) == (400, True)
    assert fields_of(refused, "backfill") == {name: [value] for name, value in form.items() if name != "name"}
    check_links(refused, "/schedule/backfill")
    assert asked("/schedule/backfill", {**form, "name": "nobody"}).status == 404


# The address, the form with a mistake in it, what says so, the heading of the page, and the form that keeps the reason.
WRONG = {
    "pause of a type that is none": ("/pause", {"kind": "type", "name": ""}, "", "Types", "pause"),
    "pause of a host without a name": ("/pause", {"kind": "host", "name": ""}, "give the name of", "Hosts", "pause"),
    "pause of nothing known": ("/pause", {"kind": "moon", "name": "x"}, "say what to pause", "Now", "pause"),
    "resume of nothing known": ("/resume", {"kind": "moon", "name": "x"}, "say what to pause", "Now", None),
    "resume of all": ("/schedules/resume", {"missed": "perhaps"}, "say whether", "Schedules", "schedules/resume"),
    "effect": ("/effects/settle", {"key": "k", "applied": "maybe"}, "say whether", "Uncertain", "effects/settle"),
    "zone": ("/keep-zone", {"zone": "Mars/Base", "back": "runs"}, "Mars/Base", "Time zone", None),
}


@pytest.mark.parametrize("case", WRONG)
def test_forms_of_pausing_settling_and_the_zone_come_again_with_what_was_typed(database: Database, case: str) -> None:
    path, form, says, heading, keeps = WRONG[case]
    one_of_each(database)
    asked = Asked(database)
    before = [database.query(f"SELECT * FROM {table}") for table in ("job_pauses", "job_effects", "job_events")]
    refused = asked(path, {**form, "reason": "a long <story>"})
    page = refused.body.decode()
    Tags(page).check()
    assert (refused.status, "Not done: " in page, says in unescape(page)) == (400, True, True), page
    assert f"<h1>{heading}" in page
    check_links(refused, path)
    assert [database.query(f"SELECT * FROM {table}") for table in ("job_pauses", "job_effects", "job_events")] == before
    if keeps is not None:
        assert fields_of(refused, keeps)["reason"] == ["a long <story>"]
    if "back" in form:
        assert '<input type="hidden" name="back" value="runs">' in page
    told = asked(f"{path}?format=json", form)
    assert (told.status, says in json.loads(told.body)["error"]) == (400, True)


def test_reason_for_an_effect_that_another_has_settled_meanwhile_is_not_lost(
    database: Database,
) -> None:
    one_of_each(database)
    asked = Asked(database)
    form = {"key": "k", "applied": "no", "reason": "it never arrived"}
    assert asked("/effects/settle", form).status == 303
    late = asked("/effects/settle", form)
    page = late.body.decode()
    assert (late.status, "Not done: there is no effect with the key." in page) == (404, True)
    assert "The reason was: it never arrived" in page
    check_links(late, "/effects/settle")
    assert json.loads(asked("/effects/settle?format=json", form).body) == {
        "error": "Not found: there is no effect with the key."
    }
