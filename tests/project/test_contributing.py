"""The lists of CONTRIBUTING.md that say where to add what: they name what exists, and whoever follows one is done."""

import re

import pytest

from harness.pages import ROOT
from jobrunner.cli.program import MODULES

PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
LISTS = PAGE.partition("\n## Where to add what\n")[2]
ITEMS = [" ".join(item.split()) for item in re.split(r"\n(?=\d+\. |\n)", LISTS) if re.match(r"\d+\. .*/", item.strip())]


def names_in(item: str) -> tuple[list[str], list[str]]:
    """The files or folders of an item, and the names of Python in it."""
    code = re.findall(r"`([^`]+)`", item)
    paths = [each for each in code if "/" in each]
    words = {word for command in MODULES for word in command.split()}
    return paths, [each for each in code if each.isidentifier() and each not in words]


def text_of(path: str) -> str:
    place = ROOT / path
    files = place.rglob("*.py") if place.is_dir() else [place]
    return "\n".join(file.read_text("utf-8") for file in files)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: re.sub(r"\W+", "-", item)[:60])
def test_each_name_in_an_item_of_a_list_stands_in_a_file_of_the_item(item: str) -> None:
    paths, names = names_in(item)
    text = "\n".join(map(text_of, paths))
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_lists_name_as_many_places_as_they_say() -> None:
    numbers = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    lists = re.findall(
        r"^[^\n]*, (?:today )?in (\w+) places[^\n]*:\n\n((?:\d+\. .*\n(?:   .*\n)*)+)", LISTS, re.MULTILINE
    )
    assert len(lists) >= 4
    for said, items in lists:
        assert len(re.findall(r"^\d+\. ", items, re.MULTILINE)) >= numbers.index(said) + 2


def test_each_list_is_followed_by_a_test() -> None:
    file = ROOT / "tests" / "project" / "test_contributing_followed.py"
    tests = " ".join(re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE))
    kinds = [each.removeprefix("option of a ") for each in re.findall(r"^An? (.*?), ", LISTS, re.MULTILINE)]
    assert {"setting", "run", "command", "migration"} <= set(kinds)
    assert [kind for kind in kinds if kind.partition(" of ")[0].replace(" ", "_") not in tests] == []
