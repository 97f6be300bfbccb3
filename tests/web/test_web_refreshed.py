"""The page that refreshes itself, in a real browser: what it asks for, what stays as it is, and what it says."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from harness import Commands, Database, wait_for
from harness.browser import Person
from harness.web import one_of_each
from harness.web_server import served

pytestmark = pytest.mark.timeout(600)
NewPerson = Callable[..., Person]


def test_page_shows_what_changed_without_a_reload_and_leaves_a_form_alone(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    run_id = one_of_each(database)["running"]
    asked: list[str] = []
    statuses: list[int] = []
    with served(jobrunner) as server:
        ada = person()
        ada.page.clock.install()
        ada.come(server.link())
        ada.page.on("request", lambda request: asked.append(request.url))
        ada.page.on("response", lambda answer: statuses.append(answer.status))

        def shows(text: str, place: str = "main") -> bool:
            ada.page.clock.run_for(6000)
            return text in ada.page.inner_text(place)

        def goes_to(path: str) -> None:
            ada.go(f"{ada.home}{path}")
            ada.page.evaluate("window.isTheSame = true")
            statuses.clear()

        def asks_nothing() -> bool:
            asked.clear()
            ada.page.clock.run_for(90_000)
            return not asked

        goes_to("")
        database.execute("UPDATE job_runs SET job_type = 'appeared' WHERE status = 'dead'")
        wait_for(lambda: shows("appeared"), 30)
        assert ada.page.evaluate("window.isTheSame"), "there was no reload"
        # What has not changed is not sent again, and ages grow all the same.
        goes_to("effects")
        ages = ada.page.locator("main time.age")
        # The first answer to a script is whole.
        wait_for(lambda: shows("") and 304 in statuses, 30)
        before = ages.all_inner_texts()
        database.set_clock_offset(timedelta(days=1, hours=2))
        wait_for(lambda: shows("1d2h ago"), 30)
        assert [each.endswith("ago") for each in ages.all_inner_texts()] == [True] * len(before)
        assert statuses[-1] == 304
        goes_to(f"runs/{run_id}")
        database.execute("UPDATE job_runs SET output = 'line one' WHERE id = ?", [run_id])
        wait_for(lambda: shows("line one"), 30)
        # A word in a form, which has the focus no more.
        reason = ada.page.locator("main input[name=reason]").first
        reason.fill("half a wo")
        ada.page.evaluate("document.activeElement.blur()")
        database.execute("UPDATE job_runs SET output = 'line one\nline two' WHERE id = ?", [run_id])
        wait_for(lambda: shows("while something is", "footer"), 30)
        assert asks_nothing()
        assert (reason.input_value(), shows("line two")) == ("half a wo", False)
        reason.fill("")
        ada.page.evaluate("document.activeElement.blur()")
        wait_for(lambda: shows("line two"), 30)
        ada.page.get_by_role("button", name="stop refreshing").click()
        assert asks_nothing()
        ada.page.get_by_role("button", name="refresh again").click()
        wait_for(lambda: not asks_nothing(), 30)
        ada.page.clock.fast_forward(11 * 60 * 1000)
        wait_for(lambda: shows("for ten minutes", "footer"), 30)
        assert asks_nothing()
        assert ada.page.evaluate("window.isTheSame")


def test_what_was_opened_stays_open_and_live_output_follows_until_somebody_scrolls(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    run_id = one_of_each(database)["running"]
    lines = [f"line {number}" for number in range(200)]

    def write(count: int) -> str:
        database.execute("UPDATE job_runs SET output = ? WHERE id = ?", ["\n".join(lines[:count]), run_id])
        return lines[count - 1]

    with served(jobrunner) as server:
        ada = person()
        ada.page.clock.install()
        write(100)
        ada.come(server.link())
        ada.go(f"{ada.home}runs/{run_id}")
        output = ada.page.locator("pre.live")

        def shows(text: str) -> bool:
            ada.page.clock.run_for(6000)
            return text in output.inner_text()

        def is_at_end() -> bool:
            found: bool = output.evaluate("each => each.scrollTop + each.clientHeight >= each.scrollHeight - 4")
            return found

        assert is_at_end()
        ada.page.get_by_text("All fields").click()
        wanted = write(120)
        wait_for(lambda: shows(wanted), 30)
        assert (is_at_end(), ada.page.get_by_text("created at").is_visible()) == (True, True)
        output.evaluate("each => { each.scrollTop = 40; }")
        wanted = write(200)
        wait_for(lambda: shows(wanted), 30)
        assert output.evaluate("each => each.scrollTop") == 40
        assert "Updated" in ada.page.inner_text("footer")


def test_page_says_that_it_is_old_when_the_server_does_not_answer(
    jobrunner: Commands, database: Database, person: NewPerson
) -> None:
    with served(jobrunner) as server:
        ada = person()
        ada.page.clock.install()
        ada.come(server.link())
        ada.page.route("**/*", lambda route: route.abort())

        def says(text: str) -> bool:
            ada.page.clock.run_for(6000)
            return text in ada.page.inner_text("footer")

        wait_for(lambda: says("The server does not answer"), 30)
        assert "this page is old" in ada.page.inner_text("footer")
        ada.page.unroute("**/*")
        wait_for(lambda: not says("The server does not answer"), 30)
