"""The page in a real browser: every page and every link, every button, and texts that would like to run."""

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlencode, urljoin, urlsplit

import pytest

from harness import Commands, Database
from harness.browser import Person
from harness.hostile_rows import HOSTILE_TEXTS, plant_hostile_rows
from harness.long import leaves_nothing_out
from harness.web import TAGS, one_of_each
from harness.web_server import served
from jobrunner.web.pages.runs import BULK
from jobrunner.web.permissions import Verb
from jobrunner.web.routes import ROUTES

if TYPE_CHECKING:
    from playwright.sync_api import Locator

# The first test of a machine waits for the packages of the browser.
pytestmark = pytest.mark.timeout(600)
NAMES_OF_TAGS = """[...document.querySelectorAll('*')]
  .filter((each) => !each.matches('head > script[src*="/static/live.js?v="]')).map((each) => each.localName)"""
HANDLERS = """[...document.querySelectorAll('*')].flatMap((each) => [...each.attributes])
  .map((each) => each.name).filter((name) => name.startsWith('on') || name === 'style' || name === 'srcdoc')"""
# The href of a link in a drawing is an object.
LINKS = "links => links.map((link) => [link.textContent, new URL(link.getAttribute('href'), document.baseURI).href])"
# The same button stands on the pages of many runs and schedules, and a list has many filters.
MOST_PRESSED = 2
MOST_SEEN = 8
NewPerson = Callable[..., Person]


def walk(person: Person) -> dict[str, list[str]]:
    """Follow every link. The forms that change something, by the addresses of their pages."""
    todo, seen, forms = [person.home], set[str](), dict[str, list[str]]()
    while todo:
        url = todo.pop()
        # The link to the zones has the page to come back to, and the weeks of a calendar go on for years.
        if url in seen or any(
            part in url and sum(part in each for each in seen) > 2 for part in ("/zone?", "/calendar?")
        ):
            continue
        seen.add(url)
        is_seen = sum(shape_of(each) == shape_of(url) for each in seen) > MOST_SEEN and not leaves_nothing_out()
        # A download, JSON, or one more page of a kind.
        if "/attempts/" in url or "format=json" in url or is_seen:
            assert person.context.request.get(url).status == 200, url
            continue
        assert person.go(url).status == 200, url
        links = person.page.locator("a[href]")
        todo += [urldefrag(href).url for _, href in links.evaluate_all(LINKS)]
        buttons = person.page.locator("form[method=post] button:not([disabled])")
        if actions := buttons.evaluate_all(
            "buttons => buttons.map((each) => each.hasAttribute('formaction') ? each.formAction : each.form.action)"
        ):
            forms[url] = list(dict.fromkeys(actions))
    assert {shape_of(url) for url in seen} == {each.path for each in ROUTES if each.method == "GET"}
    return forms


def shape_of(url: str) -> str:
    """The route of an address."""
    path = re.sub(r"/attempts/\d+/\w+", "/attempts/{sequence}/{text}", urlsplit(url).path)
    return re.sub(r"/\d+", "/{id}", path)


def button_of(person: Person, action: str) -> "Locator":
    """The first button that sends a form to this address."""
    ends = r"(?=(runs/\d+|bulk|schedules?|effects)/\w+$|pause$|resume$|(un)?limit$)"
    path = re.sub(f"^.*?/{ends}", "", urlsplit(action).path)
    own = f'button[formaction$="{path}"]'
    # "unlimit" ends with "limit", too.
    of_action = f':is([action="{path}"], [action$="/{path.removeprefix("/")}"])'
    of_form = f"form[method=post]{of_action} button:not([formaction], [disabled])"
    return person.page.locator(f"{own}, {of_form}").first


def days_ago(days: int) -> str:
    return f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%d}"


def order_of(action: str) -> int:
    verb = action.rpartition("/")[2]
    return BULK.index(Verb(verb)) + 1 if verb in BULK else 0


FILLED = {
    "reason": "because of a test",
    "run_at": "+2h",
    "max_running": "2",
    "ends_at": "2h",
    "priority": "7",
    "since": days_ago(3),
    "until": days_ago(1),
    "payload": '{"value": "another"}',
}


def press(person: Person, action: str) -> None:
    """Fill in the form of this action, press its button, and agree if the page asks."""
    button = button_of(person, action)
    form = button.locator("xpath=ancestor::form")
    for each in button.locator("xpath=ancestor::details[not(@open)]/summary").all():
        each.click()
    for each in form.locator("details:not([open]) > summary").all():
        each.click()
    for each in form.locator("input[type=checkbox][required]").all():
        each.check()
    if "/bulk/" in action and (boxes := form.locator("input[type=checkbox][name=id]")).count():
        for each in boxes.all():
            each.check()
        form.locator("[name=force]").check()
    for name, value in FILLED.items():
        for each in form.locator(f":is(input:not([type=hidden]), textarea)[name={name}]:visible").all():
            each.fill(value)
    person.press(button)
    if (agree := person.page.locator("form:has(input[name=agreed]) button")).count():
        for each in person.page.locator("form input[name=reason]:not([type=hidden])").all():
            each.fill(FILLED["reason"])
        person.press(agree.first)


_OF_RUN = "FROM job_runs WHERE id = ?"
_EVENT = "SELECT count(*) > 0 AS done FROM job_events WHERE action ="
EFFECTS = {
    # What a button does, as a question to the database that is then true, about the run of the address.
    "/runs/{id}/retry": f"SELECT status = 'queued' AS done {_OF_RUN}",
    "/runs/{id}/payload": f"SELECT CAST(payload AS TEXT) LIKE '%another%' AS done {_OF_RUN}",
    "/runs/{id}/cancel": f"SELECT cancel_requested_at IS NOT NULL AS done {_OF_RUN}",
    "/runs/{id}/discard": f"SELECT status = 'dead' AS done {_OF_RUN}",
    "/runs/{id}/reschedule": f"SELECT run_at > created_at AS done {_OF_RUN}",
    "/runs/{id}/priority": f"SELECT priority = 7 AS done {_OF_RUN}",
    **{f"/bulk/{verb}": f"{_EVENT} '{verb}' AND run_id IS NULL" for verb in BULK},
    "/pause": "SELECT count(*) > 0 AS done FROM job_pauses",
    "/resume": f"{_EVENT} 'resume all' OR action = 'resume type' OR action = 'resume host'",
    "/limit": "SELECT count(*) > 0 AS done FROM job_set_limits",
    "/unlimit": f"{_EVENT} 'unlimit type'",
    "/schedules/pause": "SELECT paused_at IS NOT NULL AS done FROM job_definitions",
    "/schedules/resume": "SELECT paused_at IS NULL AS done FROM job_definitions",
    "/schedule/pause": "SELECT paused_at IS NOT NULL AS done FROM job_definitions",
    "/schedule/resume": "SELECT paused_at IS NULL AS done FROM job_definitions",
    "/schedule/trigger": "SELECT count(*) > 0 AS done FROM job_runs WHERE origin = 'trigger'",
    "/schedule/backfill": "SELECT count(*) > 0 AS done FROM job_runs WHERE scheduled_for IS NOT NULL",
    "/effects/settle": "SELECT count(*) = 0 AS done FROM job_effects WHERE state = 'uncertain'",
}


def test_every_link_leads_to_a_page_and_every_button_does_what_it_says(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    one_of_each(database)
    # Or the runs of a backfill are too many.
    database.execute("DELETE FROM job_types")
    with served(jobrunner) as server:
        ada = person().come(server.link())
        todo = [(url, action) for url, actions in walk(ada).items() for action in actions]
        # The zone is the person's own, and no row.
        todo = [each for each in todo if not each[1].endswith("/keep-zone")]
        ada.go(f"{ada.home}zone?back=hosts")
        ada.page.locator("select[name=zone]").select_option("Asia/Kolkata")
        ada.press(ada.page.get_by_role("button", name="show times in this zone"))
        assert (ada.page.url, "Asia/Kolkata" in ada.page.inner_text("header")) == (f"{ada.home}hosts", True)
        # Those of many runs last, and in each case first what leaves something for the others to do.
        todo.sort(key=lambda each: ("/bulk/" in each[1], order_of(each[1])))
        pressed = Counter[str]()
        while todo:
            url, action = todo.pop(0)
            shape = shape_of(action)
            if pressed[shape] >= MOST_PRESSED and not leaves_nothing_out():
                continue
            if shape.endswith("/payload") and pressed[shape]:
                continue
            if shape.startswith("/bulk/"):
                # Once, where all runs are: another page may have none to which it applies.
                if pressed[shape]:
                    continue
                url = urljoin(ada.home, "runs")
            ada.go(url)
            if not button_of(ada, action).count():
                continue  # another button has made it impossible
            before = database.value("SELECT max(id) FROM job_events")
            press(ada, action)
            number = re.search(r"/runs/(\d+)", action)
            assert database.value(EFFECTS[shape], [int(number[1])] if number else []), (url, action)
            events = database.query("SELECT actor, detail FROM job_events WHERE id > ?", [before])
            assert events, action
            assert {each["actor"].endswith(" (page)") for each in events} == {True}
            assert ada.page.locator("h1").count() == 1
            pressed[shape] += 1
            if shape in ("/schedules/pause", "/schedule/pause", "/pause"):
                # At once: the buttons for one schedule and for all would take the work from each other.
                todo.insert(0, (url, action.replace("pause", "resume")))
            if shape == "/limit":
                todo.insert(0, (url, action.replace("limit", "unlimit")))
        assert {*pressed, "/keep-zone"} == {each.path for each in ROUTES if each.method == "POST"}


def test_hostile_texts_in_every_column_run_nothing_and_ask_nobody(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    dead = one_of_each(database)["dead"]
    plant_hostile_rows(database, dead)
    # All of them beside each other in one run, too.
    together = "".join(HOSTILE_TEXTS)
    run = [json.dumps({each: each for each in HOSTILE_TEXTS}), together, json.dumps(HOSTILE_TEXTS), dead]
    database.execute("UPDATE job_runs SET payload = ?, last_error = ?, result = ? WHERE id = ?", run)
    database.execute("UPDATE job_attempts SET output = ?, traceback = ? WHERE sequence = 1", [together] * 2)
    names = database.query("SELECT name FROM job_definitions WHERE id % 37 = 2")
    filters = [dict.fromkeys(("type", "key", "error"), each) for each in HOSTILE_TEXTS[::37]]
    with served(jobrunner) as server:
        ada = person().come(server.link())
        todo = ada.page.locator("nav a").evaluate_all("links => links.map((link) => link.href)")
        todo += [f"{ada.home}{path}" for path in ("schedules/calendar", "zone")]
        todo += [f"{ada.home}runs/{run_id}" for run_id in (dead, dead + 2, dead + 150)]
        todo += [f"{ada.home}schedule?{urlencode(each)}" for each in names]
        todo += [f"{ada.home}runs?{urlencode(each)}" for each in filters]
        shown = set()
        while todo:
            url = todo.pop()
            assert ada.go(url).status == 200, url
            assert set(ada.page.evaluate(NAMES_OF_TAGS)) <= TAGS, url
            assert ada.page.evaluate(HANDLERS) == [], url
            links = ada.page.locator("a[href]").evaluate_all(LINKS)
            assert [href for _, href in links if not href.startswith(ada.home)] == [], url
            todo += [href for text, href in links if text == "older"]
            shown.add(shape_of(url))
        assert shown == {each.path for each in ROUTES if each.method == "GET" and "text" not in each.path}


def test_two_people_who_act_at_once_both_see_the_truth(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    run_id = one_of_each(database)["dead"]
    with served(jobrunner) as server:
        ada, bob = (person().come(server.link()) for _ in range(2))
        for each in (ada, bob):
            each.go(f"{each.home}runs/{run_id}")
            each.stop_refreshing()
        for each in (ada, bob):
            press(each, f"/runs/{run_id}/retry")
        assert "Queued again." in ada.page.inner_text("main")
        told = bob.page.inner_text("main")
        assert "Not done: retry is not possible. The run is queued" in told
        assert not button_of(bob, f"/runs/{run_id}/retry").count()
        bob.forgive("409 for")
    events = database.query("SELECT action FROM job_events WHERE run_id = ? AND action = 'retry'", [run_id])
    assert len(events) == 1
