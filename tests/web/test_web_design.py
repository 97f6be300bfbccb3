"""The design of the page: what its variables are, that nothing else is used, and that the pages fit the screens."""

import re
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from harness import Commands, Database
from harness.browser import Person
from harness.doc_tables import text_of
from harness.web_day import plant_a_day
from harness.web_server import served
from jobrunner.web.rendering import static

pytestmark = pytest.mark.timeout(600)
NewPerson = Callable[..., Person]
STYLE = static("style.css").decode()
TEXTS = ("ink", "quiet", "link", "good", "bad", "warn", "busy")
GROUNDS = ("paper", "shade", "banner")
HIGHEST = {1280: 900, 360: 3 * 780}
"""By the width of the screen, how high the first page of a busy day may be: one screen, and three of a telephone."""


def variables(block: str) -> dict[str, str]:
    return {name: value.strip() for name, value in re.findall(r"--([\w-]+):([^;]+);", block)}


LIGHT, DARK = (variables(block) for block in re.findall(r":root \{(.*?)\n *\}", STYLE, re.DOTALL))


def rules() -> Iterator[tuple[str, str]]:
    """The properties of all rules, but for those that give the variables their values."""
    yield from re.findall(r"[{;]\s*([a-z-]+): ([^;{}]+);", re.sub(r":root \{.*?\n *\}", "", STYLE, flags=re.DOTALL))


def luminance(colour: str) -> float:
    """Of WCAG 2, "relative luminance"."""
    digits = colour.lstrip("#")
    digits = "".join(each * 2 for each in digits) if len(digits) == 3 else digits
    parts = [int(digits[index : index + 2], 16) / 255 for index in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [LIGHT, {**LIGHT, **DARK}], ids=["light", "dark"])
def test_every_colour_of_text_can_be_read_on_every_ground(scheme: dict[str, str]) -> None:
    for text, ground in product(TEXTS, GROUNDS):
        high, low = sorted((luminance(scheme[text]), luminance(scheme[ground])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)


def test_page_of_the_design_names_every_variable_with_its_values() -> None:
    rows = re.findall(
        r"^\| `--([\w-]+)` \| `([^`]+)`(?: \| `([^`]+)`)?", text_of("explanation/design.md"), re.MULTILINE
    )
    told = {name: (light, dark or None) for name, light, dark in rows}
    assert told == {name: (value, DARK.get(name)) for name, value in LIGHT.items()}


def test_nothing_but_the_variables_gives_a_colour_a_size_of_text_or_a_distance() -> None:
    found = list(rules())
    assert len(found) > 200
    for name, value in found:
        assert not re.search(r"#[0-9a-f]{3}|rgb|hsl", value), (name, value)
        if name in ("font", "font-size"):
            assert re.fullmatch(r"inherit|var\(--\w+\)(/[\d.]+ var\(--\w+\))?", value), (name, value)
        if re.match("margin|padding|gap", name):
            assert all(re.fullmatch(r"0|auto|[123]px|\.6em|var\(--\w+\)", part) for part in value.split()), (
                name,
                value,
            )
    used = set(re.findall(r"var\(--([\w-]+)\)", STYLE))
    assert used == set(LIGHT)


@pytest.mark.parametrize("width", HIGHEST)
def test_first_page_of_a_busy_day_fits_the_screen(
    jobrunner: Commands, database: Database, person: NewPerson, width: int
) -> None:
    plant_a_day(database)
    with served(jobrunner) as server:
        ada = person(viewport={"width": width, "height": 780}).come(server.link())
        assert ada.page.evaluate("document.documentElement.scrollHeight") <= HIGHEST[width]
