"""The page in a real browser: every page and every link, every button, and texts that would like to run."""

import re
from collections.abc import Callable
from urllib.parse import urldefrag, urlsplit

import pytest

from harness import Commands, Database
from harness.browser import Person
from harness.web import one_of_each
from harness.web_server import served
from jobrunner.web.routes import ROUTES

# The first test of a machine waits for the packages of the browser.
pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]
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
