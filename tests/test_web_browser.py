"""The page in a real browser: every page and every link, every button, and texts that would like to run."""

import json
import re
from collections.abc import Callable
from urllib.parse import urldefrag, urlencode, urlsplit

import pytest

from harness import Commands, Database
from harness.browser import Person
from harness.hostile_rows import HOSTILE_TEXTS, plant_hostile_rows
from harness.web import TAGS, one_of_each
from harness.web_server import served
from jobrunner.web.routes import ROUTES

# The first test of a machine waits for the packages of the browser.
pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]
NAMES_OF_TAGS = "[...document.querySelectorAll('*')].map((each) => each.localName)"
HANDLERS = """[...document.querySelectorAll('*')].flatMap((each) => [...each.attributes])
  .map((each) => each.name).filter((name) => name.startsWith('on') || name === 'style' || name === 'srcdoc')"""
LINKS = "links => links.map((link) => [link.innerText, link.href])"
NewPerson = Callable[..., Person]


def walk(person: Person) -> dict[str, list[str]]:
    """Follow every link. The forms that change something, by the addresses of their pages."""
    todo, seen, forms = [person.home], set[str](), dict[str, list[str]]()
    while todo:
        url = todo.pop()
        if url in seen:
            continue
        seen.add(url)
        if not is_page(url):
            assert person.context.request.get(url).status == 200, url
            continue
        assert person.go(url).status == 200, url
        links = person.page.locator("a[href]")
        found = links.evaluate_all("links => links.map((link) => link.href)")
        todo += [urldefrag(each).url for each in found]
        if actions := person.page.locator("form[method=post]").evaluate_all(
            "forms => forms.map((form) => form.action)"
        ):
            forms[url] = actions
    assert {shape_of(url) for url in seen} == {each.path for each in ROUTES if each.method == "GET"}
    return forms


def is_page(url: str) -> bool:
    """Not a download, and no JSON."""
    return "/attempts/" not in url and "format=json" not in url


def shape_of(url: str) -> str:
    """The route of an address."""
    path = re.sub(r"/attempts/\d+/\w+", "/attempts/{sequence}/{text}", urlsplit(url).path)
    return re.sub(r"/\d+", "/{id}", path)


def form_of(action: str) -> str:
    """The form with this action, as a selector."""
    path = "/".join(urlsplit(action).path.split("/")[-2:])
    return f'form[method=post][action$="{path}"]'


def press(person: Person, action: str) -> None:
    """Fill in the form of this action, and press its first button."""
    form = person.page.locator(form_of(action)).first
    for each in form.locator("input[type=checkbox][required]").all():
        each.check()
    for each in form.locator("input[name=reason]").all():
        each.fill("because of a test")
    person.press(form.locator("button").first)


EFFECTS = {
    # What a button does, as a question to the database that is then true, about the run of the address.
    "/runs/{id}/retry": "SELECT status = 'queued' AS done FROM job_runs WHERE id = ?",
    "/runs/{id}/cancel": "SELECT cancel_requested_at IS NOT NULL AS done FROM job_runs WHERE id = ?",
    "/runs/{id}/discard": "SELECT status = 'dead' AS done FROM job_runs WHERE id = ?",
    "/schedule/pause": "SELECT paused_at IS NOT NULL AS done FROM job_definitions",
    "/schedule/resume": "SELECT paused_at IS NULL AS done FROM job_definitions",
    "/schedule/trigger": "SELECT count(*) > 0 AS done FROM job_runs WHERE origin = 'trigger'",
    "/effects/settle": "SELECT count(*) = 0 AS done FROM job_effects WHERE state = 'uncertain'",
}


def test_every_link_leads_to_a_page_and_every_button_does_what_it_says(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    one_of_each(database)
    with served(jobrunner) as server:
        ada = person().come(server.link())
        todo = [(url, action) for url, actions in walk(ada).items() for action in actions]
        pressed = set()
        while todo:
            url, action = todo.pop(0)
            ada.go(url)
            if not ada.page.locator(form_of(action)).count():
                continue  # another button has made it impossible
            before = database.value("SELECT max(id) FROM job_events")
            press(ada, action)
            shape = shape_of(action)
            number = re.search(r"/runs/(\d+)", action)
            assert database.value(EFFECTS[shape], [int(number[1])] if number else []), (url, action)
            events = database.query("SELECT actor, detail FROM job_events WHERE id > ?", [before])
            assert events, action
            assert {each["actor"].endswith(" (page)") for each in events} == {True}
            assert ada.page.locator("h1").count() == 1
            pressed.add(shape)
            if shape == "/schedule/pause":
                todo.append((url, action.replace("pause", "resume")))
        assert pressed == {each.path for each in ROUTES if each.method == "POST"}


@pytest.mark.either_database
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
        todo += [f"{ada.home}runs/{run_id}" for run_id in (dead, dead + 2, dead + 150)]
        todo += [f"{ada.home}schedule?{urlencode(each)}" for each in names]
        todo += [f"{ada.home}runs?{urlencode(each)}" for each in filters]
        shown = set()
        while todo:
            url = todo.pop()
            assert ada.go(url).status == 200, url
            assert set(ada.page.evaluate(NAMES_OF_TAGS)) <= TAGS, url
            assert ada.page.evaluate(HANDLERS) == [], url
            links = ada.page.locator("a[href]").evaluate_all(
                "links => links.map((link) => [link.innerText, link.href])"
            )
            assert [href for _, href in links if not href.startswith(ada.home)] == [], url
            todo += [href for text, href in links if text == "older"]
            shown.add(shape_of(url))
        assert shown == {each.path for each in ROUTES if each.method == "GET" and "text" not in each.path}


@pytest.mark.either_database
def test_two_people_who_act_at_once_both_see_the_truth(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    run_id = one_of_each(database)["dead"]
    with served(jobrunner) as server:
        ada, bob = (person().come(server.link()) for _ in range(2))
        for each in (ada, bob):
            each.go(f"{each.home}runs/{run_id}")
        for each in (ada, bob):
            press(each, f"/runs/{run_id}/retry")
        assert "Queued again." in ada.page.inner_text("main")
        told = bob.page.inner_text("main")
        assert "Not done: retry is not possible while a run is queued" in told
        assert not bob.page.locator(form_of(f"/runs/{run_id}/retry")).count()
        bob.forgive("409 for")
    events = database.query("SELECT action FROM job_events WHERE run_id = ? AND action = 'retry'", [run_id])
    assert len(events) == 1
