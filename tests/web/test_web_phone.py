"""The page on a telephone: nothing scrolls sideways that can be two lines, and a finger meets what it means."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from harness import Commands, Database
from harness.browser import Person
from harness.web_day import plant_a_day
from harness.web_server import served

pytestmark = pytest.mark.timeout(600)
NewPerson = Callable[..., Person]
OFTEN = urlencode({"name": "index all products"})
PAGES = ("", "?ended=1h", "runs", "errors", "types", "types?since=7d", "types?since=30d", "schedules", "hosts", "audit")
PAGES += ("schedules/calendar", f"schedule?{OFTEN}")
PHONE, SMALLEST = {"width": 360, "height": 780}, 24
# The boxes of what is wider than its place, and of the targets that are seen and too small.
SIDEWAYS = """() => [document.documentElement, ...document.querySelectorAll(".wide")]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => [each.ariaLabel, each.scrollWidth, each.clientWidth])"""
TOO_SMALL = """(least) => [...document.querySelectorAll(".chart a .room, .heat a, .strip a")]
  .map((each) => [each, each.getBoundingClientRect()])
  .filter(([each, { width, height }]) => width > 0 && (width < least - 0.5 || height < least - 0.5))
  .map(([each, { width, height }]) => [each.parentNode.ariaLabel || each.ariaLabel, width, height])"""
SEEN = """(names) => [...document.querySelectorAll(names)]
  .filter((each) => each.getBoundingClientRect().width > 0).length"""


@pytest.mark.parametrize("touches", [True, False])
def test_no_list_scrolls_sideways_on_a_phone_and_every_bar_and_cell_is_as_wide_as_a_finger(
    jobrunner: Commands, database: Database, person: NewPerson, touches: bool
) -> None:
    plant_a_day(database)
    problems: list[Any] = []
    with served(jobrunner) as server:
        ada = person(viewport=PHONE, has_touch=touches).come(server.link())
        for path in PAGES:
            ada.go(f"{ada.home}{path}")
            problems += [(path, each) for each in ada.page.evaluate(SIDEWAYS)]
            problems += [(path, each) for each in ada.page.evaluate(TOO_SMALL, SMALLEST)]
        assert problems == []
        ada.go(f"{ada.home}types")
        assert ada.page.evaluate(SEEN, ".chart .few a .room") > 5
        assert ada.page.evaluate(SEEN, ".chart .each a .room") == 0


def test_bars_of_a_wide_screen_are_single_and_a_slot_of_the_heat_map_is_reached_with_the_keyboard(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    plant_a_day(database)
    with served(jobrunner) as server:
        ada = person(viewport={"width": 1280, "height": 900}).come(server.link())
        ada.go(f"{ada.home}types")
        assert ada.page.evaluate(SEEN, ".chart .few a .room") == 0
        assert ada.page.evaluate(SEEN, ".chart .each a .room") > 20
        ada.go(f"{ada.home}schedule?{OFTEN}")
        ada.stop_refreshing()
        skipped = ada.page.locator(".heat a.skipped").first
        skipped.focus()
        assert "skipped: overlap" in (skipped.get_attribute("aria-label") or "")
        with ada.page.expect_navigation():
            ada.page.keyboard.press("Enter")
        assert ada.page.url.endswith("#slots")
        assert "skipped: overlap" in ada.page.inner_text("#slots")
        # Who uses a keyboard need not go through a hundred hours.
        past = ada.page.get_by_role("link", name="Past the heat map")
        past.focus()
        assert past.bounding_box()["x"] >= 0
