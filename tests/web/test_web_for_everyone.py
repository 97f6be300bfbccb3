"""The page for everyone: screen readers, keyboards, dark rooms, and screens from a watch to a wall."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from harness import Commands, Database, sqlite_only
from harness.browser import Person
from harness.handlers_rows import status_of
from harness.web import one_of_each
from harness.web_day import plant_a_day
from harness.web_server import served
from jobrunner.web import users
from jobrunner.web.routes import ROUTES

pytestmark = pytest.mark.timeout(600)
NewPerson = Callable[..., Person]
PARTS = 6
WIDTHS = (320, 1280, 2560)
CHECK = """(options) => axe.run({ resultTypes: ["violations"], ...options }).then(({ violations }) => violations.map(
  ({ id, impact, nodes }) => [id, impact, nodes.slice(0, 3).map((each) => [each.html, each.failureSummary])]))"""
SIDEWAYS = """() => document.documentElement.scrollWidth > innerWidth
  ? [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth
      && !each.closest(".wide, pre")).map((each) => each.outerHTML.slice(0, 120)) : []"""

FOCUSED = """() => {
  const focused = document.activeElement, { top, bottom, width } = focused.getBoundingClientRect();
  const isSeen = getComputedStyle(focused).outlineStyle !== "none" && top >= 0 && bottom <= innerHeight && width > 0;
  return [focused.innerText || focused.name, isSeen];
}"""


def paths(runs: Mapping[str, int]) -> list[str]:
    """The address of every page."""
    named = urlencode({"name": "sales of the day"})
    fixed = [each.path.lstrip("/") for each in ROUTES if each.method == "GET" and "{" not in each.path]
    asked = [f"{path}?{named}" if path == "schedule" else path for path in fixed]
    often = f"schedule?{urlencode({'name': 'index all products'})}"
    return [*asked, "?ended=1h", often, *(f"runs/{run_id}" for run_id in runs.values())]


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_can_be_read_by_everyone_on_every_screen(
    jobrunner: Commands, database: Database, person: NewPerson, part: int
) -> None:
    runs = plant_a_day(database)
    problems: list[Any] = []
    with served(jobrunner) as server:
        ada = person().come(server.link())
        for path in paths(runs)[part::PARTS]:
            ada.go(f"{ada.home}{path}")
            problems += [(path, found) for found in problems_of(ada)]
    assert problems == []


def problems_of(ada: Person) -> list[Any]:
    """What is wrong with the page that she has before her, in light, in dark, and on each screen."""
    ada.page.evaluate(AXE_SCRIPT)
    found: list[Any] = list(ada.page.evaluate(CHECK, {}))
    ada.page.emulate_media(color_scheme="dark")
    # Of the rules only this one has to do with colours.
    found += ada.page.evaluate(CHECK, {"runOnly": ["color-contrast"]})
    ada.page.emulate_media(color_scheme="light")
    for width in WIDTHS:
        ada.page.set_viewport_size({"width": width, "height": 900})
        found += [(width, each) for each in ada.page.evaluate(SIDEWAYS)]
    ada.page.set_viewport_size({"width": 1280, "height": 900})
    return found


@sqlite_only
def test_form_to_sign_in_can_be_read_by_everyone(jobrunner: Commands, person: NewPerson, tmp_path: Path) -> None:
    users.add(tmp_path / "people", "ada", "correct horse", "all")
    words, logs = ("--user-file", str(tmp_path / "people")), r"\S+ warning wrong password name=ada address=127.0.0.1\n"
    with served(jobrunner, *words, logs=logs) as server:
        ada = person().come(server.link())
        assert ada.page.url.endswith("/login")
        assert problems_of(ada) == []
        for password in ("wrong horse", "correct horse"):
            ada.page.get_by_label("name").fill("ada")
            ada.page.get_by_label("password").fill(password)
            ada.press(ada.page.get_by_role("button", name="sign in"))
            # The refusal, and then the first page with its button to sign out.
            assert problems_of(ada) == []
        ada.forgive("403 for")
        assert ada.page.get_by_role("button", name="sign out").count() == 1


def test_run_is_retried_with_the_keyboard_alone(jobrunner: Commands, database: Database, person: NewPerson) -> None:
    dead = one_of_each(database)["dead"]
    with served(jobrunner) as server:
        ada = person(viewport={"width": 700, "height": 500}).come(server.link())
        ada.go(f"{ada.home}runs/{dead}")
        words = []
        while "Retry" not in words:
            ada.page.keyboard.press("Tab")
            word, is_seen = ada.page.evaluate(FOCUSED)
            assert is_seen, f"nobody can see where the keyboard is: {word}"
            words.append(word)
            assert len(words) < 50, words
        assert words[0] == "To the content"
        with ada.page.expect_navigation():
            ada.page.keyboard.press("Enter")
        assert "Queued again." in ada.page.inner_text("main")
    assert status_of(database, dead) == "queued"
