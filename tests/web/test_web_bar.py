"""The bar of actions, what Enter does, and the values of a chart, in a real browser."""

from collections.abc import Callable

import pytest

from harness import Commands, Database
from harness.browser import Person
from harness.handlers_rows import queue, status_of
from harness.web_day import plant_a_day
from harness.web_server import served

pytestmark = pytest.mark.timeout(600)
NewPerson = Callable[..., Person]


def test_enter_in_a_field_means_its_own_button_and_in_the_reason_nothing(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    run_id = queue(database, "append")
    with served(jobrunner) as server:
        for has_script in (True, False):
            ada = person(java_script_enabled=has_script).come(server.link())
            ada.go(f"{ada.home}runs/{run_id}")
            ada.page.get_by_label("reason").first.fill("why not")
            ada.page.get_by_label("reason").first.press("Enter")
            ada.page.get_by_text("Time and priority").click()
            ada.page.get_by_label("to (UTC)").fill("+2h")
            if has_script:
                with ada.page.expect_navigation():
                    ada.page.get_by_label("to (UTC)").press("Enter")
                assert "It has another time." in ada.page.inner_text("main")
            else:
                ada.page.get_by_label("to (UTC)").press("Enter")
                ada.press(ada.page.get_by_role("button", name="Change the time"))
            assert status_of(database, run_id) == "queued"
    events = database.query("SELECT action, detail FROM job_events WHERE run_id = ?", [run_id])
    assert [(each["action"], each["detail"]["reason"]) for each in events] == [("reschedule", "why not")] * 2


def test_all_runs_of_a_page_are_selected_at_once(jobrunner: Commands, database: Database, person: NewPerson) -> None:
    runs = [queue(database, "append") for _ in range(3)]
    with served(jobrunner) as server:
        ada = person().come(server.link())
        ada.go(f"{ada.home}runs?type=append")
        ada.page.get_by_label("select all of this page").check()
        ada.page.get_by_label(f"run {runs[1]}", exact=True).uncheck()
        ada.page.get_by_label("reason").fill("a mistake")
        ada.press(ada.page.get_by_role("button", name="Cancel"))
        assert "2 queued" in ada.page.inner_text("main")
        ada.press(ada.page.get_by_role("button", name="Cancel: 2 runs"))
    assert [status_of(database, each) for each in runs] == ["cancelled", "queued", "cancelled"]


def test_value_of_a_bar_is_shown_to_the_pointer_and_the_keyboard(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    plant_a_day(database)
    with served(jobrunner) as server:
        ada = person().come(server.link())
        bar = ada.page.locator("svg.bars a").nth(7)
        value = bar.locator("text.value")
        assert not value.is_visible()
        bar.focus()
        assert value.is_visible()
        ada.page.evaluate("document.activeElement.blur()")
        bar.locator("rect").last.hover()
        assert value.is_visible()
        with ada.page.expect_navigation():
            bar.locator("rect").last.click()
        assert "since=" in ada.page.url
