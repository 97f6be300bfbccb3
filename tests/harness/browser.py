"""A real browser for tests: Debian's chromium, driven by playwright, which notes all that a page must not do.

``browser`` is one browser for the tests of a module: playwright holds the event loop of its thread, and the tests of
other modules have loops of their own. Each person of a test has a context there, with cookies of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import pytest

from harness.debian import NoProgram, find
from harness.waiting import stretched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Locator, Page, Request, Response

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    "--host-resolver-rules=MAP *.example 127.0.0.1",
)
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# What the policy of a page has forbidden becomes a message of the console, too.
TELLS_OF_THE_POLICY = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`the policy has forbidden ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


class Person:
    """Somebody with a browser: a page, and the list of what has gone wrong there since they came."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.troubles: list[str] = []
        self.expected: dict[str, int] = {}
        self.origins: set[str] = set()
        context.add_init_script(TELLS_OF_THE_POLICY)
        context.set_default_timeout(stretched(20_000))
        context.on("request", self._request)
        context.on("response", self._response)
        context.on("console", self._console)
        context.on("dialog", self._dialog)
        self.page: Page = context.new_page()
        self.page.on("pageerror", lambda error: self.troubles.append(f"{self.page.url}: {error}"))

    def come(self, link: str) -> Person:
        """Open the page for the first time, by a link. Requests to other places are troubles from now on."""
        self.origins.add(origin_of(link))
        self.go(link)
        self.home = self.page.url
        return self

    def go(self, url: str) -> Response:
        """Open an address, relative to where the person is."""
        while True:
            answer = self.page.goto(urljoin(self.page.url, url))
            assert answer is not None
            # A page waits for its database for two seconds, which are short on a busy machine.
            if answer.status != 503 or stretched(1) < 2:
                return answer
            self.forgive("503 for")

    def stop_refreshing(self) -> None:
        """Keep the page as it is: else it shows, and has the buttons of, what others have done meanwhile."""
        self.page.get_by_role("button", name="stop refreshing").click()

    def press(self, button: Locator) -> None:
        """Click, and wait until the next page is there."""
        with self.page.expect_navigation():
            button.click()

    def forgive(self, part: str) -> None:
        """Expect a trouble with this text, which must be there: the test is about it."""
        found = [each for each in self.troubles if part in each]
        assert found, (part, self.troubles)
        self.troubles = [each for each in self.troubles if part not in each]

    def expect(self, part: str) -> None:
        """Expect troubles with this text from now on, at least one, whenever they come.

        A browser asks for the icon of a page when it likes, also after the test has gone on.
        """
        self.expected[part] = 0

    def _trouble(self, text: str) -> None:
        known = [part for part in self.expected if part in text]
        for part in known:
            self.expected[part] += 1
        if not known:
            self.troubles.append(text)

    def _request(self, request: Request) -> None:
        if origin_of(request.url) not in self.origins and not request.url.startswith("data:,"):
            self._trouble(f"{self.page.url}: a request to {request.url[:200]}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self._trouble(f"{self.page.url}: {response.status} for {response.url[:200]}")

    def _console(self, message: ConsoleMessage) -> None:
        # Each answer that is a refusal is told twice: once is enough.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self._trouble(f"{self.page.url}: {message.text[:300]}")

    def _dialog(self, dialog: Dialog) -> None:
        self.troubles.append(f"{self.page.url}: a dialog: {dialog.message[:200]}")
        dialog.dismiss()


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def program() -> tuple[Path, Mapping[str, str]]:
    """The browser, and the environment that it needs. Raises NoProgram."""
    return find("chromium-headless-shell", "usr/lib/chromium/chromium-headless-shell", *NAMES)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # It takes half a second, and every worker imports this module.
    from playwright.sync_api import sync_playwright

    try:
        found, environment = program()
    except NoProgram as problem:
        pytest.skip(str(problem))
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, args=[*FLAGS], env={**os.environ, **environment}, timeout=stretched(60_000)
        )
        yield started
        started.close()


@pytest.fixture
def person(browser: Browser) -> Iterator[Callable[..., Person]]:
    """Make a person, with options for their browser. At the end nobody may have had a trouble."""
    made: list[Person] = []

    def make(**options: Any) -> Person:
        options = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **options}
        made.append(Person(browser.new_context(**options)))
        return made[-1]

    yield make
    for each in made:
        each.context.close()
    assert [trouble for each in made for trouble in each.troubles] == []
    assert [part for each in made for part, times in each.expected.items() if not times] == []
