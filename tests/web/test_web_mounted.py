"""The page in applications of our users, in a real browser: their own logins, their forms, and several at once."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Commands, Database, pages
from harness.browser import Person
from harness.handlers_rows import queue, status_of

pytestmark = pytest.mark.timeout(600)
NewPerson = Callable[..., Person]
WEB_APPS = Path(__file__).parents[1] / "harness" / "web_apps.py"
URLS = "tests/web/test_web_adapters.py::test_every_route_works_in_every_application_under_any_prefix"


def test_people_of_three_applications_sign_in_and_act_on_one_database(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    (urls,) = pages.checked_by(URLS)
    apps = jobrunner.start_python(WEB_APPS.read_text(), urls.text)
    assert apps.stdout
    ports: dict[str, int] = json.loads(apps.stdout.readline())
    contended = queue(database, "append")
    people = []
    for name in ("django", "flask", "fastapi"):
        ada = person().come(f"http://127.0.0.1:{ports[name]}/login/")
        ada.page.get_by_role("textbox").fill("ada")
        ada.press(ada.page.get_by_role("button"))
        assert ada.page.url == f"http://127.0.0.1:{ports[name]}/jobs/", name
        own = queue(database, "append")
        ada.go(f"runs/{own}")
        ada.press(ada.page.get_by_role("button", name="Cancel", exact=True))
        assert ada.page.url.endswith(f"/jobs/runs/{own}?done=cancel"), name
        assert status_of(database, own) == "cancelled"
        ada.press(ada.page.get_by_role("button", name="Retry", exact=True))
        assert status_of(database, own) == "queued", name
        ada.go(f"../runs/{contended}")
        ada.stop_refreshing()
        people.append(ada)
    # Each has the button before their eyes; the second and the third are told what the first has done.
    for ada in people:
        ada.press(ada.page.get_by_role("button", name="Cancel", exact=True))
    assert [("Not done" in each.page.inner_text("main")) for each in people] == [False, True, True]
    for ada in people[1:]:
        ada.forgive("409 for")
    actors = database.query("SELECT actor, action FROM job_events ORDER BY id")
    assert [(each["actor"], each["action"]) for each in actors] == [
        *[("ada (page)", "cancel"), ("ada (page)", "retry")] * 3,
        ("ada (page)", "cancel"),
    ]
