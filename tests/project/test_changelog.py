"""CHANGELOG.md: each version in one form, the newest of them that of the code."""

import re

import pytest

from harness.pages import ROOT
from jobrunner import __version__
from jobrunner.store.sql.versions import SCHEMA_REVISION

SECTIONS = ("Added", "Changed", "Fixed", "Upgrade notes")
INTRODUCTION, *PARTS = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
HEADS = [part.partition("\n")[0] for part in PARTS]
FORM = re.compile(r"(\d+)\.(\d+)\.(\d+) \((unreleased|\d{4}-\d\d-\d\d)\), schema (\d+)")
LONGEST = 6_000


def schema_of(head: str) -> int:
    found = FORM.fullmatch(head)
    assert found, f"## {head}: write ## VERSION (DATE or unreleased), schema NUMBER"
    return int(found[5])


def sections(part: str) -> dict[str, str]:
    """By title, in the order of the text; what comes before the first of them under an empty one."""
    before, *others = re.split(r"^### ", part.partition("\n")[2], flags=re.MULTILINE)
    found = [(title, text) for title, _, text in (each.partition("\n") for each in others)]
    assert len(found) == len(dict(found)), f"a section twice: {[title for title, _ in found]}"
    return {"": before, **dict(found)}


def test_newest_version_is_that_of_the_code() -> None:
    assert HEADS[0].split(" ")[0] == __version__
    assert schema_of(HEADS[0]) == SCHEMA_REVISION


def test_versions_go_down_and_only_the_newest_is_unreleased() -> None:
    found = [FORM.fullmatch(head) for head in HEADS]
    assert all(found), HEADS
    numbers = [tuple(map(int, each.group(1, 2, 3))) for each in found if each]
    assert numbers == sorted(set(numbers), reverse=True)
    assert [schema_of(head) for head in HEADS] == sorted(map(schema_of, HEADS), reverse=True)
    assert not [head for head in HEADS[1:] if "unreleased" in head]


@pytest.mark.parametrize("part", PARTS, ids=HEADS)
def test_sections_of_a_version_have_their_names_and_order_and_none_is_empty(part: str) -> None:
    found = sections(part)
    titles = [title for title in found if title]
    assert titles == [title for title in SECTIONS if title in titles]
    for title in titles:
        lines = [line for line in found[title].splitlines() if line]
        assert lines, f"{title} is empty: leave it out"
        assert [line for line in lines if not line.startswith(("- ", "  "))] == [], title
    assert len(part.encode()) <= LONGEST, "say what users meet; the log has the rest"


@pytest.mark.parametrize("number", range(len(PARTS)), ids=HEADS)
def test_version_with_another_schema_says_how_to_upgrade(number: int) -> None:
    before = schema_of(HEADS[number + 1]) if number + 1 < len(HEADS) else 0
    assert schema_of(HEADS[number]) == before or "Upgrade notes" in sections(PARTS[number])
