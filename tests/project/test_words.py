"""The words of the pages and help texts: what people search for is there, and no word of our own in its place."""

import re

import pytest

from harness import pages
from harness.pages import ROOT

PAGES = [page for page in pages.every_page() if not page.startswith("docs/adr/")] + ["SECURITY.md", "bench/README.md"]

SEARCHED = (
    *("dashboard", "unique job", "deduplication", "rate limit", "debounce", "dead letter", "health check", "workflow"),
    *(
        "troubleshooting",
        "idempotency key",
        "notification",
        "webhook",
        "back-pressure",
        "retention",
        "failover",
        "API reference",
    ),
    *("backup", "exactly once", "transactional outbox", "single sign-on", "concurrency limit"),
)

INSTEAD = {
    r"\btold\b|\btells? (?:of|people|nobody|somebody)\b": "notify, report, show, say",
    r"\bmend(s|ed|ing)?\b": "repair, correct",
    r"\ba person\b": "you, a user, in code somebody or an operator",
    r"\bpersons\b": "you, a user",
    r"\bthe page\b": "the dashboard, if that is meant",
    r"\bnotices?\b": "notification",
    r"\bfor ever\b": "forever",
    r"\bwhoever\b": "everybody who",
    r"\bother side\b": "the other system",
}
"""What our words mean in the words of everybody."""

ALLOWED = {
    "leave `client_min_messages` at `notice` or `warning`",
    "a tick cannot notice a restart",
    "how you notice it",
    "how old the page is",
    "the page gives up and says so",
    "operators notice",
    "the page enqueues a run",
    "the page with the most statements",
    "the page of the run shows the text",
    "Change those, and not this page.",
}
"""Texts in which such a word is the right one: `notice` as a verb or as a level of PostgreSQL, one page of many."""


@pytest.mark.parametrize("words", SEARCHED)
def test_what_people_search_for_stands_in_a_page(words: str) -> None:
    assert [page for page in PAGES if words.lower() in (ROOT / page).read_text().lower()]


@pytest.mark.parametrize("page", PAGES)
def test_no_word_of_our_own_stands_in_the_place_of_the_usual_one(page: str) -> None:
    """The help texts are in cli.md, which is made from them."""
    text = (ROOT / page).read_text()
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    found = [
        f"{line!r}: write {instead}"
        for line in text.splitlines()
        for pattern, instead in INSTEAD.items()
        if re.search(pattern, line, re.IGNORECASE)
    ]
    assert not found


OF_CODE = (r"\bmend(s|ed|ing)?\b", r"\ba person\b", r"\bfor ever\b")
"""What neither a docstring nor a comment says. A variable may be named `told`."""


@pytest.mark.parametrize("room", sorted(path.name for path in (ROOT / "jobrunner").iterdir() if path.name[0] != "_"))
def test_code_says_it_in_the_usual_words_too(room: str) -> None:
    place = ROOT / "jobrunner" / room
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()!r}: write {INSTEAD[pattern]}"
        for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
        for line in file.read_text("utf-8").splitlines()
        for pattern in OF_CODE
        if re.search(pattern, line, re.IGNORECASE)
    ]
    assert not found


def test_every_exception_is_needed() -> None:
    texts = [(ROOT / page).read_text() for page in PAGES]
    assert [allowed for allowed in ALLOWED if not any(allowed in text for text in texts)] == []
